import type { WebhookType } from '@heddle/api/webhooks';
import type { JsonObject } from '@heddle/core';
import type { TriggerInfo } from '@heddle/core/drafts';

/** What happens when runs are late, missed or still running. */
export interface SchedulePolicy {
  /** Longest delay of the runs; each trigger has a constant one. */
  jitterMs: number;
  /** The runs that were due while nothing could start them. */
  missed: 'none' | 'last' | 'all';
  /** The number of missed runs that `all` starts. */
  missedLimit: number;
  /** What happens while the run before has not ended. */
  overlap: 'allow' | 'skip' | 'queue';
}

/** A type of trigger that is fired here. `@heddle/blocks/triggers` has those of Heddle. */
export type TriggerType = ScheduleType | WebhookType;

/** A type of trigger that is due at instants, in milliseconds. */
export interface ScheduleType extends TriggerInfo {
  kind: 'schedule';
  /** Returns the first due instant after `afterMs`; undefined if there is none. */
  nextDue(config: JsonObject, afterMs: number): number | undefined;
  /** Returns the last due instant up to `untilMs` and after `afterMs`; undefined if there is none. */
  lastDue(config: JsonObject, span: { afterMs: number; untilMs: number }): number | undefined;
  policyOf(config: JsonObject): SchedulePolicy;
  /** Returns the input of the run that is due at `dueMs`. */
  inputOf(config: JsonObject, dueMs: number): JsonObject;
}
