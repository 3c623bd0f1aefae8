import type { WebhookType } from '@heddle/api/webhooks';
import type { JsonObject } from '@heddle/core';
import type { TriggerInfo } from '@heddle/core/drafts';
import type { EventRule, FeedTrigger, WebhookRegistrar, SchedulePolicy } from '@heddle/engine/triggers';

/** A type of trigger that this process fires. `@heddle/blocks/triggers` has the built-in types. */
export type TriggerType = ScheduleType | WebhookTriggerType | EventTriggerType | FeedTrigger;

/** A type of trigger that fires on requests of another system. Its webhook may be created at that system. */
export type WebhookTriggerType = WebhookType & { registrar?: WebhookRegistrar };

/** A type of trigger that fires at certain times (due times), in milliseconds. */
export interface ScheduleType extends TriggerInfo {
  kind: 'schedule';
  /** Returns the first due time after `afterMs`; undefined if there is none. */
  nextDueTime(config: JsonObject, afterMs: number): number | undefined;
  /** Returns the last due time after `afterMs` and up to `untilMs`; undefined if there is none. */
  lastDueTime(config: JsonObject, range: { afterMs: number; untilMs: number }): number | undefined;
  policyOf(config: JsonObject): SchedulePolicy;
  /** Returns the input of the run that is due at `dueMs`. */
  inputOf(config: JsonObject, dueMs: number): JsonObject;
}

/** A type of trigger that fires on events of its workspace. */
export interface EventTriggerType extends TriggerInfo {
  kind: 'event';
  ruleOf(config: JsonObject): EventRule;
}
