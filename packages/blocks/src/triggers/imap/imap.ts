import type { JsonObject } from '@heddle/core/blocks';
import { isJsonObject } from '@heddle/core/blocks';
import type { ImapFlow } from 'imapflow';
import type { FeedContext, FeedItem, FeedPoll, FeedTrigger } from '@heddle/engine/triggers';
import { flowControlFields } from '../flow-control.ts';
import {
  TRUNCATED_BYTES,
  mailOutputs,
  MAX_MESSAGE_BYTES,
  MAX_POLL_BYTES,
  toFeedItem,
} from '../mail/message.ts';
import { imapFields, parseImapConfig } from './fields.ts';
import type { ImapConfig } from './fields.ts';
import { withSession } from './session.ts';

/** A poll without a valid position considers at most this many messages: the newest ones. */
const MAX_SEARCHED_MESSAGES = 1000;

const configOf = (config: JsonObject): ImapConfig => config as unknown as ImapConfig;

/** Starts runs for new messages of a mail account. */
export const imap: FeedTrigger = {
  kind: 'feed',
  type: 'imap',
  parseConfig: parseImapConfig,
  intervalOf: (config) => configOf(config).everyMs,
  sourceOf(config) {
    const { host, port, username } = configOf(config);
    return JSON.stringify([host, port, username]);
  },
  poll: (config, context) =>
    withSession(configOf(config), context, (client) => pollAccount(client, configOf(config), context)),
  async acknowledge(config, ids, context) {
    const { markAsRead } = configOf(config);
    if (markAsRead) await withSession(configOf(config), context, (client) => markRead(client, ids));
  },
};

/** The position in a mailbox: messages up to `uid` are handled. */
interface Position {
  /** UIDs are valid while the server has this value (UIDVALIDITY, RFC 9051 §2.3.1.1). */
  validity: string;
  uid: number;
  /** The time at which the server received the last message, in milliseconds. */
  atMs: number;
}

interface Mailbox {
  path: string;
  validity: string;
  /** Messages with this UID or a later one have arrived since the mailbox was opened. */
  uidNext: number;
  messageCount: number;
}

async function pollAccount(client: ImapFlow, config: ImapConfig, context: FeedContext): Promise<FeedPoll> {
  const items: FeedItem[] = [];
  const cursor: JsonObject = {};
  const budget = { remainingItems: context.limit, remainingBytes: MAX_POLL_BYTES };
  let hasMore = false;
  for (const path of config.mailboxes) {
    const position = positionOf(context.cursor, path);
    if (hasMore) {
      // The next poll reads this mailbox.
      if (position) cursor[path] = { ...position };
      continue;
    }
    const mailbox = await openMailbox(client, path);
    const candidates = await candidatesIn(client, mailbox, { config, position, context });
    const batch = await readMessages(client, mailbox, { config, context, budget, uids: candidates.uids });
    items.push(...batch.items);
    hasMore = batch.lastUid !== undefined;
    cursor[path] = {
      validity: mailbox.validity,
      uid: batch.lastUid ?? Math.max(mailbox.uidNext - 1, 0),
      atMs: Math.max(batch.latestReceivedMs, candidates.lastReceivedMs),
    };
  }
  return { cursor, items, skippedIds: [], hasMore };
}

function positionOf(cursor: JsonObject | undefined, path: string): Position | undefined {
  const position = cursor && Object.hasOwn(cursor, path) ? cursor[path] : undefined;
  return isJsonObject(position ?? null) ? (position as unknown as Position) : undefined;
}

async function openMailbox(client: ImapFlow, path: string): Promise<Mailbox> {
  const { uidValidity, uidNext, exists } = await client.mailboxOpen(path, { readOnly: true });
  // Older servers do not send `uidNext`.
  const lastMessage = uidNext || exists === 0 ? undefined : await client.fetchOne('*', { uid: true });
  return {
    path,
    validity: String(uidValidity),
    uidNext: uidNext || (lastMessage ? lastMessage.uid + 1 : 1),
    messageCount: exists,
  };
}

/**
 * Returns the UIDs of messages that may start runs, the earliest first. `lastReceivedMs`: when the last known
 * message was received.
 */
async function candidatesIn(
  client: ImapFlow,
  mailbox: Mailbox,
  { config, position, context }: { config: ImapConfig; position: Position | undefined; context: FeedContext },
): Promise<{ uids: number[]; lastReceivedMs: number }> {
  if (mailbox.messageCount === 0) return { uids: [], lastReceivedMs: position?.atMs ?? 0 };
  const { criteria, backfill } = config;
  const search = async (query: object): Promise<number[]> => {
    const uids = (await client.search({ ...criteria, ...query }, { uid: true })) || [];
    // A range up to * includes the last message even if it is before the range.
    return uids.filter((uid) => uid < mailbox.uidNext).toSorted((a, b) => a - b);
  };
  if (!position) {
    const latestMessage = await client.fetchOne('*', { internalDate: true });
    const uids = backfill === 0 ? [] : (await search(newestQuery(mailbox))).slice(-backfill);
    return { uids, lastReceivedMs: latestMessage ? timeOf(latestMessage.internalDate) : 0 };
  }
  const isValid = position.validity === mailbox.validity;
  const laterUids = isValid
    ? (await search({ uid: `${position.uid + 1}:*` })).filter((uid) => uid > position.uid)
    : await uidsReceivedAfter(client, position.atMs, await search({ since: new Date(position.atMs) }));
  const uids = laterUids.slice(0, isValid ? Infinity : MAX_SEARCHED_MESSAGES);
  const ids = new Map(uids.map((uid) => [uid, idOf(mailbox, uid)]));
  const unknownIds = await context.filterUnknownIds([...ids.values()]);
  return {
    uids: [...ids].filter(([, id]) => unknownIds.has(id)).map(([uid]) => uid),
    lastReceivedMs: position.atMs,
  };
}

/** Returns a query for the newest messages: the list of all messages of a large mailbox would be long. */
function newestQuery({ messageCount }: Mailbox): object {
  return { seq: `${Math.max(messageCount - MAX_SEARCHED_MESSAGES + 1, 1)}:*` };
}

/**
 * Returns those of the last `MAX_SEARCHED_MESSAGES` UIDs whose messages were received after a time. When UIDVALIDITY
 * has changed, only this time tells which messages are new.
 */
async function uidsReceivedAfter(
  client: ImapFlow,
  afterMs: number,
  uids: readonly number[],
): Promise<number[]> {
  const lastUids = uids.slice(-MAX_SEARCHED_MESSAGES);
  if (lastUids.length === 0) return [];
  const messages = await client.fetchAll(
    lastUids.join(','),
    { uid: true, internalDate: true },
    { uid: true },
  );
  return messages.filter(({ internalDate }) => timeOf(internalDate) > afterMs).map(({ uid }) => uid);
}

function idOf({ path, validity }: Pick<Mailbox, 'path' | 'validity'>, uid: number): string {
  return `${validity}:${uid}:${path}`;
}

/**
 * Reads messages until `budget` is spent, and reduces it. `latestReceivedMs`: the latest time at which one of them was
 * received. `lastUid`: the UID of the last message that was read, if messages remain; undefined if none remains.
 */
async function readMessages(
  client: ImapFlow,
  mailbox: Mailbox,
  {
    config,
    context,
    budget,
    uids,
  }: {
    config: ImapConfig;
    context: FeedContext;
    budget: { remainingItems: number; remainingBytes: number };
    uids: readonly number[];
  },
): Promise<{ items: FeedItem[]; latestReceivedMs: number; lastUid?: number }> {
  const items: FeedItem[] = [];
  let latestReceivedMs = 0;
  let lastUid = (uids[0] ?? 1) - 1;
  for (const uid of uids) {
    if (budget.remainingItems <= 0 || budget.remainingBytes <= 0) return { items, latestReceivedMs, lastUid };
    const message = await messageOf(client, uid);
    lastUid = uid;
    // The message has been removed.
    if (!message) continue;
    budget.remainingItems -= 1;
    budget.remainingBytes -= message.raw.byteLength;
    latestReceivedMs = Math.max(latestReceivedMs, message.receivedMs);
    const { raw, isTruncated } = message;
    const receivedAt = new Date(message.receivedMs).toISOString();
    const metadata = { mailbox: mailbox.path, uid };
    const rawMessage = { id: idOf(mailbox, uid), raw, isTruncated, receivedAt, metadata };
    items.push(await toFeedItem(rawMessage, { withFiles: config.withFiles, nowMs: context.nowMs }));
  }
  return { items, latestReceivedMs };
}

async function messageOf(
  client: ImapFlow,
  uid: number,
): Promise<{ raw: Uint8Array; isTruncated: boolean; receivedMs: number } | undefined> {
  const options = { uid: true } as const;
  const metadata = await client.fetchOne(String(uid), { size: true, internalDate: true }, options);
  if (!metadata) return undefined;
  const isTruncated = (metadata.size ?? 0) > MAX_MESSAGE_BYTES;
  const maxLength = isTruncated ? TRUNCATED_BYTES : MAX_MESSAGE_BYTES;
  const content = await client.fetchOne(String(uid), { source: { start: 0, maxLength } }, options);
  if (!content || !content.source) return undefined;
  return { raw: content.source, isTruncated, receivedMs: timeOf(metadata.internalDate) };
}

function timeOf(date: Date | string | undefined): number {
  const ms = date === undefined ? NaN : new Date(date).getTime();
  return Number.isNaN(ms) ? 0 : ms;
}

async function markRead(client: ImapFlow, ids: readonly string[]): Promise<void> {
  const messages = ids.map((id) => {
    const [validity = '', uid = '', ...path] = id.split(':');
    return { validity, uid, path: path.join(':') };
  });
  for (const [path, mailboxMessages] of Map.groupBy(messages, (message) => message.path)) {
    const { uidValidity } = await client.mailboxOpen(path);
    const uids = mailboxMessages
      .filter(({ validity }) => validity === String(uidValidity))
      .map(({ uid }) => uid);
    if (uids.length > 0) await client.messageFlagsAdd(uids.join(','), ['\\Seen'], { uid: true });
  }
}

/** The description, fields and outputs of the block, for the documentation and for workflow editors. */
export const imapSchema = {
  summary: 'Starts a run for each new message of a mail account (IMAP).',
  fields: imapFields.extend(flowControlFields),
  outputs: mailOutputs,
};
