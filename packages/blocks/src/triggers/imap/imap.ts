import type { JsonObject } from '@heddle/core/blocks';
import { isJsonObject } from '@heddle/core/blocks';
import type { ImapFlow } from 'imapflow';
import type { FeedCall, FeedItem, FeedPoll, FeedTrigger } from '@heddle/engine/triggers';
import { flowControlFields } from '../flow-control.ts';
import {
  BEGINNING_BYTES,
  mailOutputs,
  MAX_MESSAGE_BYTES,
  MAX_POLL_BYTES,
  messageItem,
} from '../mail/message.ts';
import { imapFields, readImap } from './fields.ts';
import type { ImapConfig } from './fields.ts';
import { withSession } from './session.ts';

/** Maximum number of messages that are all searched. In larger mailboxes only the newest messages are searched. */
const MAX_FOUND = 1000;

const configOf = (config: JsonObject): ImapConfig => config as unknown as ImapConfig;

/** Starts runs for new messages of a mail account. */
export const imap: FeedTrigger = {
  kind: 'feed',
  type: 'imap',
  read: readImap,
  intervalOf: (config) => configOf(config).everyMs,
  sourceOf(config) {
    const { host, port, username } = configOf(config);
    return JSON.stringify([host, port, username]);
  },
  poll: (config, call) =>
    withSession(configOf(config), call, (client) => pollAccount(client, configOf(config), call)),
  async accepted(config, ids, call) {
    const { markAsRead } = configOf(config);
    if (markAsRead) await withSession(configOf(config), call, (client) => markRead(client, ids));
  },
};

/** The state of a mailbox: its messages up to `uid` are handled. */
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
  count: number;
}

async function pollAccount(client: ImapFlow, config: ImapConfig, call: FeedCall): Promise<FeedPoll> {
  const items: FeedItem[] = [];
  const cursor: JsonObject = {};
  const left = { items: call.limit, bytes: MAX_POLL_BYTES };
  let hasMore = false;
  for (const path of config.mailboxes) {
    const known = positionOf(call.cursor, path);
    if (hasMore) {
      // The next poll reads this mailbox.
      if (known) cursor[path] = { ...known };
      continue;
    }
    const mailbox = await opened(client, path);
    const found = await foundIn(client, mailbox, { config, known, call });
    const taken = await readMessages(client, mailbox, { config, call, left, uids: found.uids });
    items.push(...taken.items);
    hasMore = taken.lastUid !== undefined;
    cursor[path] = {
      validity: mailbox.validity,
      uid: taken.lastUid ?? Math.max(mailbox.uidNext - 1, 0),
      atMs: Math.max(taken.atMs, found.atMs),
    };
  }
  return { cursor, items, passed: [], hasMore };
}

function positionOf(cursor: JsonObject | undefined, path: string): Position | undefined {
  const known = cursor && Object.hasOwn(cursor, path) ? cursor[path] : undefined;
  return isJsonObject(known ?? null) ? (known as unknown as Position) : undefined;
}

async function opened(client: ImapFlow, path: string): Promise<Mailbox> {
  const { uidValidity, uidNext, exists } = await client.mailboxOpen(path, { readOnly: true });
  // Older servers do not send `uidNext`.
  const last = uidNext || exists === 0 ? undefined : await client.fetchOne('*', { uid: true });
  return {
    path,
    validity: String(uidValidity),
    uidNext: uidNext || (last ? last.uid + 1 : 1),
    count: exists,
  };
}

/** Returns the UIDs of messages that may start runs, the earliest first, and when the last known message was received. */
async function foundIn(
  client: ImapFlow,
  mailbox: Mailbox,
  { config, known, call }: { config: ImapConfig; known: Position | undefined; call: FeedCall },
): Promise<{ uids: number[]; atMs: number }> {
  if (mailbox.count === 0) return { uids: [], atMs: known?.atMs ?? 0 };
  const { criteria, backfill } = config;
  const search = async (query: object): Promise<number[]> => {
    const uids = (await client.search({ ...criteria, ...query }, { uid: true })) || [];
    // A range up to * includes the last message even if it is before the range.
    return uids.filter((uid) => uid < mailbox.uidNext).toSorted((a, b) => a - b);
  };
  if (!known) {
    const latest = await client.fetchOne('*', { internalDate: true });
    const uids = backfill === 0 ? [] : (await search(lastOf(mailbox))).slice(-backfill);
    return { uids, atMs: latest ? timeOf(latest.internalDate) : 0 };
  }
  const isValid = known.validity === mailbox.validity;
  const after = isValid
    ? (await search({ uid: `${known.uid + 1}:*` })).filter((uid) => uid > known.uid)
    : await receivedAfter(client, known.atMs, await search({ since: new Date(known.atMs) }));
  const ids = new Map(after.slice(0, isValid ? Infinity : MAX_FOUND).map((uid) => [uid, idOf(mailbox, uid)]));
  const fresh = await call.unknown([...ids.values()]);
  return { uids: [...ids].filter(([, id]) => fresh.has(id)).map(([uid]) => uid), atMs: known.atMs };
}

/** Selects the last messages, because the list of all messages of a large mailbox is long. */
function lastOf({ count }: Mailbox): object {
  return { seq: `${Math.max(count - MAX_FOUND + 1, 1)}:*` };
}

/** Returns the messages received after a time: new UIDs do not show which messages are known. */
async function receivedAfter(client: ImapFlow, atMs: number, uids: readonly number[]): Promise<number[]> {
  const last = uids.slice(-MAX_FOUND);
  if (last.length === 0) return [];
  const found = await client.fetchAll(last.join(','), { uid: true, internalDate: true }, { uid: true });
  return found.filter(({ internalDate }) => timeOf(internalDate) > atMs).map(({ uid }) => uid);
}

function idOf({ path, validity }: Pick<Mailbox, 'path' | 'validity'>, uid: number): string {
  return `${validity}:${uid}:${path}`;
}

/** Reads messages up to the limits. `lastUid`: the UID of the last message that was read, if unread messages are left. */
async function readMessages(
  client: ImapFlow,
  mailbox: Mailbox,
  given: {
    config: ImapConfig;
    call: FeedCall;
    left: { items: number; bytes: number };
    uids: readonly number[];
  },
): Promise<{ items: FeedItem[]; atMs: number; lastUid?: number }> {
  const { config, call, left, uids } = given;
  const items: FeedItem[] = [];
  let atMs = 0;
  let lastUid = (uids[0] ?? 1) - 1;
  for (const uid of uids) {
    if (left.items <= 0 || left.bytes <= 0) return { items, atMs, lastUid };
    const message = await messageOf(client, uid);
    lastUid = uid;
    // The message has been removed.
    if (!message) continue;
    left.items -= 1;
    left.bytes -= message.raw.byteLength;
    atMs = Math.max(atMs, message.atMs);
    const { raw, isCut } = message;
    const receivedAt = new Date(message.atMs).toISOString();
    const about = { mailbox: mailbox.path, uid };
    const parts = { id: idOf(mailbox, uid), raw, isCut, receivedAt, about };
    items.push(await messageItem(parts, { withFiles: config.withFiles, nowMs: call.nowMs }));
  }
  return { items, atMs };
}

async function messageOf(
  client: ImapFlow,
  uid: number,
): Promise<{ raw: Uint8Array; isCut: boolean; atMs: number } | undefined> {
  const options = { uid: true } as const;
  const head = await client.fetchOne(String(uid), { size: true, internalDate: true }, options);
  if (!head) return undefined;
  const isCut = (head.size ?? 0) > MAX_MESSAGE_BYTES;
  const maxLength = isCut ? BEGINNING_BYTES : MAX_MESSAGE_BYTES;
  const found = await client.fetchOne(String(uid), { source: { start: 0, maxLength } }, options);
  if (!found || !found.source) return undefined;
  return { raw: found.source, isCut, atMs: timeOf(head.internalDate) };
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
  for (const [path, each] of Map.groupBy(messages, (message) => message.path)) {
    const { uidValidity } = await client.mailboxOpen(path);
    const uids = each.filter(({ validity }) => validity === String(uidValidity)).map(({ uid }) => uid);
    if (uids.length > 0) await client.messageFlagsAdd(uids.join(','), ['\\Seen'], { uid: true });
  }
}

/** The description, fields and outputs of the block, for readers and editors. */
export const imapSchema = {
  summary: 'Starts a run for each new message of a mail account (IMAP).',
  fields: imapFields.extend(flowControlFields),
  outputs: mailOutputs,
};
