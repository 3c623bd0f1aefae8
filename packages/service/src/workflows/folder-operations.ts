import { workspace } from '@heddle/api/areas';
import {
  defineOperation,
  READ_FIELDS,
  READ_ERRORS,
  databaseOf,
  currentTime,
  WRITE_FIELDS,
  WRITE_ERRORS,
} from './context.ts';
import { canonicalPath, createFolder, deleteFolder, listFolders, relocateFolder } from './folders.ts';
import * as schemas from './schemas.ts';
import type { FolderRow } from './tables.ts';

const PATH = '/api/v2/workflows/folders';
const SHARED_PROPERTIES = { path: PATH, params: schemas.emptyObject } as const;

export const listWorkflowFolders = defineOperation({
  ...READ_FIELDS,
  ...SHARED_PROPERTIES,
  id: 'listWorkflowsFolders',
  method: 'GET',
  summary: 'List the folders of workflows',
  resource: workspace('query'),
  query: schemas.foldersQuery,
  success: [{ status: 200, schema: schemas.folder, isPage: true, description: 'All folders that match' }],
  errors: [...READ_ERRORS, 413],
  async handle(services, { query }) {
    const { workspaceId, parentPath, search, sortBy, sortOrder } = query;
    const parent = parentPath === undefined ? undefined : canonicalPath(parentPath);
    const text = search?.toLowerCase();
    const matches = (await listFolders(databaseOf(services), workspaceId)).filter(
      (row) =>
        (parent === undefined || row.parent_path === parent) &&
        (text === undefined || row.name.toLowerCase().includes(text)),
    );
    const columns = { name: 'name', createdAt: 'created_at', updatedAt: 'updated_at' } as const;
    const sign = sortOrder === 'asc' ? 1 : -1;
    const sortedFolders = matches.toSorted(
      (a, b) => sign * (compare(a[columns[sortBy]], b[columns[sortBy]]) || compare(a.path, b.path)),
    );
    return { page: sortedFolders.map(viewOf), nextCursor: null };
  },
});

export const createWorkflowFolder = defineOperation({
  ...WRITE_FIELDS,
  ...SHARED_PROPERTIES,
  id: 'createWorkflowsFolder',
  audit: { resourceType: 'workflow_folder', actions: ['FOLDER_CREATED'] },
  method: 'POST',
  summary: 'Create a folder of workflows',
  resource: workspace('body'),
  query: schemas.emptyObject,
  body: schemas.folderBody,
  success: [{ status: 201, schema: schemas.folder, description: 'The folder' }],
  errors: WRITE_ERRORS,
  async handle(services, { body: { workspaceId, path: requestedPath }, recordAudit }) {
    const path = canonicalPath(requestedPath);
    const row = await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        const folder = await createFolder(tx, { workspaceId, path }, currentTime(services));
        await recordAudit({ resourceId: path }, tx);
        return folder;
      });
    return { status: 201, data: viewOf(row) };
  },
});

export const relocateWorkflowFolder = defineOperation({
  ...WRITE_FIELDS,
  ...SHARED_PROPERTIES,
  id: 'relocateWorkflowsFolder',
  audit: { resourceType: 'workflow_folder', actions: ['FOLDER_MOVED'] },
  method: 'PATCH',
  summary: 'Move or rename a folder of workflows',
  resource: workspace('body'),
  query: schemas.emptyObject,
  body: schemas.relocateBody,
  success: [{ status: 200, schema: schemas.folder, description: 'The folder at its new path' }],
  errors: WRITE_ERRORS,
  async handle(services, { body, recordAudit }) {
    const { workspaceId } = body;
    const path = canonicalPath(body.path);
    const destinationPath = canonicalPath(body.destinationPath);
    const row = await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        const movedFolder = await relocateFolder(
          tx,
          { workspaceId, path },
          { destinationPath, now: currentTime(services) },
        );
        await recordAudit({ resourceId: destinationPath, details: { from: path } }, tx);
        return movedFolder;
      });
    return { data: viewOf(row) };
  },
});

export const deleteWorkflowFolder = defineOperation({
  ...WRITE_FIELDS,
  ...SHARED_PROPERTIES,
  id: 'deleteWorkflowsFolder',
  audit: { resourceType: 'workflow_folder', actions: ['FOLDER_DELETED'] },
  method: 'DELETE',
  summary: 'Delete a folder of workflows; its workflows are archived',
  resource: workspace('query'),
  query: schemas.deleteFolderQuery,
  success: [{ status: 200, schema: schemas.deletedFolder, description: 'What was deleted' }],
  errors: [...READ_ERRORS, 409, 423],
  async handle(services, { query, recordAudit }) {
    const { workspaceId } = query;
    const path = canonicalPath(query.path);
    const recursive = schemas.isRecursive(query.recursive);
    const deletedItems = await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        const items = await deleteFolder(
          tx,
          { workspaceId, path },
          { recursive, now: currentTime(services) },
        );
        await services.triggers.stopArchivedTriggers(tx, { workspaceId, nowMs: services.now() });
        await recordAudit({ resourceId: path, details: items }, tx);
        return items;
      });
    services.triggers.notifyChanged();
    return { data: { path, deleted: true, deletedItems } };
  },
});

/** Compares by code units: upper case is before lower case. The order is the same on SQLite and PostgreSQL. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function viewOf(row: FolderRow) {
  return {
    name: row.name,
    path: row.path,
    parentPath: row.parent_path,
    locked: row.locked === 1,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
