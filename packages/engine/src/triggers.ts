/** Interfaces of trigger types, for packages that define them and for hosts that fire them. */
import type { Json, JsonObject } from '@heddle/core';
import type { TriggerInfo } from '@heddle/core/drafts';
import type { HttpClient } from './executors/services.ts';

/** The handling of late, missed and overlapping runs of a schedule. */
export interface SchedulePolicy {
  /** Maximum delay of a run, which spreads the load of many schedules. The delay of each trigger is constant. */
  jitterMs: number;
  /** The handling of runs that were due while nothing could start them. */
  missed: 'none' | 'last' | 'all';
  /** Maximum number of missed runs that `all` starts. */
  missedLimit: number;
  /** The handling of a run that is due before the previous run has ended. */
  overlap: 'allow' | 'skip' | 'queue';
}

/**
 * The flow control of a trigger's runs: the field `flow` of a trigger's configuration. Times are milliseconds.
 * `@heddle/blocks/triggers` reads it from the field `flowControl` of a block.
 */
export interface FlowPolicy {
  /** Path of the input value that groups events; absent: all events are one group. */
  key?: string;
  /** The events that are counted together: those of the trigger, or those of all triggers of the workflow. */
  scope: 'trigger' | 'workflow';
  /** Maximum number of runs that have not ended. Further runs wait. */
  concurrency?: number;
  /** Maximum number of starts in any period of `ms`. Further runs wait, or are dropped. */
  throttle?: { limit: number; ms: number; excess: 'wait' | 'drop' };
  /** One run for the last of several events, after `ms` without an event, or `maxMs` after the first event. */
  debounce?: { ms: number; maxMs: number };
  /** One run for up to `size` events, at most `ms` after the first one. */
  batch?: { size: number; ms: number };
  /** `skip`: events are dropped while a run has not ended. `cancel`: an event cancels that run. */
  singleton?: 'skip' | 'cancel';
}

/** The context of a call that manages the registration of a trigger: a webhook that is registered at a provider. */
export interface WebhookRegistrationContext {
  /** The URL at which the trigger receives events. It is unique, so it identifies the registration. */
  url: string;
  /** The secret with which the provider signs its requests. */
  secret: string;
  /** The provider's id of the registration; undefined if it is unknown. */
  registrationId: string | undefined;
  /** Earlier URLs of the trigger. */
  formerUrls: readonly string[];
  /**
   * Ids of other registrations of the trigger. The registration to remove is not among them, even if it has the same
   * URL.
   */
  otherRegistrationIds: readonly string[];
  /**
   * Returns the secret of a stored credential of the workspace, ready for use. Throws a BlockError if there is none.
   */
  credential(id: string): Promise<string>;
  /** Returns the base URL that the operator has configured for a service, and a client that may access it. */
  service(name: string): Promise<{ baseUrl: string | undefined; http: HttpClient }>;
  nowMs: number;
  signal: AbortSignal;
}

/** A registration that exists at the provider. */
export interface ActiveWebhookRegistration {
  /** The provider's id. */
  id: string;
  /** The secret that the provider has chosen. Absent: it signs with the secret of the call. */
  secret?: string;
  /** The time at which the provider removes the registration unless it is renewed, in milliseconds. Absent: never. */
  expiresMs?: number;
}

/**
 * Creates and removes the registration of a trigger at its provider. Every call may be repeated, for example after a
 * crash before the provider's response was recorded. Calls throw BlockErrors without secrets in their messages; only
 * retryable ones are retried soon. Errors of other classes are not shown to users.
 */
export interface WebhookRegistrar {
  /**
   * Returns the location of the registration, such as a repository; undefined if the trigger has no registration. Each
   * location has its own registration.
   */
  locationOf(config: JsonObject): string | undefined;
  /** Creates the registration, or changes it so that it matches the configuration. */
  activate(config: JsonObject, context: WebhookRegistrationContext): Promise<ActiveWebhookRegistration>;
  /** Extends the lifetime of a registration that expires. Default: `activate`. */
  renew?(config: JsonObject, context: WebhookRegistrationContext): Promise<ActiveWebhookRegistration>;
  /** Removes the registration, if there is one. */
  deactivate(config: JsonObject, context: WebhookRegistrationContext): Promise<void>;
}

/** An item of a source that starts a run. */
export interface FeedItem {
  /** Unique within the source. */
  id: string;
  input: JsonObject;
  /** `list`: files as `{ type: 'file', name, data }`. `toInput` returns the input with the records of these files. */
  files?: { list: readonly JsonObject[]; toInput: (records: Json) => JsonObject };
}

/** The result of a poll. */
export interface FeedPoll {
  /** Plain JSON from which the next poll continues if all items of this poll have been accepted. */
  cursor: JsonObject;
  /** Items that start runs, the earliest first. */
  items: readonly FeedItem[];
  /** Ids of items that never start a run. */
  skippedIds: readonly string[];
  /** The source has more items: it is polled again immediately. */
  hasMore: boolean;
}

/** The context of a poll. */
export interface FeedContext {
  /** Undefined: this is the first poll of the source. */
  cursor: JsonObject | undefined;
  /** Maximum number of items of the poll. */
  limit: number;
  /** Returns the ids that have neither started a run nor been skipped. */
  filterUnknownIds(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Returns a string of the configuration with the values of its references `{{NAME}}`. Throws a BlockError for a name
   * without a value.
   */
  resolveTemplate(template: string): Promise<string>;
  /**
   * Returns the secret of a stored credential of the workspace, ready for use. Throws a BlockError if there is none.
   */
  credential(id: string): Promise<string>;
  /** The client for URLs of the configuration. */
  http: HttpClient;
  /** Returns the base URL that the operator has configured for a service, and a client that may access it. */
  service(name: string): Promise<{ baseUrl: string | undefined; http: HttpClient }>;
  nowMs: number;
  signal: AbortSignal;
}

/** A type of trigger whose source is polled. Its configuration is plain JSON. */
export interface FeedTrigger extends TriggerInfo {
  kind: 'feed';
  /** Returns the milliseconds between two polls. */
  intervalOf(config: JsonObject): number;
  /** Returns the name of the source. If the name changes, polling starts over. */
  sourceOf(config: JsonObject): string;
  /** Polls the source. Throws a BlockError without secrets in its message; other errors are not shown to users. */
  poll(config: JsonObject, context: FeedContext): Promise<FeedPoll>;
  /** Notifies the source of accepted items. May be called again for the same items, or never. */
  acknowledge?(config: JsonObject, ids: readonly string[], context: FeedContext): Promise<void>;
}

/** The condition under which an event trigger fires, as plain JSON. Times are milliseconds. */
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
  /** The last `runs` runs of a workflow have failed. */
  | { event: 'consecutive_failures'; runs: number }
  /** At least `percent` of the runs of the last `windowMs` have failed. */
  | { event: 'failure_rate'; percent: number; windowMs: number }
  /** A run has taken longer than this. */
  | { event: 'latency_threshold'; ms: number }
  /** A run has taken `percent` longer than the average of the last `windowMs`. */
  | { event: 'latency_spike'; percent: number; windowMs: number }
  /** A run has cost more than this. */
  | { event: 'cost_threshold'; credits: number }
  /** At least this many runs of the last `windowMs` have failed. */
  | { event: 'error_count'; runs: number; windowMs: number }
  /** No run of a workflow has begun for `ms`. */
  | { event: 'no_activity'; ms: number };

/** The rule of an event trigger: its condition, the workflows that it watches, and its cooldown for each of them. */
export type EventRule = EventCondition & {
  /** Ids; empty: all workflows of the workspace except that of the trigger. */
  workflowIds: readonly string[];
  cooldownMs: number;
};
