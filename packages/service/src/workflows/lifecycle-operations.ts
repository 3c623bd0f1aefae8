import { randomUUID } from 'node:crypto';
import { isApiError } from '@heddle/api';
import { notFound, workspace } from '@heddle/api/areas';
import type { Call } from '@heddle/api/areas';
import {
  anyWorkflowResource,
  defineOperation,
  auditActions,
  databaseOf,
  currentTime,
  workflowResource,
  WRITE_FIELDS,
  WRITE_ERRORS,
} from './context.ts';
import type { WorkflowServices } from './context.ts';
import { findFreeName, withNewIds } from './duplicate.ts';
import { changeIfUnlocked } from './change.ts';
import { canonicalPath, requireFolder } from './folders.ts';
import type { Db } from './folders.ts';
import { readGraph, createGraph } from './graph.ts';
import * as schemas from './schemas.ts';
import { addWorkflow, archiveWorkflow, changeWorkflow, workflowNamesIn, unarchiveWorkflow } from './store.ts';
import { toListItems } from './views.ts';

const ONE_WORKFLOW_PROPERTIES = {
  resource: workflowResource,
  params: schemas.workflowPath,
  query: schemas.emptyObject,
} as const;

export const createWorkflow = defineOperation({
  ...WRITE_FIELDS,
  id: 'createWorkflowV2',
  ...auditActions('WORKFLOW_CREATED'),
  method: 'POST',
  path: '/api/v2/workflows',
  summary: 'Create a workflow',
  resource: workspace('body'),
  params: schemas.emptyObject,
  query: schemas.emptyObject,
  body: schemas.createBody,
  success: [
    { status: 201, schema: schemas.createdWorkflow, description: 'The workflow, with its start block' },
  ],
  errors: WRITE_ERRORS,
  async handle(services, { body, recordAudit }) {
    const { workspaceId, name, description = null } = body;
    const folderPath = canonicalPath(body.folderPath ?? '/');
    const graph = createGraph();
    const row = await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        const now = currentTime(services);
        const workflow = await addWorkflow(tx, { workspaceId, name, description, folderPath, graph, now });
        await recordAudit({ resourceId: workflow.id }, tx);
        return workflow;
      });
    const [item] = await toListItems(services, [row]);
    const blocks = Object.entries(graph.blocks).map(([id, { type, name: blockName }]) => ({
      id,
      type,
      name: blockName,
    }));
    return { status: 201, data: { ...item, blocks } };
  },
});

export const updateWorkflow = defineOperation({
  ...WRITE_FIELDS,
  ...ONE_WORKFLOW_PROPERTIES,
  id: 'updateWorkflowV2',
  ...auditActions('WORKFLOW_UPDATED'),
  method: 'PATCH',
  path: '/api/v2/workflows/{workflowId}',
  summary: 'Change the name, description or folder of a workflow',
  body: schemas.updateBody,
  success: [{ status: 200, schema: schemas.workflowItem, description: 'The workflow' }],
  errors: WRITE_ERRORS,
  async handle(services, { body, recordAudit }, row) {
    const folderPath = body.folderPath === undefined ? undefined : canonicalPath(body.folderPath);
    const write = async (tx: Db) => {
      const change = { ...body, folderPath };
      const changedRow = await changeWorkflow(tx, row, { change, now: currentTime(services) });
      await recordAudit({ resourceId: row.id }, tx);
      return changedRow;
    };
    const changedRow = await changeIfUnlocked(databaseOf(services), row.id, write, folderPath);
    return { data: (await toListItems(services, [changedRow]))[0] };
  },
});

export const deleteWorkflow = defineOperation({
  ...WRITE_FIELDS,
  ...ONE_WORKFLOW_PROPERTIES,
  id: 'deleteWorkflowV2',
  ...auditActions('WORKFLOW_ARCHIVED'),
  method: 'DELETE',
  path: '/api/v2/workflows/{workflowId}',
  summary: 'Archive a workflow',
  success: [{ status: 200, schema: schemas.deletedWorkflow, description: 'The workflow is archived' }],
  errors: [400, 401, 403, 404, 423, 429],
  async handle(services, { recordAudit }, row) {
    await changeIfUnlocked(databaseOf(services), row.id, async (tx) => {
      await archiveWorkflow(tx, row, currentTime(services));
      await services.triggers.stopArchivedTriggers(tx, {
        workspaceId: row.workspace_id,
        nowMs: services.now(),
      });
      await recordAudit({ resourceId: row.id }, tx);
    });
    services.triggers.notifyChanged();
    return { data: { id: row.id, deleted: true, archived: true } };
  },
});

export const restoreWorkflow = defineOperation({
  ...WRITE_FIELDS,
  ...ONE_WORKFLOW_PROPERTIES,
  id: 'restoreWorkflow',
  ...auditActions('WORKFLOW_RESTORED'),
  resource: anyWorkflowResource,
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/restore',
  summary: 'Restore an archived workflow',
  body: schemas.emptyObject,
  bodyOptional: true,
  success: [{ status: 200, schema: schemas.workflowItem, description: 'The workflow' }],
  errors: WRITE_ERRORS,
  async handle(services, { recordAudit }, row) {
    const restoredRow = await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        const restoredRow = await unarchiveWorkflow(tx, row, currentTime(services));
        await services.triggers.startRestoredTriggers(tx, { workflowId: row.id, nowMs: services.now() });
        await recordAudit({ resourceId: row.id }, tx);
        return restoredRow;
      });
    services.triggers.notifyChanged();
    return { data: (await toListItems(services, [restoredRow]))[0] };
  },
});

export const duplicateWorkflow = defineOperation({
  ...WRITE_FIELDS,
  ...ONE_WORKFLOW_PROPERTIES,
  id: 'duplicateWorkflow',
  ...auditActions('WORKFLOW_DUPLICATED'),
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/duplicate',
  summary: 'Copy the draft of a workflow to a new one',
  body: schemas.duplicateBody,
  bodyOptional: true,
  success: [{ status: 201, schema: schemas.workflowItem, description: 'The copy' }],
  errors: WRITE_ERRORS,
  async handle(services, { body, recordAudit }, source) {
    const { workspace_id: workspaceId, description } = source;
    // `body` is undefined if the request has no body, although its type does not say so.
    const options = body as typeof body | undefined;
    const folderPath =
      options?.folderPath === undefined ? source.folder_path : canonicalPath(options.folderPath);
    const draft = readGraph(source.state);
    // Other data of a draft, such as its dialect, is copied unchanged.
    const graph = { ...draft, ...withNewIds(draft, randomUUID) };
    const copy = await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        const name =
          options?.name ?? findFreeName(source.name, await workflowNamesIn(tx, workspaceId, folderPath));
        const now = currentTime(services);
        const workflow = await addWorkflow(tx, { workspaceId, name, description, folderPath, graph, now });
        await recordAudit({ resourceId: workflow.id, details: { source: source.id } }, tx);
        return workflow;
      });
    return { status: 201, data: (await toListItems(services, [copy]))[0] };
  },
});

export const moveWorkflows = defineOperation({
  ...WRITE_FIELDS,
  id: 'moveWorkflows',
  ...auditActions('WORKFLOW_MOVED'),
  method: 'POST',
  path: '/api/v2/workflows/move',
  summary: 'Move workflows to a folder',
  resource: workspace('body'),
  params: schemas.emptyObject,
  query: schemas.emptyObject,
  body: schemas.moveBody,
  success: [{ status: 200, schema: schemas.moveResult, description: 'What was moved, and what was not' }],
  errors: WRITE_ERRORS,
  async handle(services, { body, recordAudit }) {
    const { workspaceId, workflowIds } = body;
    const folderPath = canonicalPath(body.folderPath);
    await databaseOf(services)
      .transaction()
      .execute((tx) => requireFolder(tx, { workspaceId, path: folderPath }));
    const moved: string[] = [];
    const failed: { id: string; reason: string }[] = [];
    for (const id of new Set(workflowIds)) {
      const reason = await moveWorkflow(services, { id, workspaceId, folderPath }, recordAudit);
      if (reason === undefined) moved.push(id);
      else failed.push({ id, reason });
    }
    return { data: { moved, failed, folderPath } };
  },
});

interface Move {
  id: string;
  workspaceId: string;
  folderPath: string;
}

/** Moves one workflow. Returns why it could not be moved; undefined if it was. */
async function moveWorkflow(
  services: WorkflowServices,
  { id, workspaceId, folderPath }: Move,
  recordAudit: Call<never, never, never>['recordAudit'],
): Promise<string | undefined> {
  try {
    const db = databaseOf(services);
    const row = await db
      .selectFrom('workflows')
      .select(['id', 'workspace_id', 'name'])
      .where('id', '=', id)
      .where('workspace_id', '=', workspaceId)
      .where('archived_at', 'is', null)
      .executeTakeFirst();
    if (!row) throw notFound('Workflow');
    const write = async (tx: Db) => {
      await changeWorkflow(tx, row, { change: { folderPath }, now: currentTime(services) });
      await recordAudit({ resourceId: id, details: { folderPath } }, tx);
    };
    await changeIfUnlocked(db, id, write, folderPath);
    return undefined;
  } catch (error) {
    if (isApiError(error)) return error.message;
    throw error;
  }
}
