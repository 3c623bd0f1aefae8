import type { TriggerInfo } from '@heddle/core/drafts';
import { BlockError } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { HttpClient } from '@heddle/engine';
import { whole } from './read-fields.ts';

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
  http: HttpClient;
  /** Returns the address that the operator has configured for a service, and the client that reaches it. */
  service(name: string): Promise<{ address: string | undefined; http: HttpClient }>;
  nowMs: number;
  signal: AbortSignal;
}

/** A type of trigger whose source is polled. Its configuration is plain JSON. */
export interface FeedTrigger extends TriggerInfo {
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

/** Returns the error of a source that cannot be polled now. The message is shown to users. */
export function feedError(
  message: string,
  options: { retryAfterMs?: number; cause?: unknown } = {},
): BlockError {
  return new BlockError('FEED_FAILED', message, { retryable: true, ...options });
}

const MAX_MINUTES = 1440;
/** Most items that are there before the first poll and start runs. */
const MAX_BACKFILL = 100;

/** The fields of all feeds. */
export const feedFields = {
  pollMinutes: whole(1, MAX_MINUTES)
    .default(5)
    .describe('The number of minutes between two polls, from 1 to 1,440. Default: 5.'),
  backfill: whole(0, MAX_BACKFILL)
    .default(0)
    .describe(
      'How many of the items that are there when the trigger is activated start runs: the newest ones, up to 100. Default: 0.',
    ),
};

/** What the configuration of each feed has. */
export interface FeedConfig {
  everyMs: number;
  backfill: number;
}

/** Returns what the fields of all feeds mean. */
export function feedConfig({
  pollMinutes,
  backfill,
}: {
  pollMinutes: number;
  backfill: number;
}): FeedConfig & JsonObject {
  return { everyMs: pollMinutes * 60_000, backfill };
}
