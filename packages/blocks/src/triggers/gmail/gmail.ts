import type { TriggerInfo } from '@heddle/core/drafts';
import type { JsonObject } from '@heddle/core/blocks';
import * as z from 'zod';
import { feedConfigOf, feedFields } from '../feed.ts';
import type { FeedContext, FeedItem, FeedPoll, FeedTrigger } from '@heddle/engine/triggers';
import type { FeedConfig } from '../feed.ts';
import { MAX_POLL_BYTES, toFeedItem } from '../mail/message.ts';
import {
  credentialField,
  withTriggerConfig,
  booleanField,
  parseList,
  problemsOf,
  textField,
} from '../read-fields.ts';
import { GmailClient } from './client.ts';
import type { Changes } from './client.ts';

const MAX_LABELS = 20;
const MAX_QUERY_CHARS = 1000;
/** Maximum number of messages that one poll lists. */
const MAX_LISTED_MESSAGES = 1000;
/** Maximum number of messages that one poll reads and skips. */
const MAX_SKIPPED_MESSAGES = 100;
/** Searches do not find new messages immediately, so each one also covers this time before the previous poll. */
const OVERLAP_S = 7200;
/** Labels of messages that were written by the account or deleted, of spam, and of chats. */
const NOT_RECEIVED_LABELS: ReadonlySet<string> = new Set(['SENT', 'DRAFT', 'TRASH', 'SPAM', 'CHAT']);

// The errors of fields complete the message `is not …`.
const LABELS_ERROR = `a list of up to ${MAX_LABELS} labels`;

const gmailFields = z.object({
  triggerCredentials: credentialField.describe('The stored credential of the account.'),
  credential: credentialField.describe('The same as triggerCredentials.'),
  labelIds: z
    .union(
      [
        z.array(textField).max(MAX_LABELS, { error: LABELS_ERROR }),
        textField.max(4000, { error: LABELS_ERROR }),
      ],
      {
        error: LABELS_ERROR,
      },
    )
    .optional()
    .describe('Ids of labels, separated by commas, such as INBOX. Default: all received messages.'),
  labelFilterBehavior: z
    .enum(['INCLUDE', 'EXCLUDE'], { error: 'INCLUDE or EXCLUDE' })
    .default('INCLUDE')
    .describe(
      'Whether messages with one of the labels start runs (INCLUDE, default), or all others (EXCLUDE).',
    ),
  searchQuery: textField
    .max(MAX_QUERY_CHARS, { error: `text of at most ${MAX_QUERY_CHARS} characters` })
    .optional()
    .describe('Gmail search query, such as from:ada. Only messages that match it start runs.'),
  markAsRead: booleanField.default(false).describe('Whether messages that start runs are marked as read.'),
  includeAttachments: booleanField.default(false).describe('Whether attachments are stored as files.'),
  ...feedFields,
});

interface GmailConfig extends FeedConfig {
  credential: string;
  labels: string[];
  isExcluding: boolean;
  query?: string;
  markAsRead: boolean;
  withFiles: boolean;
}

const configOf = (config: JsonObject): GmailConfig => config as unknown as GmailConfig;

function parseGmailConfig(block: JsonObject): ReturnType<TriggerInfo['parseConfig']> {
  const parsed = gmailFields.safeParse(withTriggerConfig(block));
  if (!parsed.success) return { problems: problemsOf(parsed.error) };
  const {
    triggerCredentials,
    credential = triggerCredentials,
    searchQuery,
    labelIds,
    ...fields
  } = parsed.data;
  if (credential === undefined)
    return {
      problems: [
        { field: 'triggerCredentials', message: 'is empty: store a credential for Gmail, and enter its id' },
      ],
    };
  const labels = parseList(labelIds);
  if (labels.length > MAX_LABELS)
    return { problems: [{ field: 'labelIds', message: `has more than ${MAX_LABELS} labels` }] };
  const config: GmailConfig = {
    ...{ credential, labels, isExcluding: fields.labelFilterBehavior === 'EXCLUDE' },
    ...(searchQuery !== undefined && { query: searchQuery }),
    ...{ markAsRead: fields.markAsRead, withFiles: fields.includeAttachments, ...feedConfigOf(fields) },
  };
  return { config: config as unknown as JsonObject };
}

/** The triggers for Gmail messages: the Gmail block types in trigger mode. */
export const gmailTriggers: readonly FeedTrigger[] = ['gmail', 'gmail_v2'].map((type) => ({
  kind: 'feed',
  type,
  parseConfig: parseGmailConfig,
  intervalOf: (config) => configOf(config).everyMs,
  sourceOf: (config) => JSON.stringify([configOf(config).credential, configOf(config).query ?? null]),
  poll: (config, context) => pollMessages(configOf(config), context),
  async acknowledge(config, ids, context) {
    const { markAsRead, credential } = configOf(config);
    if (!markAsRead) return;
    const client = await GmailClient.open(context, credential);
    for (const id of ids) await client.markRead(id);
  },
}));

/** The position from which the next poll continues. */
interface Position {
  /** The next poll reads changes since this position. Absent: it searches for messages. */
  historyId?: string;
  /** The time of the poll, in seconds since 1970. */
  afterS: number;
  /** Ids of messages that existed before the first poll and still have to start runs. */
  backlog?: string[];
}

async function pollMessages(config: GmailConfig, context: FeedContext): Promise<FeedPoll> {
  const client = await GmailClient.open(context, config.credential);
  const position = context.cursor as unknown as Position | undefined;
  if (!position) return pollFirstTime(client, config, context);
  const changes = await changesSince(client, config, position);
  const ids = [...(position.backlog ?? []), ...changes.ids];
  const poll = await readNewMessages(client, { config, context, ids });
  if (poll.hasMore) return { ...poll, cursor: { ...position } };
  const { historyId, hasMore } = changes;
  const cursor = { ...(historyId !== undefined && { historyId }), afterS: nowInSeconds(context) };
  return { ...poll, cursor, hasMore };
}

const nowInSeconds = ({ nowMs }: FeedContext): number => Math.floor(nowMs / 1000);

/**
 * Returns the changes since a position. If there is no position or Gmail no longer knows it, searches for the messages
 * since the previous poll, and returns the current position.
 */
async function changesSince(
  client: GmailClient,
  config: GmailConfig,
  { historyId, afterS }: Position,
): Promise<Omit<Changes, 'historyId'> & { historyId?: string }> {
  const changes =
    historyId === undefined ? undefined : await client.changesSince(historyId, MAX_LISTED_MESSAGES);
  if (changes) return changes;
  const currentPosition = await positionOf(client, config);
  const ids = await client.listMessageIds({
    q: queryOf(config, afterS - OVERLAP_S),
    limit: MAX_LISTED_MESSAGES,
  });
  return { ...currentPosition, ids, hasMore: false };
}

/** Returns the current position; none for a trigger with a query, whose polls always search. */
async function positionOf(client: GmailClient, { query }: GmailConfig): Promise<{ historyId?: string }> {
  return query === undefined ? { historyId: await client.fetchHistoryId() } : {};
}

/**
 * Polls for the first time. Reads the position before it lists messages, so that messages that arrive in between are
 * not lost.
 */
async function pollFirstTime(
  client: GmailClient,
  config: GmailConfig,
  context: FeedContext,
): Promise<FeedPoll> {
  const { backfill } = config;
  const position = await positionOf(client, config);
  const recentIds = await client.listMessageIds({
    q: queryOf(config, nowInSeconds(context) - OVERLAP_S),
    limit: MAX_LISTED_MESSAGES,
  });
  const candidates =
    backfill > recentIds.length
      ? await client.listMessageIds({ q: queryOf(config), limit: backfill })
      : recentIds;
  const backlog = backfill === 0 ? [] : candidates.slice(-backfill);
  const poll = await readNewMessages(client, { config, context, ids: backlog });
  const backlogIds = new Set(backlog);
  const skippedIds = [...poll.skippedIds, ...recentIds.filter((id) => !backlogIds.has(id))];
  const cursor = { ...position, afterS: nowInSeconds(context), ...(poll.hasMore && { backlog }) };
  return { ...poll, skippedIds, cursor };
}

function queryOf({ query, labels, isExcluding }: GmailConfig, afterS?: number): string {
  const search = query === undefined ? '' : `(${query})`;
  const exclusions = labels.length > 0 && !isExcluding ? '' : '-in:sent -in:drafts -in:chats';
  return [search, exclusions, ...(afterS === undefined ? [] : [`after:${afterS}`])]
    .filter((part) => part !== '')
    .join(' ');
}

/**
 * Reads the new messages, up to the limits of a poll. `skippedIds`: the ids of messages without the required labels.
 */
async function readNewMessages(
  client: GmailClient,
  { config, context, ids }: { config: GmailConfig; context: FeedContext; ids: readonly string[] },
): Promise<Pick<FeedPoll, 'items' | 'skippedIds' | 'hasMore'>> {
  const unknownIds = await context.filterUnknownIds(ids);
  const items: FeedItem[] = [];
  const skippedIds: string[] = [];
  let remainingBytes = MAX_POLL_BYTES;
  for (const id of ids) {
    if (!unknownIds.has(id)) continue;
    const isFull =
      items.length >= context.limit || skippedIds.length >= MAX_SKIPPED_MESSAGES || remainingBytes <= 0;
    if (isFull) return { items, skippedIds, hasMore: true };
    const message = await client.fetchMessage(id);
    // The message has been removed.
    if (!message) continue;
    if (!matchesLabels(message.labels, config)) {
      skippedIds.push(id);
      continue;
    }
    remainingBytes -= message.raw.byteLength;
    const { raw, isTruncated, receivedAt, threadId, labels } = message;
    const rawMessage = { id, raw, isTruncated, receivedAt, metadata: { id, threadId, labels } };
    items.push(await toFeedItem(rawMessage, { withFiles: config.withFiles, nowMs: context.nowMs }));
  }
  return { items, skippedIds, hasMore: false };
}

function matchesLabels(messageLabels: readonly string[], { labels, isExcluding }: GmailConfig): boolean {
  const hasConfiguredLabel = labels.some((label) => messageLabels.includes(label));
  if (labels.length > 0 && !isExcluding) return hasConfiguredLabel;
  return !hasConfiguredLabel && !messageLabels.some((label) => NOT_RECEIVED_LABELS.has(label));
}
