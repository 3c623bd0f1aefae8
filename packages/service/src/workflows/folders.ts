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
import type { FolderRow, WorkflowTables } from './tables.ts';

export type Db = Kysely<WorkflowTables>;

/** Most folders of a workspace. */
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

/** Throws 404 for a folder that is not there, and 423 if it or one around it is locked. It stays until the transaction ends. */
export async function expectFolder(db: Db, { workspaceId, path }: FolderKey): Promise<void> {
  if (path === ROOT) return;
  // An update, so that no other transaction removes the folder meanwhile.
  const { numUpdatedRows } = await db
    .updateTable('workflow_folders')
    .set((eb) => ({ locked: eb.ref('locked') }))
    .where('workspace_id', '=', workspaceId)
    .where('path', '=', path)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw new ApiError(404, 'Folder not found');
  await expectUnlocked(db, { workspaceId, path });
}

/** Throws 423 if the folder or one around it is locked. */
export async function expectUnlocked(db: Db, { workspaceId, path }: FolderKey): Promise<void> {
  const around = pathAndParents(path);
  if (around.length === 0) return;
  const locked = await db
    .selectFrom('workflow_folders')
    .select('path')
    .where('workspace_id', '=', workspaceId)
    .where('path', 'in', around)
    .where('locked', '=', 1)
    .executeTakeFirst();
  if (locked) throw lockedError(locked.path);
}

/** Adds a folder. Throws 404 without the folder around it, 409 for one that is there, 413 for too many, 423. */
export async function createFolder(
  db: Db,
  { workspaceId, path }: FolderKey,
  now: string,
): Promise<FolderRow> {
  expectNotRoot(path);
  await expectFolder(db, { workspaceId, path: parentPath(path) });
  await expectFree(db, { workspaceId, path });
  const { count } = await db
    .selectFrom('workflow_folders')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow();
  if (Number(count) >= MAX_FOLDERS) throw tooMany();
  const row: FolderRow = {
    workspace_id: workspaceId,
    path,
    parent_path: parentPath(path),
    name: nameOfPath(path),
    locked: 0,
    created_at: now,
    updated_at: now,
  };
  await db.insertInto('workflow_folders').values(row).execute();
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
  await expectFolder(db, { workspaceId, path });
  if (isInside(to, path)) throw new ApiError(409, 'A folder cannot be moved into itself');
  await expectFolder(db, { workspaceId, path: parentPath(to) });
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
  const row = await db
    .updateTable('workflow_folders')
    .set(changed)
    .where('workspace_id', '=', workspaceId)
    .where('path', '=', path)
    .returningAll()
    .executeTakeFirstOrThrow();
  await db
    .updateTable('workflows')
    .set({ folder_path: moved('folder_path') })
    .where('workspace_id', '=', workspaceId)
    .where((or) => or.or([or('folder_path', '=', path), insideOf('folder_path', path)]))
    .execute();
  return row;
}

/** Numbers of what was deleted. */
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
  await expectFolder(db, { workspaceId, path });
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
    throw new ApiError(409, 'The folder is not empty: send recursive=true to delete what is in it');
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
  if (taken) throw new ApiError(409, `There is a folder "${path}" already`);
}

function expectNotRoot(path: string): void {
  if (path === ROOT) throw new ApiError(400, 'The root folder cannot be created, moved or deleted');
}

function expectNotLocked({ locked, path }: FolderRow): void {
  if (locked === 1) throw lockedError(path);
}

function lockedError(path: string): ApiError {
  return new ApiError(423, `The folder "${path}" is locked`, { details: { lock: 'folder' } });
}

function tooMany(): ApiError {
  return new ApiError(413, `A workspace has at most ${MAX_FOLDERS} folders`);
}
