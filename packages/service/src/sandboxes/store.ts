import type { Kysely } from 'kysely';
import { containsCondition, readPage } from '../paging.ts';
import type { SandboxRow, SandboxTables } from './tables.ts';

type Db = Kysely<SandboxTables>;

export interface SandboxesQuery {
  workspaceId: string;
  search?: string | undefined;
  sortBy: 'name' | 'createdAt' | 'updatedAt';
  sortOrder: 'asc' | 'desc';
  limit: number;
  afterPosition?: SandboxPosition | undefined;
}

/** The sort value and the id of a page's last row. */
export type SandboxPosition = readonly [value: string, id: string];

const SORT_COLUMNS = { name: 'name', createdAt: 'created_at', updatedAt: 'updated_at' } as const;

/** Adds a sandbox. Returns false if the workspace has one with this name. */
export async function addSandbox(db: Db, row: SandboxRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('sandboxes')
    .values(row)
    .onConflict((conflict) => conflict.columns(['workspace_id', 'name']).doNothing())
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

/** Replaces a sandbox. Returns whether it still exists. Throws the database's error for a duplicate name. */
export async function replaceSandbox(db: Db, row: SandboxRow): Promise<boolean> {
  const { id, workspace_id, created_at: _createdAt, ...changes } = row;
  const { numUpdatedRows } = await db
    .updateTable('sandboxes')
    .set(changes)
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Returns whether another sandbox of the workspace has the name. */
export async function isNameTaken(db: Db, { id, workspace_id, name }: SandboxRow): Promise<boolean> {
  const row = await db
    .selectFrom('sandboxes')
    .select('id')
    .where('workspace_id', '=', workspace_id)
    .where('name', '=', name)
    .where('id', '!=', id)
    .executeTakeFirst();
  return row !== undefined;
}

/** Deletes a sandbox. Returns whether it existed. */
export async function removeSandbox(db: Db, key: { id: string; workspaceId: string }): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('sandboxes')
    .where('workspace_id', '=', key.workspaceId)
    .where('id', '=', key.id)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Returns the sandbox; undefined if the workspace has none with this id. */
export async function findSandbox(
  db: Db,
  { id, workspaceId }: { id: string; workspaceId: string },
): Promise<SandboxRow | undefined> {
  return db
    .selectFrom('sandboxes')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Returns the id of a sandbox's image, in any workspace; null if it has none, undefined for an unknown sandbox. */
export async function imageIdOfSandbox(
  database: Kysely<unknown>,
  sandboxId: string,
): Promise<string | null | undefined> {
  const row = await (database as Db)
    .selectFrom('sandboxes')
    .select('image_id')
    .where('id', '=', sandboxId)
    .executeTakeFirst();
  return row?.image_id;
}

/** Returns whether any workspace has a sandbox with this image. */
export async function isImageUsed(db: Db, imageId: string): Promise<boolean> {
  const row = await db
    .selectFrom('sandboxes')
    .select('id')
    .where('image_id', '=', imageId)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Returns one sandbox for each image that sandboxes use. */
export async function findOneSandboxPerImage(db: Db): Promise<SandboxRow[]> {
  const firstIds = db
    .selectFrom('sandboxes')
    .select((eb) => eb.fn.min('id').as('id'))
    .where('image_id', 'is not', null)
    .groupBy('image_id');
  return db.selectFrom('sandboxes').selectAll().where('id', 'in', firstIds).orderBy('created_at').execute();
}

/** Returns a page of sandboxes, and the position of its last row if more follow. */
export async function readPageOfSandboxes(
  db: Db,
  query: SandboxesQuery,
): Promise<{ rows: SandboxRow[]; next: SandboxPosition | undefined }> {
  const { workspaceId, search } = query;
  const column = SORT_COLUMNS[query.sortBy];
  let selectQuery = db.selectFrom('sandboxes').selectAll().where('workspace_id', '=', workspaceId);
  if (search !== undefined) selectQuery = selectQuery.where(containsCondition('name', search));
  return readPage(selectQuery, [column, 'id'], query, (row): SandboxPosition => [row[column], row.id]);
}
