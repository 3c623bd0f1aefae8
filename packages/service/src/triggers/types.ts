import type { WebhookType } from '@heddle/api/webhooks';
import type { Json, JsonObject } from '@heddle/core';
import type { TriggerInfo } from '@heddle/core/drafts';
import type { Egress } from '@heddle/sandbox/egress';

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
export type TriggerType = ScheduleType | HookedType | EventType | FeedType;

/** A type of trigger that requests of another system fire, whose hook may be created at the provider. */
export type HookedType = WebhookType & { hook?: ProviderHook };

/** The parameters of calls to a provider. */
export interface HookCall {
  /** The address at which the trigger receives. No other trigger has it, so it identifies the hook. */
  url: string;
  /** The secret with which the provider signs. */
  secret: string;
  /** The provider's id of the hook; undefined: it is unknown whether there is one. */
  hookId: string | undefined;
  /** Addresses at which the trigger has received before. */
  formerUrls: readonly string[];
  /** Returns the secret of a stored credential of the workspace, ready for use. Throws a BlockError if there is none. */
  credential(id: string): Promise<string>;
  /** Returns the address that the operator has configured for a service, and the client that reaches it. */
  service(name: string): Promise<{ address: string | undefined; http: Egress }>;
  nowMs: number;
  signal: AbortSignal;
}

/** A hook that the provider has. */
export interface ActiveHook {
  /** The provider's id. */
  id: string;
  /** The secret that the provider has chosen. Absent: it signs with the one of the call. */
  secret?: string;
  /** When the provider removes the hook unless it is renewed, in milliseconds. Absent: never. */
  expiresMs?: number;
}

/**
 * Creates and removes the hook of a trigger at its provider. All calls may be repeated, also after a crash between an answer of
 * the provider and its record. They throw BlockErrors without secrets in their messages; only those that are retryable are
 * tried again soon. Users do not see other errors.
 */
export interface ProviderHook {
  /** Returns the name of the place of the hook, such as a repository: each place has its own hook. Undefined: the trigger has no hook. */
  placeOf(config: JsonObject): string | undefined;
  /** Creates the hook, or changes it so that it matches the configuration. */
  activate(config: JsonObject, call: HookCall): Promise<ActiveHook>;
  /** Extends the time of a hook that expires. Default: `activate`. */
  renew?(config: JsonObject, call: HookCall): Promise<ActiveHook>;
  /** Removes the hook, if there is one. */
  deactivate(config: JsonObject, call: HookCall): Promise<void>;
}

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

/** An item of a source that starts a run. */
export interface FeedItem {
  /** Unique within the source. */
  id: string;
  input: JsonObject;
  /** Files as `{ type: 'file', name, data }`, and where their records belong in the input. */
  files?: { list: readonly JsonObject[]; into: (records: Json) => JsonObject };
}

/** What a poll has found. */
export interface FeedPoll {
  /** Plain JSON, from which the next poll continues if all items of this one have been accepted. */
  cursor: JsonObject;
  /** Items that start runs, the earliest first. */
  items: readonly FeedItem[];
  /** Ids of items that start no run, also not later. */
  passed: readonly string[];
  /** The source has more items: it is polled again at once. */
  hasMore: boolean;
}

/** What a poll gets. */
export interface FeedCall {
  /** Undefined: this is the first poll of the source. */
  cursor: JsonObject | undefined;
  /** Most items of the poll. */
  limit: number;
  /** Returns those of the ids that have neither started a run nor been passed. */
  unknown(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Returns a text of the configuration with the values of `{{NAME}}`. Throws a BlockError for a name without a value. */
  text(template: string): Promise<string>;
  /** Returns the secret of a stored credential of the workspace, ready for use. Throws a BlockError if there is none. */
  credential(id: string): Promise<string>;
  /** The client for addresses of the configuration. */
  http: Egress;
  /** Returns the address that the operator has configured for a service, and the client that reaches it. */
  service(name: string): Promise<{ address: string | undefined; http: Egress }>;
  nowMs: number;
  signal: AbortSignal;
}

/** A type of trigger whose source is polled. */
export interface FeedType extends TriggerInfo {
  kind: 'feed';
  /** Returns the milliseconds between two polls. */
  intervalOf(config: JsonObject): number;
  /** Returns the name of the source. If it changes, polling starts over. */
  sourceOf(config: JsonObject): string;
  /** Throws a BlockError without secrets in its message. Users do not see other errors. */
  poll(config: JsonObject, call: FeedCall): Promise<FeedPoll>;
  /** Does what the source needs to know about accepted items. May be called again for the same items, or never. */
  accepted?(config: JsonObject, ids: readonly string[], call: FeedCall): Promise<void>;
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

/** A condition, the workflows that it watches (empty: all), and the cooldown after it has fired for one of them. */
export type EventRule = EventCondition & { workflowIds: readonly string[]; cooldownMs: number };

/** A type of trigger that events of its workspace fire. */
export interface EventType extends TriggerInfo {
  kind: 'event';
  ruleOf(config: JsonObject): EventRule;
}
