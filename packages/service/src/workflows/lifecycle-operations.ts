import { randomUUID } from 'node:crypto';
import { ApiError, defineOperation, isApiError } from '@heddle/api';
import { itemsOf, readGraph, seededGraph } from '@heddle/api/drafts';
import type { AnyOperation, Principal } from '@heddle/api';
import { expectWorkflow, record, tablesOf, timeOf, WRITE, WRITE_ERRORS } from './context.ts';
import type { WorkflowServices } from './context.ts';
import { freeName, withNewIds } from './duplicate.ts';
import { canonicalPath, expectFolder } from './folders.ts';
import * as schemas from './schemas.ts';
import { addWorkflow, archiveWorkflow, changeWorkflow, namesIn, restoreWorkflow } from './store.ts';

const ONE = { resource: 'workflow', params: schemas.workflowPath, query: schemas.none } as const;

/** Returns the operations that create, change, archive, copy and move workflows. */
export function lifecycleOperations(services: WorkflowServices): readonly AnyOperation[] {
  return [
    create(services),
    move(services),
    update(services),
    archive(services),
    restore(services),
    duplicate(services),
  ];
}

function create(services: WorkflowServices): AnyOperation {
  return defineOperation({
    ...WRITE,
    id: 'createWorkflowV2',
    method: 'POST',
    path: '/api/v2/workflows',
    summary: 'Create a workflow',
    resource: 'workspaceInBody',
    params: schemas.none,
    query: schemas.none,
    body: schemas.createBody,
    success: [
      { status: 201, schema: schemas.createdWorkflow, description: 'The workflow, with its start block' },
    ],
    errors: WRITE_ERRORS,
    async handle(api, { body, principal }) {
      const { workspaceId, name, description = null } = body;
      const folderPath = canonicalPath(body.folderPath ?? '/');
      const graph = seededGraph();
      const row = await tablesOf(services)
        .transaction()
        .execute(async (tx) => {
          const now = timeOf(services);
          const made = await addWorkflow(tx, { workspaceId, name, description, folderPath, graph, now });
          await record(tx, { action: 'WORKFLOW_CREATED', workspaceId, resourceId: made.id }, principal);
          return made;
        });
      const [item] = await itemsOf(api, [row]);
      const blocks = Object.entries(graph.blocks).map(([id, { type, name: of }]) => ({ id, type, name: of }));
      return { status: 201, data: { ...item, blocks } };
    },
  });
}

function update(services: WorkflowServices): AnyOperation {
  return defineOperation({
    ...WRITE,
    ...ONE,
    id: 'updateWorkflowV2',
    method: 'PATCH',
    path: '/api/v2/workflows/{workflowId}',
    summary: 'Change the name, description or folder of a workflow',
    body: schemas.updateBody,
    success: [{ status: 200, schema: schemas.workflowItem, description: 'The workflow' }],
    errors: WRITE_ERRORS,
    async handle(api, { body, principal }, workflow) {
      const row = expectWorkflow(workflow);
      const folderPath = body.folderPath === undefined ? undefined : canonicalPath(body.folderPath);
      const changed = await tablesOf(services)
        .transaction()
        .execute(async (tx) => {
          const change = { ...body, folderPath };
          const next = await changeWorkflow(tx, row, { change, now: timeOf(services) });
          const resource = { workspaceId: row.workspace_id, resourceId: row.id };
          await record(tx, { action: 'WORKFLOW_UPDATED', ...resource }, principal);
          return next;
        });
      return { data: (await itemsOf(api, [changed]))[0] };
    },
  });
}

function archive(services: WorkflowServices): AnyOperation {
  return defineOperation({
    ...WRITE,
    ...ONE,
    id: 'deleteWorkflowV2',
    method: 'DELETE',
    path: '/api/v2/workflows/{workflowId}',
    summary: 'Archive a workflow',
    success: [{ status: 200, schema: schemas.deletedWorkflow, description: 'The workflow is archived' }],
    errors: [400, 401, 403, 404, 423, 429],
    async handle(_api, { principal }, workflow) {
      const row = expectWorkflow(workflow);
      await tablesOf(services)
        .transaction()
        .execute(async (tx) => {
          await archiveWorkflow(tx, row, timeOf(services));
          const resource = { workspaceId: row.workspace_id, resourceId: row.id };
          await record(tx, { action: 'WORKFLOW_ARCHIVED', ...resource }, principal);
        });
      return { data: { id: row.id, deleted: true, archived: true } };
    },
  });
}

function restore(services: WorkflowServices): AnyOperation {
  return defineOperation({
    ...WRITE,
    ...ONE,
    id: 'restoreWorkflow',
    method: 'POST',
    path: '/api/v2/workflows/{workflowId}/restore',
    summary: 'Restore an archived workflow',
    archived: true,
    body: schemas.none,
    bodyOptional: true,
    success: [{ status: 200, schema: schemas.workflowItem, description: 'The workflow' }],
    errors: WRITE_ERRORS,
    async handle(api, { principal }, workflow) {
      const row = expectWorkflow(workflow);
      const restored = await tablesOf(services)
        .transaction()
        .execute(async (tx) => {
          const active = await restoreWorkflow(tx, row, timeOf(services));
          const resource = { workspaceId: row.workspace_id, resourceId: row.id };
          await record(tx, { action: 'WORKFLOW_RESTORED', ...resource }, principal);
          return active;
        });
      return { data: (await itemsOf(api, [restored]))[0] };
    },
  });
}

function duplicate(services: WorkflowServices): AnyOperation {
  return defineOperation({
    ...WRITE,
    ...ONE,
    id: 'duplicateWorkflow',
    method: 'POST',
    path: '/api/v2/workflows/{workflowId}/duplicate',
    summary: 'Copy the draft of a workflow to a new one',
    body: schemas.duplicateBody,
    bodyOptional: true,
    success: [{ status: 201, schema: schemas.workflowItem, description: 'The copy' }],
    errors: WRITE_ERRORS,
    async handle(api, { body, principal }, workflow) {
      const source = expectWorkflow(workflow);
      const { workspace_id: workspaceId, description } = source;
      // An optional body that is absent may be undefined.
      const given = body as typeof body | undefined;
      const folderPath =
        given?.folderPath === undefined ? source.folder_path : canonicalPath(given.folderPath);
      const before = readGraph(source.state);
      // What a draft has besides its parts, such as its dialect, is copied as it is.
      const graph = { ...before, ...withNewIds(before, randomUUID) };
      const copy = await tablesOf(services)
        .transaction()
        .execute(async (tx) => {
          const name = given?.name ?? freeName(source.name, await namesIn(tx, workspaceId, folderPath));
          const now = timeOf(services);
          const made = await addWorkflow(tx, { workspaceId, name, description, folderPath, graph, now });
          const event = { action: 'WORKFLOW_DUPLICATED', workspaceId, resourceId: made.id };
          await record(tx, { ...event, details: { source: source.id } }, principal);
          return made;
        });
      return { status: 201, data: (await itemsOf(api, [copy]))[0] };
    },
  });
}

function move(services: WorkflowServices): AnyOperation {
  return defineOperation({
    ...WRITE,
    id: 'moveWorkflows',
    method: 'POST',
    path: '/api/v2/workflows/move',
    summary: 'Move workflows to a folder',
    resource: 'workspaceInBody',
    params: schemas.none,
    query: schemas.none,
    body: schemas.moveBody,
    success: [{ status: 200, schema: schemas.moveResult, description: 'What was moved, and what was not' }],
    errors: WRITE_ERRORS,
    async handle(_api, { body, principal }) {
      const { workspaceId, workflowIds } = body;
      const folderPath = canonicalPath(body.folderPath);
      await tablesOf(services)
        .transaction()
        .execute((tx) => expectFolder(tx, { workspaceId, path: folderPath }));
      const moved: string[] = [];
      const failed: { id: string; reason: string }[] = [];
      for (const id of new Set(workflowIds)) {
        const reason = await moveOne(services, { id, workspaceId, folderPath }, principal);
        if (reason === undefined) moved.push(id);
        else failed.push({ id, reason });
      }
      return { data: { moved, failed, folderPath } };
    },
  });
}

interface Move {
  id: string;
  workspaceId: string;
  folderPath: string;
}

/** Moves one workflow. Returns why it could not be moved; undefined if it was. */
async function moveOne(
  services: WorkflowServices,
  { id, workspaceId, folderPath }: Move,
  principal: Principal,
): Promise<string | undefined> {
  try {
    await tablesOf(services)
      .transaction()
      .execute(async (tx) => {
        const row = await tx
          .selectFrom('workflows')
          .select(['id', 'workspace_id', 'folder_path', 'name'])
          .where('id', '=', id)
          .where('workspace_id', '=', workspaceId)
          .where('archived_at', 'is', null)
          .executeTakeFirst();
        if (!row) throw new ApiError(404, 'Workflow not found');
        await changeWorkflow(tx, row, { change: { folderPath }, now: timeOf(services) });
        const event = { action: 'WORKFLOW_MOVED', workspaceId, resourceId: id, details: { folderPath } };
        await record(tx, event, principal);
      });
    return undefined;
  } catch (error) {
    if (isApiError(error)) return error.message;
    throw error;
  }
}
