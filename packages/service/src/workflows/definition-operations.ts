import { USER_PRINCIPALS, cursorCodec, noQuery, workflowPath, workspace } from '@heddle/api/areas';
import * as z from 'zod';
import {
  READ_FIELDS,
  READ_ERRORS,
  WRITE_FIELDS,
  WRITE_ERRORS,
  anyWorkflowResource,
  defineOperation,
  defineChangeOperation,
  auditActions,
  workflowResource,
  replaceDraft,
} from './context.ts';
import { graphOf, readGraph } from './graph.ts';
import { formFieldsOf } from './input-fields.ts';
import { removedBindings } from './lint/bindings.ts';
import { lint } from './lint/lint.ts';
import * as schemas from './draft-schemas.ts';
import { findActiveVersion, toListItems, needsRedeployment } from './views.ts';

export const listWorkflows = defineOperation({
  id: 'listWorkflows',
  method: 'GET',
  path: '/api/v2/workflows',
  summary: 'List workflows',
  ...READ_FIELDS,
  resource: workspace('query'),
  params: z.strictObject({}),
  query: schemas.listQuery,
  success: [{ status: 200, schema: schemas.workflowItem, isPage: true, description: 'A page of workflows' }],
  errors: READ_ERRORS,
  async handle(services, { query }) {
    const { cursor, scope, sortBy, limit } = query;
    const codec = cursorCodec(schemas.listPosition(sortBy));
    const afterPosition = codec.decode(cursor, query);
    const rows = await services.store.workflows.list({
      ...query,
      archived: scope === 'archived',
      after: afterPosition,
    });
    const page = await toListItems(services, rows.slice(0, limit));
    const lastItem = rows.length > limit ? page.at(-1) : undefined;
    if (!lastItem) return { page, nextCursor: null };
    const value = sortBy === 'position' ? (rows[limit - 1]?.position ?? 0) : lastItem[sortBy];
    return { page, nextCursor: codec.encode([value, lastItem.id], query) };
  },
});

export const getWorkflow = defineOperation({
  id: 'getWorkflow',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}',
  summary: 'Get a workflow',
  ...READ_FIELDS,
  resource: anyWorkflowResource,
  params: workflowPath,
  query: noQuery,
  success: [{ status: 200, schema: schemas.workflowDetail, description: 'The workflow' }],
  errors: READ_ERRORS,
  async handle(services, _call, row) {
    const [item] = await toListItems(services, [row]);
    const liveVersion = await findActiveVersion(services, row);
    return {
      data: { ...item, variables: readGraph(row.state).variables, inputs: inputsOf(liveVersion?.state) },
    };
  },
});

export const getWorkflowState = defineOperation({
  id: 'getWorkflowState',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/state',
  summary: 'Get the draft graph',
  ...READ_FIELDS,
  resource: workflowResource,
  params: workflowPath,
  query: noQuery,
  success: [{ status: 200, schema: schemas.graph, description: 'The draft' }],
  errors: READ_ERRORS,
  handle(_services, _call, row) {
    // A draft can have metadata, which is not part of the graph.
    const { metadata: _metadata, ...graph } = readGraph(row.state);
    return Promise.resolve({ data: graph });
  },
});

export const replaceWorkflowState = defineChangeOperation({
  id: 'replaceWorkflowState',
  method: 'PUT',
  path: '/api/v2/workflows/{workflowId}/state',
  summary: 'Replace the draft graph',
  ...WRITE_FIELDS,
  principals: USER_PRINCIPALS,
  ...auditActions('WORKFLOW_STATE_REPLACED'),
  resource: workflowResource,
  params: workflowPath,
  query: schemas.replaceQuery,
  body: schemas.graphBody,
  success: [
    {
      status: 200,
      schema: schemas.replaceResult,
      description: 'The result of the replacement, with warnings and lint',
    },
  ],
  errors: WRITE_ERRORS,
  async handle(services, { principal, query, body, recordAudit }, row) {
    const { oldGraph, graph, warnings, state } = await replaceDraft(services, row, {
      edit(storedState) {
        const storedGraph = readGraph(storedState);
        return { oldGraph: storedGraph, ...graphOf(body, storedGraph) };
      },
      dryRun: query.dryRun,
      recordAudit: (tx) => recordAudit({ resourceId: row.id }, tx),
      conflictMessage: 'The graph has ids of another workflow',
    });
    const liveVersion = await findActiveVersion(services, row);
    const isOutdated = needsRedeployment(query.dryRun ? row : { ...row, state }, liveVersion);
    return {
      data: {
        ...{ id: row.id, warnings, needsRedeployment: isOutdated, dryRun: query.dryRun },
        lint: await lint(services, { row, principal }, graph),
        removedBindings: removedBindings(oldGraph, graph),
      },
    };
  },
});

/** Returns the input fields of the live version. */
function inputsOf(state: string | undefined) {
  if (state === undefined) return [];
  return formFieldsOf(state).map(({ name, type, description, isRequired }) => ({
    ...{ name, type, description },
    required: isRequired,
  }));
}
