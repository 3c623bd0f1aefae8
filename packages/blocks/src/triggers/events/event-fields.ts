import type { TriggerProblem } from '@heddle/core/drafts';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { parseJson } from '@heddle/core/fields';
import type { EventCondition, EventRule } from '@heddle/engine/triggers';
import * as z from 'zod';
import { nonEmptyFields, enumField, problemsOf, integerField } from '../read-fields.ts';

const MAX_WORKFLOWS = 100;
const MAX_HOURS = 168;
const MAX_COOLDOWN_MINUTES = 10_080;
const HOUR_MS = 3_600_000;

/** Events that start a run each time they happen. */
const EVENTS = [
  'execution_error',
  'execution_success',
  'workflow_deployed',
  'workflow_undeployed',
  'credential_reconnect',
  'credential_changed',
  'trigger_suspended',
] as const satisfies readonly EventRule['event'][];

/** Conditions that start a run when they are met. */
const CONDITIONS = [
  'consecutive_failures',
  'failure_rate',
  'latency_threshold',
  'latency_spike',
  'cost_threshold',
  'error_count',
  'no_activity',
] as const;

// The errors of fields complete the message `is not …`.
const CREDITS_ERROR = 'a number above 0';
const credits = z
  .union([z.number(), z.string().trim().min(1)], { error: CREDITS_ERROR })
  .transform(Number)
  .refine((value) => Number.isFinite(value) && value > 0, { error: CREDITS_ERROR });

const IDS_ERROR = `a list of at most ${MAX_WORKFLOWS} ids of workflows`;
const id = z.string({ error: IDS_ERROR }).trim().min(1, { error: IDS_ERROR }).max(128, { error: IDS_ERROR });
/** A list, the JSON text of a list, or ids separated by commas. */
const ids = z
  .json()
  .transform(parseIds)
  .pipe(z.array(id, { error: IDS_ERROR }))
  .refine((list) => list.length <= MAX_WORKFLOWS, { error: IDS_ERROR });

function parseIds(field: Json): Json {
  if (typeof field !== 'string') return field;
  const text = field.trim();
  return text.startsWith('[') ? (parseJson(text) ?? null) : text.split(',').map((id) => id.trim());
}

/** The fields of an event trigger. */
export const eventFields = z.object({
  eventType: enumField([...EVENTS, ...CONDITIONS])
    .default('execution_error')
    .describe(
      `Event: ${EVENTS.join(', ')}; or condition: ${CONDITIONS.join(', ')}. Default: execution_error.`,
    ),
  workflowIds: ids
    .default([])
    .describe(
      'Ids of the workflows that are watched. Default: all workflows of the workspace except the trigger’s own.',
    ),
  consecutiveFailures: integerField(1, 100)
    .default(3)
    .describe(
      'consecutive_failures: fires after this number of failed runs in a row, from 1 to 100. Default: 3.',
    ),
  failureRatePercent: integerField(1, 100)
    .default(50)
    .describe('failure_rate: fires if at least this percentage of at least 5 runs has failed. Default: 50.'),
  durationThresholdMs: integerField(1, 30 * 24 * HOUR_MS)
    .default(30_000)
    .describe(
      'latency_threshold: fires if a run takes longer than this number of milliseconds. Default: 30,000.',
    ),
  latencySpikePercent: integerField(1, 10_000)
    .default(100)
    .describe(
      'latency_spike: fires if a run takes longer than the average of at least 5 earlier runs by more than this percentage. Default: 100, so a run that takes twice as long as the average.',
    ),
  costThresholdCredits: credits
    .default(200)
    .describe(
      'cost_threshold: fires if a run costs more, in credits; 200 credits are a dollar. Default: 200.',
    ),
  errorCountThreshold: integerField(1, 10_000)
    .default(10)
    .describe('error_count: fires after at least this number of failed runs. Default: 10.'),
  windowHours: integerField(1, MAX_HOURS)
    .default(24)
    .describe(
      'failure_rate, latency_spike, error_count: the length of the time window in hours, from 1 to 168. Default: 24.',
    ),
  inactivityHours: integerField(1, MAX_HOURS)
    .default(24)
    .describe('no_activity: fires after this number of hours without a run, from 1 to 168. Default: 24.'),
  cooldownMinutes: integerField(0, MAX_COOLDOWN_MINUTES)
    .optional()
    .describe(
      'Minutes until the trigger can fire again for the same workflow, up to 10,080. Default: 60 for conditions, 0 for events.',
    ),
});

type Fields = z.output<typeof eventFields>;

/** The fields that each condition reads. */
const CONDITION_FIELDS: { readonly [event: string]: readonly (keyof Fields)[] } = {
  consecutive_failures: ['consecutiveFailures'],
  failure_rate: ['failureRatePercent', 'windowHours'],
  latency_threshold: ['durationThresholdMs'],
  latency_spike: ['latencySpikePercent', 'windowHours'],
  cost_threshold: ['costThresholdCredits'],
  error_count: ['errorCountThreshold', 'windowHours'],
  no_activity: ['inactivityHours'],
};
const COMMON_FIELDS: readonly string[] = ['eventType', 'workflowIds', 'cooldownMinutes'];

/** Returns the rule that the fields of a block describe, or all problems. Fields of other conditions are ignored. */
export function readEventRule(
  block: JsonObject,
): { rule: EventRule } | { problems: readonly TriggerProblem[] } {
  const fields = nonEmptyFields(block);
  const { eventType = '' } = fields;
  const isCondition = typeof eventType === 'string' && Object.hasOwn(CONDITION_FIELDS, eventType);
  const names: readonly string[] = [
    ...COMMON_FIELDS,
    ...(isCondition ? (CONDITION_FIELDS[eventType] ?? []) : []),
  ];
  const values = Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
  const parsed = eventFields.safeParse(values);
  return parsed.success ? { rule: ruleOf(parsed.data) } : { problems: problemsOf(parsed.error) };
}

function ruleOf(fields: Fields): EventRule {
  const { workflowIds, cooldownMinutes } = fields;
  const condition = conditionOf(fields);
  const isEvent = (EVENTS as readonly string[]).includes(condition.event);
  const cooldownMs = (cooldownMinutes ?? (isEvent ? 0 : 60)) * 60_000;
  return { ...condition, workflowIds: [...new Set(workflowIds)], cooldownMs };
}

function conditionOf(fields: Fields): EventCondition {
  const { eventType: event } = fields;
  const windowMs = fields.windowHours * HOUR_MS;
  switch (event) {
    case 'consecutive_failures':
      return { event, runs: fields.consecutiveFailures };
    case 'failure_rate':
      return { event, percent: fields.failureRatePercent, windowMs };
    case 'latency_threshold':
      return { event, ms: fields.durationThresholdMs };
    case 'latency_spike':
      return { event, percent: fields.latencySpikePercent, windowMs };
    case 'cost_threshold':
      return { event, credits: fields.costThresholdCredits };
    case 'error_count':
      return { event, runs: fields.errorCountThreshold, windowMs };
    case 'no_activity':
      return { event, ms: fields.inactivityHours * HOUR_MS };
    default:
      return { event };
  }
}
