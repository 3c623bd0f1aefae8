import { randomUUID } from 'node:crypto';
import { ApiError } from '@heddle/api';
import type { JsonObject } from '@heddle/core';
import type { DraftGraph } from './containers.ts';
import { isUniqueViolation } from '../store/database.ts';
import type { WorkflowRow } from '../store/schema.ts';
import { findFreeName } from './duplicate.ts';
import { requireFolder } from './folders.ts';
import type { Db } from './folders.ts';
import { ROOT } from './folder-path.ts';

/** Maximum number of ids per statement, below the parameter limits of both databases. */
const CHUNK_SIZE = 500;

/** The data of a new workflow. */
export interface NewWorkflow {
  workspaceId: string;
  name: string;
  description: string | null;
  folderPath: string;
  graph: DraftGraph;
  now: string;
}

/**
 * Adds a workflow after the last one of its workspace. Throws 404 if the folder does not exist, 423 if the folder is
 * locked, and 409 if the folder has a workflow with the name.
 */
export async function addWorkflow(
  db: Db,
  { workspaceId, name, description, folderPath, graph, now }: NewWorkflow,
): Promise<WorkflowRow> {
  await requireFolder(db, { workspaceId, path: folderPath });
  const lastRow = await db
    .selectFrom('workflows')
    .select((eb) => eb.fn.max('position').as('position'))
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  const row: WorkflowRow = {
    id: randomUUID(),
    workspace_id: workspaceId,
    name,
    description,
    folder_path: folderPath,
    position: Number(lastRow?.position ?? 0) + 1,
    state: JSON.stringify(graph),
    active_version: null,
    deployed_at: null,
    public_api: 0,
    created_at: now,
    updated_at: now,
    archived_at: null,
  };
  await convertDuplicateNameError(name, () => db.insertInto('workflows').values(row).execute());
  const edgeIds = graph.edges.flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
  const ids = [...new Set([...Object.keys(graph.blocks), ...edgeIds])];
  for (let start = 0; start < ids.length; start += CHUNK_SIZE) {
    const rows = ids
      .slice(start, start + CHUNK_SIZE)
      .map((id) => ({ workspace_id: workspaceId, id, workflow_id: row.id }));
    await db.insertInto('graph_ids').values(rows).execute();
  }
  return row;
}

/** The new values of a workflow's metadata. */
export interface WorkflowChange {
  name?: string | undefined;
  description?: string | null | undefined;
  folderPath?: string | undefined;
}

/**
 * Changes the name, description and folder, in the transaction of `changeIfUnlocked`. Throws 404 if the new folder does
 * not exist, 423 if it is locked, and 409 if the folder has a workflow with the name.
 */
export async function changeWorkflow(
  db: Db,
  row: Pick<WorkflowRow, 'id' | 'workspace_id' | 'name'>,
  { change: { name, description, folderPath }, now }: { change: WorkflowChange; now: string },
): Promise<WorkflowRow> {
  if (folderPath !== undefined) await requireFolder(db, { workspaceId: row.workspace_id, path: folderPath });
  return convertDuplicateNameError(name ?? row.name, () =>
    db
      .updateTable('workflows')
      .set({
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description }),
        ...(folderPath !== undefined && { folder_path: folderPath }),
        updated_at: now,
      })
      .where('id', '=', row.id)
      .returningAll()
      .executeTakeFirstOrThrow(),
  );
}

/** Archives a workflow, in the transaction of `changeIfUnlocked`. */
export async function archiveWorkflow(db: Db, row: WorkflowRow, now: string): Promise<void> {
  await db
    .updateTable('workflows')
    .set({ archived_at: now, updated_at: now })
    .where('id', '=', row.id)
    .execute();
}

/**
 * Makes an archived workflow active again. Moves it to the root if its folder does not exist. Adds a number to its name
 * if another workflow of the folder has this name. Throws 409 if it is not archived, and 423 if the folder is locked.
 */
export async function unarchiveWorkflow(db: Db, row: WorkflowRow, now: string): Promise<WorkflowRow> {
  const folderPath = await findFolderOrRoot(db, row);
  const name = findFreeName(row.name, await workflowNamesIn(db, row.workspace_id, folderPath));
  const restoredRow = await convertDuplicateNameError(name, () =>
    db
      .updateTable('workflows')
      .set({ archived_at: null, updated_at: now, folder_path: folderPath, name })
      .where('id', '=', row.id)
      .where('archived_at', 'is not', null)
      .returningAll()
      .executeTakeFirst(),
  );
  if (!restoredRow) throw new ApiError(409, 'The workflow is not archived');
  return restoredRow;
}

/** Returns the names of the active workflows of a folder. */
export async function workflowNamesIn(db: Db, workspaceId: string, folderPath: string): Promise<Set<string>> {
  const rows = await db
    .selectFrom('workflows')
    .select('name')
    .where('workspace_id', '=', workspaceId)
    .where('folder_path', '=', folderPath)
    .where('archived_at', 'is', null)
    .execute();
  return new Set(rows.map(({ name }) => name));
}

/** Changes the variables of the currently stored draft, in the transaction of `changeIfUnlocked`. */
export async function changeVariables(
  db: Db,
  row: Pick<WorkflowRow, 'id'>,
  {
    change,
    now,
  }: { change: (variables: JsonObject) => { variables: JsonObject; changed: boolean }; now: string },
): Promise<{ variableCount: number; changed: boolean }> {
  const currentRow = await db
    .selectFrom('workflows')
    .select('state')
    .where('id', '=', row.id)
    .executeTakeFirstOrThrow();
  const graph = JSON.parse(currentRow.state) as DraftGraph;
  const { variables, changed } = change(graph.variables);
  if (changed) {
    const state = JSON.stringify({ ...graph, variables });
    await db.updateTable('workflows').set({ state, updated_at: now }).where('id', '=', row.id).execute();
  }
  return { variableCount: Object.keys(variables).length, changed };
}

async function findFolderOrRoot(db: Db, row: WorkflowRow): Promise<string> {
  try {
    await requireFolder(db, { workspaceId: row.workspace_id, path: row.folder_path });
    return row.folder_path;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return ROOT;
    throw error;
  }
}

/** Returns the result of `write`. Throws 409 if the folder already has a workflow with this name. */
async function convertDuplicateNameError<T>(name: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new ApiError(409, `The folder already has a workflow named "${name}"`);
  }
}
