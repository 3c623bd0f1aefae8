import { createHash } from 'node:crypto';
import type { JsonObject } from '@heddle/core';
import type { Kysely } from 'kysely';
import type { WorkflowRow } from '../../store/schema.ts';
import type { TriggerRow, TriggerTables } from '../tables.ts';

// Times are milliseconds. PostgreSQL returns them as strings.

/** The position at which the next poll of a trigger continues. */
export interface FeedCursorRow {
  workflow_id: string;
  block_id: string;
  /** Hash of the source. If it changes, polling starts over. */
  source: string;
  /** JSON. */
  cursor: string;
  polled_ms: number;
}

/** An item that has started a run, or was skipped. */
interface FeedItemRow {
  workflow_id: string;
  block_id: string;
  /** Hash of the source and of the item's id in it. */
  item: string;
  /** The engine's id of its run; null: it was skipped. */
  run_id: string | null;
  /** When the item was last seen in the source. Not every poll updates this time. */
  seen_ms: number;
}

interface FeedTables extends TriggerTables {
  feed_cursors: FeedCursorRow;
  feed_items: FeedItemRow;
  triggers: TriggerRow;
  workflows: WorkflowRow;
}

export type FeedDb = Kysely<FeedTables>;

/** Identifies the block of a feed trigger. */
export type FeedKey = Pick<TriggerRow, 'workflow_id' | 'block_id'>;

/** Maximum number of stored items of a trigger. The oldest ones are deleted. One feed document has fewer items. */
const MAX_ITEMS = 10_000;
/** Maximum number of rows in one statement. */
const MAX_ROWS = 200;
/**
 * From this number of stored items on, polls update `seen_ms` of items that the source still has, so that they are not
 * deleted.
 */
const SEEN_UPDATE_THRESHOLD = MAX_ITEMS / 2;
/** Minimum time until `seen_ms` of an item is updated again. */
const SEEN_UPDATE_INTERVAL_MS = 300_000;

export function hashOf(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

/** Returns the position at which the next poll of the source continues; undefined for the first poll. */
export async function readCursor(db: FeedDb, key: FeedKey, source: string): Promise<JsonObject | undefined> {
  const row = await db
    .selectFrom('feed_cursors')
    .select('cursor')
    .where('workflow_id', '=', key.workflow_id)
    .where('block_id', '=', key.block_id)
    .where('source', '=', source)
    .executeTakeFirst();
  return row && (JSON.parse(row.cursor) as JsonObject);
}

export async function storeCursor(db: FeedDb, row: FeedCursorRow): Promise<void> {
  const { source, cursor, polled_ms } = row;
  await db
    .insertInto('feed_cursors')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['workflow_id', 'block_id']).doUpdateSet({ source, cursor, polled_ms }),
    )
    .execute();
}

/** Returns which of the items are stored, with the times at which they were last seen in the source. */
export async function findStoredItems(
  db: FeedDb,
  key: FeedKey,
  itemHashes: readonly string[],
): Promise<Map<string, number>> {
  const seenMsByItemHash = new Map<string, number>();
  for (const chunk of chunks(itemHashes)) {
    const rows = await db
      .selectFrom('feed_items')
      .select(['item', 'seen_ms'])
      .where('workflow_id', '=', key.workflow_id)
      .where('block_id', '=', key.block_id)
      .where('item', 'in', chunk)
      .execute();
    for (const { item, seen_ms: seenMs } of rows) seenMsByItemHash.set(item, Number(seenMs));
  }
  return seenMsByItemHash;
}

/** Stores an item that starts a run. Returns false if the item is already stored. */
export async function claimItem(
  db: FeedDb,
  key: FeedKey,
  claim: { item: string; run_id: string; seen_ms: number },
): Promise<boolean> {
  const { workflow_id, block_id } = key;
  const { numInsertedOrUpdatedRows: insertedCount } = await db
    .insertInto('feed_items')
    .values({ workflow_id, block_id, ...claim })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return Number(insertedCount ?? 0) > 0;
}

/** Stores items that start no run. */
export async function storeSkippedItems(
  db: FeedDb,
  key: FeedKey,
  itemHashes: readonly string[],
  nowMs: number,
): Promise<void> {
  const { workflow_id, block_id } = key;
  for (const chunk of chunks([...new Set(itemHashes)]))
    await db
      .insertInto('feed_items')
      .values(chunk.map((item) => ({ workflow_id, block_id, item, run_id: null, seen_ms: nowMs })))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
}

/**
 * Deletes the items beyond the maximum that were seen least recently. First updates `seen_ms` of `knownItems`, because
 * the source still has them.
 */
export async function deleteOldestItems(
  db: FeedDb,
  key: FeedKey,
  { knownItems, nowMs }: { knownItems: ReadonlyMap<string, number>; nowMs: number },
): Promise<void> {
  if ((await findSeenMs(db, key, SEEN_UPDATE_THRESHOLD)) === undefined) return;
  const staleItems = [...knownItems]
    .filter(([, seenMs]) => seenMs < nowMs - SEEN_UPDATE_INTERVAL_MS)
    .map(([item]) => item);
  for (const chunk of chunks(staleItems))
    await db
      .updateTable('feed_items')
      .set({ seen_ms: nowMs })
      .where('workflow_id', '=', key.workflow_id)
      .where('block_id', '=', key.block_id)
      .where('item', 'in', chunk)
      .execute();
  const deleteUntilMs = await findSeenMs(db, key, MAX_ITEMS);
  if (deleteUntilMs === undefined) return;
  await db
    .deleteFrom('feed_items')
    .where('workflow_id', '=', key.workflow_id)
    .where('block_id', '=', key.block_id)
    .where('seen_ms', '<=', deleteUntilMs)
    .execute();
}

/** Returns when the item after the `offset` newest ones was last seen; undefined if there is none. */
async function findSeenMs(db: FeedDb, key: FeedKey, offset: number): Promise<number | undefined> {
  const row = await db
    .selectFrom('feed_items')
    .select('seen_ms')
    .where('workflow_id', '=', key.workflow_id)
    .where('block_id', '=', key.block_id)
    .orderBy('seen_ms', 'desc')
    .limit(1)
    .offset(offset)
    .executeTakeFirst();
  return row && Number(row.seen_ms);
}

/** Deletes the positions of polls, so that items that arrive while a workflow is not deployed start no run. */
export async function deleteCursors(db: FeedDb, workflowIds: readonly string[]): Promise<void> {
  for (const chunk of chunks(workflowIds))
    await db.deleteFrom('feed_cursors').where('workflow_id', 'in', chunk).execute();
}

/** Deletes the items and positions of triggers that no longer exist. */
export async function sweepFeeds(db: FeedDb): Promise<void> {
  for (const table of ['feed_cursors', 'feed_items'] as const)
    await db
      .deleteFrom(table)
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('triggers')
              .select('triggers.id')
              .whereRef('triggers.workflow_id', '=', eb.ref(`${table}.workflow_id`))
              .whereRef('triggers.block_id', '=', eb.ref(`${table}.block_id`)),
          ),
        ),
      )
      .execute();
}

function* chunks<Value>(values: readonly Value[]): Generator<Value[]> {
  for (let start = 0; start < values.length; start += MAX_ROWS) yield values.slice(start, start + MAX_ROWS);
}
