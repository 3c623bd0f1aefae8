import type { Json, JsonObject } from '@heddle/core';
import type { TriggerInfo } from '@heddle/core/drafts';

// `@heddle/blocks` declares its own copies of the types of deliveries, replies and actions, because neither package
// may import the other. A type of webhook of that package fits `WebhookType` by its structure.

/** A request from another system whose signature is to be checked. The body is not parsed. */
export interface UnverifiedDelivery {
  headers: Headers;
  body: Uint8Array;
  nowMs: number;
  /** The valid values of the trigger's secret. */
  secrets: readonly string[];
}

/** A file of a multipart body. */
export interface DeliveredFile {
  /** The name of the part. */
  field: string;
  name: string;
  type: string;
  bytes: Uint8Array;
}

/** A request whose signature is valid, with its parsed body. */
export interface ParsedDelivery {
  method: string;
  headers: Headers;
  query: JsonObject;
  payload: Json;
  files: readonly DeliveredFile[];
}

/**
 * The response to the sender: an immediate confirmation, the JSON in the configuration of the trigger, or the response
 * of the ended run.
 */
export type WebhookReply = { kind: 'now' } | { kind: 'json'; status: number; body: Json } | { kind: 'run' };

/** What the receiver does with an authentic request. */
export type WebhookAction =
  /** The sender verifies the URL. No run is started. */
  | { kind: 'handshake'; body: Json }
  /** The trigger waits for other events. No run is started. */
  | { kind: 'ignored'; event: string }
  | {
      kind: 'event';
      /**
       * The sender's id of the delivery: a second delivery with this id starts no run. Absent: the sender sends no id.
       */
      deliveryId?: string;
      /** Name of the event, for the log. */
      event?: string;
      input: JsonObject;
      reply: WebhookReply;
    };

/** A type of trigger that is fired by requests from another system. `@heddle/blocks/triggers` has Heddle's types. */
export interface WebhookType extends TriggerInfo {
  kind: 'webhook';
  /** Returns the sending system, such as `github`. */
  providerOf(config: JsonObject): string;
  /** Returns the path that the author has chosen; undefined: a random path is generated. */
  pathOf(config: JsonObject): string | undefined;
  /** Returns whether requests must have a token or a signature. */
  isSigned(config: JsonObject): boolean;
  /** Returns the secret in the block: text, or `{{NAME}}`; undefined if the block has none. */
  secretOf(config: JsonObject): string | undefined;
  /** Returns the id of the stored credential that is the secret; undefined if there is none. */
  secretCredentialOf?(config: JsonObject): string | undefined;
  /** Returns whether requests with this method are deliveries. */
  accepts(config: JsonObject, method: string): boolean;
  /**
   * Returns whether a request only tests the URL: it is answered with success before its signature is checked, and
   * starts no run. Default: never.
   */
  isTest?(config: JsonObject, body: Uint8Array): boolean;
  /** Returns the code of the problem if the request is not authentic. */
  verificationProblemOf(config: JsonObject, delivery: UnverifiedDelivery): string | undefined;
  /** Returns what the receiver does with an authentic request. */
  actionFor(config: JsonObject, delivery: ParsedDelivery): WebhookAction;
}

/** A webhook trigger of the live version of a workflow. */
export interface FoundWebhook {
  /** Unique over all workspaces, and equal for all versions of the workflow. */
  key: string;
  workspaceId: string;
  type: WebhookType;
  config: JsonObject;
}

/** An event that starts a run. */
export interface WebhookEvent {
  deliveryId: string | undefined;
  event: string | undefined;
  input: JsonObject;
  method: string;
  contentType: string;
  byteLength: number;
}

/** An accepted event. */
export interface AcceptedEvent {
  runId: string;
  /** True if the delivery was accepted before: `runId` is the run of the first delivery. */
  isDuplicate: boolean;
  /**
   * The decision of flow control, and its reason; absent: the run starts immediately. For a dropped event, `runId` is
   * the id of an earlier run.
   */
  flow?: { state: 'waiting' | 'dropped'; reason: string };
  /** Returns the response of the ended run; undefined if the run waits for a person, or does not end in time. */
  waitForResponse(signal: AbortSignal): Promise<Response | undefined>;
}

/** Finds triggers, and stores accepted events. */
export interface WebhookStore {
  /**
   * Returns the trigger at the path; undefined for an unknown path, and for a trigger that is paused, suspended or not
   * live.
   */
  find(path: string): Promise<FoundWebhook | undefined>;
  /** Returns the values of the trigger's secret; none if it cannot be read. */
  secretsOf(webhook: FoundWebhook): Promise<readonly string[]>;
  /**
   * Stores the event and queues its run, both or neither, before it resolves. Resolves with undefined if the trigger is
   * no longer live. Throws an ApiError if the run is refused.
   */
  accept(webhook: FoundWebhook, event: WebhookEvent): Promise<AcceptedEvent | undefined>;
  /** Counts a request that starts no run. Never throws. */
  recordRefusal(webhook: FoundWebhook, reason: string): void;
}
