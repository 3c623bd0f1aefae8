import { randomUUID } from 'node:crypto';
import { cursorCodec } from '../../cursor.ts';
import { conflict, notFound } from '../../errors.ts';
import { defineOperation } from '../../operation.ts';
import type { WorkflowRow } from '../../store/schema.ts';
import { noQuery, workflowPath } from '../shapes.ts';
import * as z from 'zod';
import { exported, graphOf, idsOf, readGraph, seededGraph } from './graph.ts';
import { lint } from './lint.ts';
import * as schemas from './schemas.ts';
import { activeVersion, itemsOf, needsRedeployment } from './views.ts';

const TAG = 'Workflows';
const READ = { scope: 'api:read', role: 'read', workspaceKeys: true } as const;
const WRITE = { scope: 'api:write', role: 'write', workspaceKeys: true } as const;

/** Narrows the workflow of an operation whose resource is one. */
export function expectWorkflow(workflow: WorkflowRow | undefined): WorkflowRow {
  if (!workflow) throw notFound('Workflow');
  return workflow;
}

export const listWorkflows = defineOperation({
  id: 'listWorkflows',
  method: 'GET',
  path: '/api/v2/workflows',
  tag: TAG,
  summary: 'List workflows',
  ...READ,
  resource: 'workspaceInQuery',
  params: z.strictObject({}),
  query: schemas.listQuery,
  success: [{ status: 200, schema: schemas.workflowItem, page: true, description: 'A page of workflows' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { query }) {
    const { cursor, scope, sortBy, limit } = query;
    const codec = cursorCodec(schemas.listPosition(sortBy));
    const after = codec.decode(cursor, query);
    const rows = await services.store.workflows.list({ ...query, archived: scope === 'archived', after });
    const page = await itemsOf(services, rows.slice(0, limit));
    const last = rows.length > limit ? page.at(-1) : undefined;
    if (!last) return { page, nextCursor: null };
    const value = sortBy === 'position' ? (rows[limit - 1]?.position ?? 0) : last[sortBy];
    return { page, nextCursor: codec.encode([value, last.id], query) };
  },
});

export const createWorkflow = defineOperation({
  id: 'createWorkflowV2',
  method: 'POST',
  path: '/api/v2/workflows',
  tag: TAG,
  summary: 'Create a workflow',
  ...WRITE,
  resource: 'workspaceInBody',
  params: z.strictObject({}),
  query: noQuery,
  body: schemas.createBody,
  success: [
    {
      status: 201,
      schema: schemas.createdWorkflow,
      description: 'The workflow, with its start block',
    },
  ],
  errors: [400, 401, 403, 404, 409, 413, 415, 429],
  async handle(services, { body, principal }) {
    const { store } = services;
    const folder = body.folderPath ?? '/';
    // There are no folders yet besides the root.
    if (folder !== '/') throw notFound('Folder');
    const graph = seededGraph();
    const now = new Date(services.now()).toISOString();
    const row: WorkflowRow = {
      id: randomUUID(),
      workspace_id: body.workspaceId,
      name: body.name,
      description: body.description ?? null,
      folder_path: folder,
      position: await store.workflows.nextPosition(body.workspaceId),
      state: JSON.stringify(graph),
      active_version: null,
      deployed_at: null,
      public_api: 0,
      created_at: now,
      updated_at: now,
      archived_at: null,
    };
    if (!(await store.workflows.create(row, idsOf(graph)))) {
      throw conflict(`The folder has a workflow named "${body.name}" already`);
    }
    const resource = { workspaceId: row.workspace_id, resourceType: 'workflow', resourceId: row.id };
    await store.audit.record({ action: 'WORKFLOW_CREATED', ...resource }, principal);
    const [item] = await itemsOf(services, [row]);
    const blocks = Object.entries(graph.blocks).map(([id, { type, name }]) => ({ id, type, name }));
    return { status: 201, data: { ...item, blocks } };
  },
});

export const getWorkflow = defineOperation({
  id: 'getWorkflow',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}',
  tag: TAG,
  summary: 'Get a workflow',
  ...READ,
  resource: 'workflow',
  archived: true,
  params: workflowPath,
  query: noQuery,
  success: [{ status: 200, schema: schemas.workflowDetail, description: 'The workflow' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, _call, workflow) {
    const row = expectWorkflow(workflow);
    const [item] = await itemsOf(services, [row]);
    const active = await activeVersion(services, row);
    return { data: { ...item, variables: readGraph(row.state).variables, inputs: inputsOf(active?.state) } };
  },
});

export const getWorkflowState = defineOperation({
  id: 'getWorkflowState',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/state',
  tag: TAG,
  summary: 'Get the draft graph',
  ...READ,
  resource: 'workflow',
  params: workflowPath,
  query: noQuery,
  success: [{ status: 200, schema: schemas.graph, description: 'The draft' }],
  errors: [400, 401, 403, 404, 429],
  handle(_services, _call, workflow) {
    return Promise.resolve({ data: readGraph(expectWorkflow(workflow).state) });
  },
});

export const replaceWorkflowState = defineOperation({
  id: 'replaceWorkflowState',
  method: 'PUT',
  path: '/api/v2/workflows/{workflowId}/state',
  tag: TAG,
  summary: 'Replace the draft graph',
  ...WRITE,
  workspaceKeys: false,
  resource: 'workflow',
  params: workflowPath,
  query: schemas.replaceQuery,
  body: schemas.graphBody,
  success: [{ status: 200, schema: schemas.replaceResult, description: 'The problems of the draft' }],
  errors: [400, 401, 403, 404, 409, 413, 415, 423, 429],
  async handle(services, { query, body, principal }, workflow) {
    const { store, compat } = services;
    const row = expectWorkflow(workflow);
    const { graph, warnings } = graphOf(body, readGraph(row.state));
    const state = JSON.stringify(graph);
    const ids = idsOf(graph);
    const foreign = query.dryRun
      ? await store.workflows.foreignIds(row, ids)
      : await store.workflows.replaceState(row, state, ids);
    if (foreign.length > 0) {
      throw conflict(`The graph has ids of another workflow: ${foreign.slice(0, 10).join(', ')}`);
    }
    if (!query.dryRun) {
      const resource = { workspaceId: row.workspace_id, resourceType: 'workflow', resourceId: row.id };
      await store.audit.record({ action: 'WORKFLOW_STATE_REPLACED', ...resource }, principal);
    }
    const active = await activeVersion(services, row);
    const needed = needsRedeployment(query.dryRun ? row : { ...row, state }, active);
    const report = lint(exported(row, graph), graph, compat);
    const result = { id: row.id, warnings, needsRedeployment: needed, dryRun: query.dryRun, lint: report };
    return { data: result };
  },
});

type Field = { name?: unknown; type?: unknown; description?: unknown };

/** Returns the input fields of the live version's trigger. */
function inputsOf(state: string | undefined): { name: string; type: string; description: string | null }[] {
  if (state === undefined) return [];
  const blocks = Object.values(readGraph(state).blocks) as {
    subBlocks?: { inputFormat?: { value?: unknown } };
  }[];
  const formats = blocks.map((block) => block.subBlocks?.inputFormat?.value);
  const fields = formats.find((value): value is Field[] => Array.isArray(value) && value.length > 0) ?? [];
  return fields.flatMap(({ name, type, description }) =>
    typeof name === 'string'
      ? [
          {
            name,
            type: typeof type === 'string' ? type : 'string',
            description: typeof description === 'string' ? description : null,
          },
        ]
      : [],
  );
}
