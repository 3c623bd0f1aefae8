import { ApiError } from '@heddle/api';
import type { Kysely } from 'kysely';
import { readPage } from '../paging.ts';
import type { ReceiptRow, ReceiptTables } from './tables.ts';

type Db = Kysely<ReceiptTables>;

/** The creation time and the id of a page's last row. */
export type ReceiptPosition = readonly [createdAt: string, id: string];

export interface ReceiptsQuery {
  workspaceId: string;
  requestId?: string | undefined;
  limit: number;
  afterPosition?: ReceiptPosition | undefined;
}

/**
 * Returns the receipt of an earlier request with this id; undefined if there is none. Throws 409 if that request was
 * different.
 */
export async function findReceiptOfRequest(
  db: Db,
  { workspaceId, requestId, hash }: { workspaceId: string; requestId: string; hash: string },
): Promise<ReceiptRow | undefined> {
  const row = await db
    .selectFrom('operation_receipts')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('request_id', '=', requestId)
    .executeTakeFirst();
  if (!row || row.request_hash === hash) return row;
  throw new ApiError(409, 'requestId has been used for another request: choose a new one');
}

/** Adds a receipt. Returns false if the workspace has one for this request id, possibly from a concurrent request. */
export async function addReceipt(db: Db, row: ReceiptRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('operation_receipts')
    .values(row)
    .onConflict((conflict) => conflict.columns(['workspace_id', 'request_id']).doNothing())
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

/** Returns a receipt of the workspace; undefined if it has none with this id. */
export async function findReceipt(
  db: Db,
  { workspaceId, id }: { workspaceId: string; id: string },
): Promise<ReceiptRow | undefined> {
  return db
    .selectFrom('operation_receipts')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Returns a page of receipts, newest first, and the position of its last row if more follow. */
export async function readPageOfReceipts(
  db: Db,
  { workspaceId, requestId, limit, afterPosition }: ReceiptsQuery,
): Promise<{ rows: ReceiptRow[]; next: ReceiptPosition | undefined }> {
  let selectQuery = db.selectFrom('operation_receipts').selectAll().where('workspace_id', '=', workspaceId);
  if (requestId !== undefined) selectQuery = selectQuery.where('request_id', '=', requestId);
  return readPage(
    selectQuery,
    ['created_at', 'id'],
    { afterPosition, sortOrder: 'desc', limit },
    (row): ReceiptPosition => [row.created_at, row.id],
  );
}

/** Maximum number of receipts that one statement deletes. */
const BATCH_SIZE = 500;

/** Deletes a batch of the receipts created before this time, oldest first. Returns their number; 0: none is left. */
export async function deleteReceipts(db: Db, createdBefore: string): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('operation_receipts')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('operation_receipts')
        .select('id')
        .where('created_at', '<', createdBefore)
        .orderBy('created_at')
        .limit(BATCH_SIZE),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}
