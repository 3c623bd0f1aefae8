import { ApiError } from '@heddle/api';
import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import {
  FolderPathError,
  isInside,
  nameOfPath,
  parentPath,
  parseFolderPath,
  pathAndParents,
  relocated,
  ROOT,
} from './folder-path.ts';
import { countOf, isDuplicate } from '../store/database.ts';
import { isPostgres } from '../store/dialect.ts';
import type { FolderRow, WorkflowTables } from './tables.ts';

export type Db = Kysely<WorkflowTables>;

/** Maximum number of folders of a workspace. */
export const MAX_FOLDERS = 10_000;

/** A folder in a workspace, by its canonical path. */
export interface FolderKey {
  workspaceId: string;
  path: string;
}

/** Returns the canonical path, or throws 400. */
export function canonicalPath(input: string): string {
  try {
    return parseFolderPath(input);
  } catch (error) {
    if (error instanceof FolderPathError) throw new ApiError(400, error.message);
    throw error;
  }
}

/** Returns the folders of a workspace. Throws 413 if there are more than a tree may have. */
export async function listFolders(db: Db, workspaceId: string): Promise<FolderRow[]> {
  const rows = await db
    .selectFrom('workflow_folders')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .limit(MAX_FOLDERS + 1)
    .execute();
  if (rows.length > MAX_FOLDERS) throw tooMany();
  return rows;
}

/** Folders of a workspace, by their canonical paths. */
export interface FolderKeys {
  workspaceId: string;
  paths: readonly string[];
}

/** `read`: the folders do not change until the transaction ends. `change`: other transactions may not even read them. */
type Access = 'read' | 'change';

/**
 * Throws 404 for a folder that does not exist, and 423 if it or an ancestor is locked. The folder cannot be deleted
 * until the transaction ends.
 */
export async function expectFolder(db: Db, { workspaceId, path }: FolderKey): Promise<void> {
  await expectFolders(db, { workspaceId, paths: [path] }, 'read');
}

async function expectFolders(db: Db, keys: FolderKeys, access: Access): Promise<void> {
  const rows = await heldRows(db, keys, access);
  const found = new Set(rows.map(({ path }) => path));
  if (keys.paths.some((path) => path !== ROOT && !found.has(path)))
    throw new ApiError(404, 'Folder not found');
  for (const row of rows) expectNotLocked(row);
}

/**
 * Locks the rows of the existing folders and of their ancestors until the transaction ends. Throws 423 if one of them
 * is locked.
 */
export async function holdFolders(db: Db, keys: FolderKeys): Promise<void> {
  for (const row of await heldRows(db, keys, 'read')) expectNotLocked(row);
}

/** Locks rows in one statement in a fixed order, so that two transactions cannot deadlock. On SQLite a transaction locks all. */
async function heldRows(
  db: Db,
  { workspaceId, paths }: FolderKeys,
  access: Access,
): Promise<Pick<FolderRow, 'path' | 'locked'>[]> {
  const around = [...new Set(paths.flatMap(pathAndParents))];
  if (around.length === 0) return [];
  // Without a condition on `locked`: the statement would miss a row that becomes locked while it waits.
  return db
    .selectFrom('workflow_folders')
    .select(['path', 'locked'])
    .where('workspace_id', '=', workspaceId)
    .where('path', 'in', around)
    .orderBy('path')
    .$if(isPostgres(db), (query) => (access === 'read' ? query.forShare() : query.forUpdate()))
    .execute();
}

/** Adds a folder. Throws 404 if its parent does not exist, 409 if it exists, 413 for too many, 423. */
export async function createFolder(
  db: Db,
  { workspaceId, path }: FolderKey,
  now: string,
): Promise<FolderRow> {
  expectNotRoot(path);
  await expectFolder(db, { workspaceId, path: parentPath(path) });
  await expectFree(db, { workspaceId, path });
  const folders = db.selectFrom('workflow_folders').where('workspace_id', '=', workspaceId);
  if ((await countOf(folders)) >= MAX_FOLDERS) throw tooMany();
  const row: FolderRow = {
    workspace_id: workspaceId,
    path,
    parent_path: parentPath(path),
    name: nameOfPath(path),
    locked: 0,
    created_at: now,
    updated_at: now,
  };
  await unlessThere(path, () => db.insertInto('workflow_folders').values(row).execute());
  return row;
}

/** Moves or renames a folder with everything in it. Throws 400, 404, 409, 423. */
export async function relocateFolder(
  db: Db,
  { workspaceId, path }: FolderKey,
  { to, now }: { to: string; now: string },
): Promise<FolderRow> {
  expectNotRoot(path);
  expectNotRoot(to);
  if (path === to) throw new ApiError(400, 'destinationPath must differ from path');
  if (isInside(to, path)) {
    await expectFolders(db, { workspaceId, paths: [path] }, 'change');
    throw new ApiError(409, 'A folder cannot be moved into itself');
  }
  await expectFolders(db, { workspaceId, paths: [path, parentPath(to)] }, 'change');
  await expectFree(db, { workspaceId, path: to });
  const inside = await foldersInside(db, { workspaceId, path });
  for (const folder of inside) {
    expectNotLocked(folder);
    canonicalPath(relocated(folder.path, path, to));
  }
  const moved = (column: 'path' | 'parent_path' | 'folder_path') =>
    sql<string>`cast(${to} as text) || substr(${sql.ref(column)}, ${sql.lit(path.length + 1)})`;
  await db
    .updateTable('workflow_folders')
    .set({ path: moved('path'), parent_path: moved('parent_path') })
    .where('workspace_id', '=', workspaceId)
    .where(insideOf('path', path))
    .execute();
  const changed = { path: to, parent_path: parentPath(to), name: nameOfPath(to), updated_at: now };
  const row = await unlessThere(to, () =>
    db
      .updateTable('workflow_folders')
      .set(changed)
      .where('workspace_id', '=', workspaceId)
      .where('path', '=', path)
      .returningAll()
      .executeTakeFirstOrThrow(),
  );
  await db
    .updateTable('workflows')
    .set({ folder_path: moved('folder_path') })
    .where('workspace_id', '=', workspaceId)
    .where((or) => or.or([or('folder_path', '=', path), insideOf('folder_path', path)]))
    .execute();
  return row;
}

/** Numbers of deleted folders and archived workflows. */
export interface DeletedItems {
  folders: number;
  workflows: number;
}

/**
 * Deletes a folder. With `recursive`, the folders in it are deleted and its workflows archived. Archived workflows of the
 * folder belong to the root from then on. Throws 400, 404, 423, and 409 for a folder that is not empty.
 */
export async function deleteFolder(
  db: Db,
  { workspaceId, path }: FolderKey,
  { recursive, now }: { recursive: boolean; now: string },
): Promise<DeletedItems> {
  expectNotRoot(path);
  await expectFolders(db, { workspaceId, paths: [path] }, 'change');
  const inside = await foldersInside(db, { workspaceId, path });
  const inFolder = () =>
    db
      .updateTable('workflows')
      .where('workspace_id', '=', workspaceId)
      .where((or) => or.or([or('folder_path', '=', path), insideOf('folder_path', path)]));
  for (const folder of inside) expectNotLocked(folder);
  const archived = await inFolder()
    .set({ archived_at: now, updated_at: now, folder_path: ROOT })
    .where('archived_at', 'is', null)
    .executeTakeFirst();
  const workflows = Number(archived.numUpdatedRows);
  // The transaction is rolled back with this error.
  if (!recursive && inside.length + workflows > 0) {
    throw new ApiError(409, 'The folder is not empty: send recursive=true to delete its contents');
  }
  await inFolder().set({ folder_path: ROOT }).execute();
  await db
    .deleteFrom('workflow_folders')
    .where('workspace_id', '=', workspaceId)
    .where((or) => or.or([or('path', '=', path), insideOf('path', path)]))
    .execute();
  return { folders: inside.length + 1, workflows };
}

async function foldersInside(db: Db, { workspaceId, path }: FolderKey): Promise<FolderRow[]> {
  return db
    .selectFrom('workflow_folders')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where(insideOf('path', path))
    .execute();
}

/** Compares text, not a pattern: paths have `%` and `_` in them. */
function insideOf(column: 'path' | 'folder_path', outer: string) {
  return sql<boolean>`substr(${sql.ref(column)}, 1, ${sql.lit(outer.length + 1)}) = ${`${outer}/`}`;
}

async function expectFree(db: Db, { workspaceId, path }: FolderKey): Promise<void> {
  const taken = await db
    .selectFrom('workflow_folders')
    .select('path')
    .where('workspace_id', '=', workspaceId)
    .where('path', '=', path)
    .executeTakeFirst();
  if (taken) throw thereAlready(path);
}

/** Another process may have added the folder since `expectFree`. */
async function unlessThere<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw isDuplicate(error) ? thereAlready(path) : error;
  }
}

function thereAlready(path: string): ApiError {
  return new ApiError(409, `There is a folder "${path}" already`);
}

function expectNotRoot(path: string): void {
  if (path === ROOT) throw new ApiError(400, 'The root folder cannot be created, moved or deleted');
}

function expectNotLocked({ locked, path }: Pick<FolderRow, 'locked' | 'path'>): void {
  if (locked === 1) throw lockedError(path);
}

function lockedError(path: string): ApiError {
  return new ApiError(423, `The folder "${path}" is locked`, { details: { lock: 'folder' } });
}

function tooMany(): ApiError {
  return new ApiError(413, `A workspace has at most ${MAX_FOLDERS} folders`);
}
