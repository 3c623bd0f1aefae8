import type { TriggerInfo } from '@heddle/core/drafts';
import type { JsonObject } from '@heddle/core/blocks';
import * as z from 'zod';
import { flowControlFields } from '../flow-control.ts';
import { parseScheduleConfig, scheduleFields } from './fields.ts';
import type { SchedulePolicy } from '@heddle/engine/triggers';
import type { ScheduleConfig } from './fields.ts';
import { lastDueTime, nextDueTime } from './due-times.ts';

/** A type of trigger that is due at scheduled instants. Its configuration is plain JSON. */
export interface ScheduleTrigger extends TriggerInfo {
  kind: 'schedule';
  /** Returns the first due time after `afterMs`; undefined if there is none. */
  nextDueTime(config: JsonObject, afterMs: number): number | undefined;
  /** Returns the last due time up to `untilMs` and after `afterMs`; undefined if there is none. */
  lastDueTime(config: JsonObject, range: { afterMs: number; untilMs: number }): number | undefined;
  /** Returns the policy for runs that are late, missed or still running. */
  policyOf(config: JsonObject): SchedulePolicy;
  /** Returns the input of the run that is due at `dueMs`. */
  inputOf(config: JsonObject, dueMs: number): JsonObject;
}

const configOf = (config: JsonObject): ScheduleConfig => config as unknown as ScheduleConfig;

/** Starts runs on a schedule. */
export const schedule: ScheduleTrigger = {
  kind: 'schedule',
  type: 'schedule',
  parseConfig: (fields) => parseScheduleConfig(fields) as ReturnType<ScheduleTrigger['parseConfig']>,
  nextDueTime: (config, afterMs) => nextDueTime(configOf(config), afterMs),
  lastDueTime: (config, range) => lastDueTime(configOf(config), range),
  policyOf: (config) => {
    const { jitterMs, missed, missedLimit, overlap } = configOf(config);
    return { jitterMs, missed, missedLimit, overlap };
  },
  inputOf: (config, dueMs) => ({
    scheduledAt: new Date(dueMs).toISOString(),
    timezone: configOf(config).timeZone,
  }),
};

/** The description, fields and outputs of the block, for the documentation and for workflow editors. */
export const scheduleSchema = {
  summary:
    'Starts runs on a schedule: every few minutes, hourly, daily, weekly, monthly or by a cron expression.',
  fields: scheduleFields.extend(flowControlFields),
  outputs: z.object({
    scheduledAt: z.string().describe('When the run was due, in ISO 8601 and UTC.'),
    timezone: z.string().describe('The time zone of the schedule.'),
  }),
};
