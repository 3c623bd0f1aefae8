import type { Kysely } from 'kysely';
import { containsCondition, readPage } from '../paging.ts';
import { countOf } from '../store/database.ts';
import type { Sealer } from '../sealing.ts';
import type { SecretInfo, SecretRow, SecretTables } from './tables.ts';

type Db = Kysely<SecretTables>;

/** The primary key of a secret. An empty `userId`: a secret of the workspace. */
export interface SecretKey {
  workspaceId: string;
  userId: string;
  name: string;
}

export interface NewSecret extends SecretKey {
  value: string;
  /** Undefined: the current description is kept. */
  description: string | undefined;
  /** ISO 8601. */
  now: string;
}

export interface SecretsQuery {
  workspaceId: string;
  /** The owners of the secrets. An empty id is the workspace. */
  userIds: readonly string[];
  search?: string | undefined;
  sortBy: 'name' | 'createdAt' | 'updatedAt';
  sortOrder: 'asc' | 'desc';
  limit: number;
  afterPosition?: SecretPosition | undefined;
}

/** The sort value, the name and the owner of a page's last row. */
export type SecretPosition = readonly [value: string, name: string, userId: string];

const COLUMNS = ['workspace_id', 'user_id', 'name', 'description', 'created_at', 'updated_at'] as const;
const SORT_COLUMNS = { name: 'name', createdAt: 'created_at', updatedAt: 'updated_at' } as const;

/** Maximum number of names in one statement. */
const CHUNK_SIZE = 500;

/** Returns the associated data that binds a sealed value to its row. */
function associatedDataOf({ workspaceId, userId, name }: SecretKey): string[] {
  return ['secret', workspaceId, userId, name];
}

function keyOfRow(row: Pick<SecretRow, 'workspace_id' | 'user_id' | 'name'>): SecretKey {
  return { workspaceId: row.workspace_id, userId: row.user_id, name: row.name };
}

/** Creates or replaces a secret. Returns its row without the value, and whether it is new. */
export async function setSecret(
  db: Db,
  sealer: Sealer,
  secret: NewSecret,
): Promise<{ row: SecretInfo; isNew: boolean }> {
  const { workspaceId, userId, name, value, description, now } = secret;
  const { keyId, sealed } = sealer.seal(value, associatedDataOf(secret));
  const addedRow = await db
    .insertInto('secrets')
    .values({
      workspace_id: workspaceId,
      user_id: userId,
      name,
      description: description ?? null,
      key_id: keyId,
      sealed,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'user_id', 'name']).doNothing())
    .returning(COLUMNS)
    .executeTakeFirst();
  if (addedRow) return { row: addedRow, isNew: true };
  const row = await db
    .updateTable('secrets')
    .set({ key_id: keyId, sealed, updated_at: now, ...(description !== undefined && { description }) })
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .where('name', '=', name)
    .returning(COLUMNS)
    .executeTakeFirst();
  // Another caller has removed it in the meantime.
  return row ? { row, isNew: false } : setSecret(db, sealer, secret);
}

/** Deletes a secret. Returns whether it existed. */
export async function removeSecret(db: Db, { workspaceId, userId, name }: SecretKey): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('secrets')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .where('name', '=', name)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Returns the number of secrets of the workspace or user. */
export async function countSecrets(
  db: Db,
  { workspaceId, userId }: Omit<SecretKey, 'name'>,
): Promise<number> {
  return countOf(
    db.selectFrom('secrets').where('workspace_id', '=', workspaceId).where('user_id', '=', userId),
  );
}

/** Returns a page of secrets without their values, and the position of its last row if more follow. */
export async function readPageOfSecrets(
  db: Db,
  query: SecretsQuery,
): Promise<{ rows: SecretInfo[]; next: SecretPosition | undefined }> {
  const { workspaceId, userIds, search } = query;
  const column = SORT_COLUMNS[query.sortBy];
  let selectQuery = db
    .selectFrom('secrets')
    .select(COLUMNS)
    .where('workspace_id', '=', workspaceId)
    .where('user_id', 'in', [...userIds]);
  if (search !== undefined) selectQuery = selectQuery.where(containsCondition('name', search));
  const columns = [column, 'name', 'user_id'];
  return readPage(selectQuery, columns, query, (row): SecretPosition => [row[column], row.name, row.user_id]);
}

/** Returns the names of the workspace's secrets. */
export async function readSecretNames(db: Db, workspaceId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('secrets')
    .select('name')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', '')
    .execute();
  return rows.map(({ name }) => name);
}

/**
 * Returns the values of those `names` that the workspace has. Throws a SealingError for a value that cannot be opened.
 */
export async function readSecretValues(
  db: Db,
  sealer: Sealer,
  { workspaceId, names }: { workspaceId: string; names: readonly string[] },
): Promise<{ [name: string]: string }> {
  const values: [string, string][] = [];
  for (let start = 0; start < names.length; start += CHUNK_SIZE) {
    const rows = await db
      .selectFrom('secrets')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where('user_id', '=', '')
      .where('name', 'in', names.slice(start, start + CHUNK_SIZE))
      .execute();
    for (const row of rows) values.push([row.name, openRow(sealer, row)]);
  }
  return Object.fromEntries(values);
}

function openRow(sealer: Sealer, row: SecretRow): string {
  return sealer.open({ keyId: row.key_id, sealed: row.sealed }, associatedDataOf(keyOfRow(row)));
}

/** Returns the ids of the keys that sealed the values of the table. */
export async function findSealingKeyIdsOfSecrets(db: Db): Promise<Set<string>> {
  const rows = await db.selectFrom('secrets').select('key_id').distinct().execute();
  return new Set(rows.map((row) => row.key_id));
}

/**
 * Finds up to `limit` values that are sealed with other keys, and seals them with the current key. Returns the number
 * of values found; 0 if the current key has sealed all. Skips a value that another caller has replaced in the meantime.
 */
export async function resealSecrets(db: Db, sealer: Sealer, limit: number): Promise<number> {
  const currentKeyId = sealer.currentKeyId();
  const rows = await db
    .selectFrom('secrets')
    .selectAll()
    .where('key_id', '!=', currentKeyId)
    .orderBy('workspace_id')
    .orderBy('user_id')
    .orderBy('name')
    .limit(limit)
    .execute();
  for (const row of rows) {
    const key = keyOfRow(row);
    const { keyId, sealed } = sealer.seal(openRow(sealer, row), associatedDataOf(key));
    await db
      .updateTable('secrets')
      .set({ key_id: keyId, sealed })
      .where('workspace_id', '=', key.workspaceId)
      .where('user_id', '=', key.userId)
      .where('name', '=', key.name)
      .where('sealed', '=', row.sealed)
      .execute();
  }
  return rows.length;
}
