import { defineOperation } from '@heddle/api';
import type { AnyOperation } from '@heddle/api';
import { READ, READ_ERRORS, record, tablesOf, timeOf, WRITE, WRITE_ERRORS } from './context.ts';
import type { WorkflowServices } from './context.ts';
import { canonicalPath, createFolder, deleteFolder, listFolders, relocateFolder } from './folders.ts';
import * as schemas from './schemas.ts';
import type { FolderRow } from './tables.ts';

const PATH = '/api/v2/workflows/folders';
const SHARED = { path: PATH, params: schemas.none } as const;
const RESOURCE = { resourceType: 'workflow_folder' } as const;

/** Returns the operations of folders of workflows. */
export function folderOperations(services: WorkflowServices): readonly AnyOperation[] {
  return [list(services), create(services), relocate(services), remove(services)];
}

function list(services: WorkflowServices): AnyOperation {
  return defineOperation({
    ...READ,
    ...SHARED,
    id: 'listWorkflowsFolders',
    method: 'GET',
    summary: 'List the folders of workflows',
    resource: 'workspaceInQuery',
    query: schemas.foldersQuery,
    success: [{ status: 200, schema: schemas.folder, page: true, description: 'All folders that match' }],
    errors: [...READ_ERRORS, 413],
    async handle(_services, { query }) {
      const { workspaceId, parentPath, search, sortBy, sortOrder } = query;
      const parent = parentPath === undefined ? undefined : canonicalPath(parentPath);
      const text = search?.toLowerCase();
      const found = (await listFolders(tablesOf(services), workspaceId)).filter(
        (row) =>
          (parent === undefined || row.parent_path === parent) &&
          (text === undefined || row.name.toLowerCase().includes(text)),
      );
      const key = { name: 'name', createdAt: 'created_at', updatedAt: 'updated_at' } as const;
      const sign = sortOrder === 'asc' ? 1 : -1;
      const sorted = found.toSorted(
        (a, b) => sign * (compare(a[key[sortBy]], b[key[sortBy]]) || compare(a.path, b.path)),
      );
      return { page: sorted.map(shown), nextCursor: null };
    },
  });
}

function create(services: WorkflowServices): AnyOperation {
  return defineOperation({
    ...WRITE,
    ...SHARED,
    id: 'createWorkflowsFolder',
    method: 'POST',
    summary: 'Create a folder of workflows',
    resource: 'workspaceInBody',
    query: schemas.none,
    body: schemas.folderBody,
    success: [{ status: 201, schema: schemas.folder, description: 'The folder' }],
    errors: WRITE_ERRORS,
    async handle(_services, { body: { workspaceId, path: given }, principal }) {
      const path = canonicalPath(given);
      const row = await tablesOf(services)
        .transaction()
        .execute(async (tx) => {
          const made = await createFolder(tx, { workspaceId, path }, timeOf(services));
          await record(
            tx,
            { action: 'FOLDER_CREATED', workspaceId, resourceId: path, ...RESOURCE },
            principal,
          );
          return made;
        });
      return { status: 201, data: shown(row) };
    },
  });
}

function relocate(services: WorkflowServices): AnyOperation {
  return defineOperation({
    ...WRITE,
    ...SHARED,
    id: 'relocateWorkflowsFolder',
    method: 'PATCH',
    summary: 'Move or rename a folder of workflows',
    resource: 'workspaceInBody',
    query: schemas.none,
    body: schemas.relocateBody,
    success: [{ status: 200, schema: schemas.folder, description: 'The folder at its new path' }],
    errors: WRITE_ERRORS,
    async handle(_services, { body, principal }) {
      const { workspaceId } = body;
      const path = canonicalPath(body.path);
      const to = canonicalPath(body.destinationPath);
      const row = await tablesOf(services)
        .transaction()
        .execute(async (tx) => {
          const moved = await relocateFolder(tx, { workspaceId, path }, { to, now: timeOf(services) });
          const event = { action: 'FOLDER_MOVED', workspaceId, resourceId: to, details: { from: path } };
          await record(tx, { ...event, ...RESOURCE }, principal);
          return moved;
        });
      return { data: shown(row) };
    },
  });
}

function remove(services: WorkflowServices): AnyOperation {
  return defineOperation({
    ...WRITE,
    ...SHARED,
    id: 'deleteWorkflowsFolder',
    method: 'DELETE',
    summary: 'Delete a folder of workflows; its workflows are archived',
    resource: 'workspaceInQuery',
    query: schemas.deleteFolderQuery,
    success: [{ status: 200, schema: schemas.deletedFolder, description: 'What was deleted' }],
    errors: [...READ_ERRORS, 409, 423],
    async handle(_services, { query, principal }) {
      const { workspaceId } = query;
      const path = canonicalPath(query.path);
      const recursive = schemas.isYes(query.recursive);
      const deletedItems = await tablesOf(services)
        .transaction()
        .execute(async (tx) => {
          const items = await deleteFolder(tx, { workspaceId, path }, { recursive, now: timeOf(services) });
          const event = { action: 'FOLDER_DELETED', workspaceId, resourceId: path, details: items };
          await record(tx, { ...event, ...RESOURCE }, principal);
          return items;
        });
      return { data: { path, deleted: true, deletedItems } };
    },
  });
}

/** By code units: upper case before lower case, the same on both databases. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function shown(row: FolderRow) {
  return {
    name: row.name,
    path: row.path,
    parentPath: row.parent_path,
    locked: row.locked === 1,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
