import { ApiError } from '@heddle/api';
import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import {
  FolderPathError,
  isInside,
  nameOfPath,
  parentPath,
  parseFolderPath,
  pathAndAncestors,
  relocatePath,
  ROOT,
} from './folder-path.ts';
import { countOf, isUniqueViolation } from '../store/database.ts';
import { isPostgres } from '../store/dialect.ts';
import type { WorkflowRow } from '../store/schema.ts';
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

/** Returns the folders of a workspace. Throws 413 if there are more than `MAX_FOLDERS`. */
export async function listFolders(db: Db, workspaceId: string): Promise<FolderRow[]> {
  const rows = await db
    .selectFrom('workflow_folders')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .limit(MAX_FOLDERS + 1)
    .execute();
  if (rows.length > MAX_FOLDERS) throw tooManyFoldersError();
  return rows;
}

/** Folders of a workspace, by their canonical paths. */
export interface FolderPaths {
  workspaceId: string;
  paths: readonly string[];
}

/**
 * `read`: other transactions cannot change the folders until this transaction ends. `change`: other transactions cannot
 * lock the rows of the folders either.
 */
type LockMode = 'read' | 'change';

/**
 * Throws 404 for a folder that does not exist, and 423 if it or an ancestor is marked as locked. The folder cannot be
 * deleted until the transaction ends.
 */
export async function requireFolder(db: Db, { workspaceId, path }: FolderKey): Promise<void> {
  await requireFolders(db, { workspaceId, paths: [path] }, 'read');
}

async function requireFolders(db: Db, folders: FolderPaths, lockMode: LockMode): Promise<void> {
  const rows = await lockRows(db, folders, lockMode);
  const existingPaths = new Set(rows.map(({ path }) => path));
  if (folders.paths.some((path) => path !== ROOT && !existingPaths.has(path)))
    throw new ApiError(404, 'Folder not found');
  for (const row of rows) requireNotLocked(row);
}

/**
 * Takes row locks on the existing folders and their ancestors until the transaction ends. Throws 423 if one of these
 * folders is marked as locked.
 */
export async function lockFolders(db: Db, folders: FolderPaths): Promise<void> {
  for (const row of await lockRows(db, folders, 'read')) requireNotLocked(row);
}

/**
 * Throws 423 if a folder that contains the workflow is marked as locked. No other transaction can mark these folders as
 * locked until this one ends.
 */
export async function requireUnlocked(
  db: unknown,
  { workspace_id: workspaceId, folder_path: path }: Pick<WorkflowRow, 'workspace_id' | 'folder_path'>,
): Promise<void> {
  await lockFolders(db as Db, { workspaceId, paths: [path] });
}

/**
 * Locks rows in a fixed order, so that transactions cannot deadlock. On SQLite, a transaction locks the whole database.
 */
async function lockRows(
  db: Db,
  { workspaceId, paths }: FolderPaths,
  lockMode: LockMode,
): Promise<Pick<FolderRow, 'path' | 'locked'>[]> {
  const pathsToLock = [...new Set(paths.flatMap(pathAndAncestors))];
  if (pathsToLock.length === 0) return [];
  // The query has no condition on `locked`: it would miss a folder that is marked as locked while the query waits.
  return db
    .selectFrom('workflow_folders')
    .select(['path', 'locked'])
    .where('workspace_id', '=', workspaceId)
    .where('path', 'in', pathsToLock)
    .orderBy('path')
    .$if(isPostgres(db), (query) => (lockMode === 'read' ? query.forShare() : query.forUpdate()))
    .execute();
}

/**
 * Adds a folder. Throws 404 if its parent does not exist, 409 if the folder exists, 413 if the workspace has too many
 * folders, and 423 if an ancestor is locked.
 */
export async function createFolder(
  db: Db,
  { workspaceId, path }: FolderKey,
  now: string,
): Promise<FolderRow> {
  requireNotRoot(path);
  await requireFolder(db, { workspaceId, path: parentPath(path) });
  await requirePathFree(db, { workspaceId, path });
  const folderQuery = db.selectFrom('workflow_folders').where('workspace_id', '=', workspaceId);
  if ((await countOf(folderQuery)) >= MAX_FOLDERS) throw tooManyFoldersError();
  const row: FolderRow = {
    workspace_id: workspaceId,
    path,
    parent_path: parentPath(path),
    name: nameOfPath(path),
    locked: 0,
    created_at: now,
    updated_at: now,
  };
  await withDuplicateError(path, () => db.insertInto('workflow_folders').values(row).execute());
  return row;
}

/** Moves or renames a folder with everything in it. Throws 400, 404, 409 and 423. */
export async function relocateFolder(
  db: Db,
  { workspaceId, path }: FolderKey,
  { destinationPath, now }: { destinationPath: string; now: string },
): Promise<FolderRow> {
  requireNotRoot(path);
  requireNotRoot(destinationPath);
  if (path === destinationPath) throw new ApiError(400, 'destinationPath must differ from path');
  if (isInside(destinationPath, path)) {
    await requireFolders(db, { workspaceId, paths: [path] }, 'change');
    throw new ApiError(409, 'A folder cannot be moved into itself');
  }
  await requireFolders(db, { workspaceId, paths: [path, parentPath(destinationPath)] }, 'change');
  await requirePathFree(db, { workspaceId, path: destinationPath });
  const subfolders = await findFoldersInside(db, { workspaceId, path });
  for (const folder of subfolders) {
    requireNotLocked(folder);
    canonicalPath(relocatePath(folder.path, path, destinationPath));
  }
  const movedPath = (column: 'path' | 'parent_path' | 'folder_path') =>
    sql<string>`cast(${destinationPath} as text) || substr(${sql.ref(column)}, ${sql.lit(path.length + 1)})`;
  await db
    .updateTable('workflow_folders')
    .set({ path: movedPath('path'), parent_path: movedPath('parent_path') })
    .where('workspace_id', '=', workspaceId)
    .where(isInsideSql('path', path))
    .execute();
  const newValues = {
    path: destinationPath,
    parent_path: parentPath(destinationPath),
    name: nameOfPath(destinationPath),
    updated_at: now,
  };
  const row = await withDuplicateError(destinationPath, () =>
    db
      .updateTable('workflow_folders')
      .set(newValues)
      .where('workspace_id', '=', workspaceId)
      .where('path', '=', path)
      .returningAll()
      .executeTakeFirstOrThrow(),
  );
  await db
    .updateTable('workflows')
    .set({ folder_path: movedPath('folder_path') })
    .where('workspace_id', '=', workspaceId)
    .where((eb) => eb.or([eb('folder_path', '=', path), isInsideSql('folder_path', path)]))
    .execute();
  return row;
}

/** Numbers of deleted folders and archived workflows. */
export interface DeletedItems {
  folders: number;
  workflows: number;
}

/**
 * Deletes a folder. With `recursive`, the folders in it are deleted and its workflows archived. Archived workflows of
 * the folder belong to the root from then on. Throws 400, 404, 423, and 409 for a folder that is not empty.
 */
export async function deleteFolder(
  db: Db,
  { workspaceId, path }: FolderKey,
  { recursive, now }: { recursive: boolean; now: string },
): Promise<DeletedItems> {
  requireNotRoot(path);
  await requireFolders(db, { workspaceId, paths: [path] }, 'change');
  const subfolders = await findFoldersInside(db, { workspaceId, path });
  const updateWorkflows = () =>
    db
      .updateTable('workflows')
      .where('workspace_id', '=', workspaceId)
      .where((eb) => eb.or([eb('folder_path', '=', path), isInsideSql('folder_path', path)]));
  for (const folder of subfolders) requireNotLocked(folder);
  const archiveResult = await updateWorkflows()
    .set({ archived_at: now, updated_at: now, folder_path: ROOT })
    .where('archived_at', 'is', null)
    .executeTakeFirst();
  const workflows = Number(archiveResult.numUpdatedRows);
  // This error rolls the transaction back.
  if (!recursive && subfolders.length + workflows > 0) {
    throw new ApiError(409, 'The folder is not empty: send recursive=true to delete its contents');
  }
  await updateWorkflows().set({ folder_path: ROOT }).execute();
  await db
    .deleteFrom('workflow_folders')
    .where('workspace_id', '=', workspaceId)
    .where((eb) => eb.or([eb('path', '=', path), isInsideSql('path', path)]))
    .execute();
  return { folders: subfolders.length + 1, workflows };
}

async function findFoldersInside(db: Db, { workspaceId, path }: FolderKey): Promise<FolderRow[]> {
  return db
    .selectFrom('workflow_folders')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where(isInsideSql('path', path))
    .execute();
}

/** Returns a condition for paths inside a folder. It compares prefixes: in a LIKE pattern, `%` and `_` are special. */
function isInsideSql(column: 'path' | 'folder_path', outerPath: string) {
  return sql<boolean>`substr(${sql.ref(column)}, 1, ${sql.lit(outerPath.length + 1)}) = ${`${outerPath}/`}`;
}

async function requirePathFree(db: Db, { workspaceId, path }: FolderKey): Promise<void> {
  const existingRow = await db
    .selectFrom('workflow_folders')
    .select('path')
    .where('workspace_id', '=', workspaceId)
    .where('path', '=', path)
    .executeTakeFirst();
  if (existingRow) throw duplicateError(path);
}

/** Returns the result of `write`. Throws 409 if another process has added the folder since `requirePathFree`. */
async function withDuplicateError<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw isUniqueViolation(error) ? duplicateError(path) : error;
  }
}

function duplicateError(path: string): ApiError {
  return new ApiError(409, `There is a folder "${path}" already`);
}

function requireNotRoot(path: string): void {
  if (path === ROOT) throw new ApiError(400, 'The root folder cannot be created, moved or deleted');
}

function requireNotLocked({ locked, path }: Pick<FolderRow, 'locked' | 'path'>): void {
  if (locked === 1) throw lockedError(path);
}

function lockedError(path: string): ApiError {
  return new ApiError(423, `The folder "${path}" is locked`, { details: { lock: 'folder' } });
}

function tooManyFoldersError(): ApiError {
  return new ApiError(413, `A workspace has at most ${MAX_FOLDERS} folders`);
}
