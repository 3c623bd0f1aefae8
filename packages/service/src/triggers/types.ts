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
export type TriggerType = ScheduleType | WebhookType | EventType;

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

/** When a trigger of events fires. Times are milliseconds. */
export type EventCondition =
  | {
      event:
        | 'execution_error'
        | 'execution_success'
        | 'workflow_deployed'
        | 'workflow_undeployed'
        | 'credential_reconnect'
        | 'credential_changed'
        | 'trigger_suspended';
    }
  | { event: 'consecutive_failures'; runs: number }
  | { event: 'failure_rate'; percent: number; windowMs: number }
  | { event: 'latency_threshold'; ms: number }
  | { event: 'latency_spike'; percent: number; windowMs: number }
  | { event: 'cost_threshold'; credits: number }
  | { event: 'error_count'; runs: number; windowMs: number }
  | { event: 'no_activity'; ms: number };

/** A condition, the workflows that it is about (none: all), and the rest after it was met by one of them. */
export type EventRule = EventCondition & { workflowIds: readonly string[]; cooldownMs: number };

/** A type of trigger that events of its workspace fire. */
export interface EventType extends TriggerInfo {
  kind: 'event';
  ruleOf(config: JsonObject): EventRule;
}
