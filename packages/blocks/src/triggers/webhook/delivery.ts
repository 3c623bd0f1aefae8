import type { Json, JsonObject } from '@heddle/core/blocks';

// Copies of the types of `@heddle/api/webhooks`, which this package does not import.

/** A request from another system, with its unparsed body. */
export interface UnverifiedDelivery {
  headers: Headers;
  body: Uint8Array;
  nowMs: number;
  /** The valid values of the trigger's secret. */
  secrets: readonly string[];
}

/** A request whose signature is valid, with its parsed body. */
export interface ParsedDelivery {
  method: string;
  headers: Headers;
  query: JsonObject;
  payload: Json;
  files: readonly { field: string; name: string; type: string; bytes: Uint8Array }[];
}

/**
 * The response to the sender: immediate, with the JSON of the configuration, or with the result of the Response block
 * of the run.
 */
export type WebhookReply = { kind: 'now' } | { kind: 'json'; status: number; body: Json } | { kind: 'run' };

/** What a request is: a test of the URL, an event that starts no run, or a delivery that starts a run. */
export type WebhookAction =
  | { kind: 'handshake'; body: Json }
  | { kind: 'ignored'; event: string }
  | { kind: 'event'; deliveryId?: string; event?: string; input: JsonObject; reply: WebhookReply };
