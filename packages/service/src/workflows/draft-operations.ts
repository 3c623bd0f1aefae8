import { randomUUID } from 'node:crypto';
import { ApiError } from '@heddle/api';
import { badRequest, USER_PRINCIPALS } from '@heddle/api/areas';
import type { Json, JsonObject } from '@heddle/core';
import { changeIfUnlocked } from './change.ts';
import { parentIdOf } from './containers.ts';
import {
  defineOperation,
  defineChangeOperation,
  READ_FIELDS,
  READ_ERRORS,
  auditActions,
  databaseOf,
  currentTime,
  addableBlockTypes,
  workflowResource,
  WRITE_FIELDS,
  WRITE_ERRORS,
  replaceDraft,
} from './context.ts';
import type { WorkflowServices } from './context.ts';
import { applyOperations, DraftTooLargeError } from './edit/apply.ts';
import type { EditOutcome } from './edit/apply.ts';
import { stringOrDefault } from './edit/draft-editor.ts';
import { operationsBody } from './edit/schemas.ts';
import type { OperationsRequest } from './edit/schemas.ts';
import { readGraph } from './graph.ts';
import { removedBindings } from './lint/bindings.ts';
import { lint } from './lint/lint.ts';
import * as schemas from './schemas.ts';
import { changeVariables } from './store.ts';
import { findActiveVersion, needsRedeployment } from './views.ts';
import { applyVariables, VariableError, variablesBody } from './variables.ts';
import type { VariableOperation } from './variables.ts';

const ONE_WORKFLOW_PROPERTIES = { resource: workflowResource, params: schemas.workflowPath } as const;

export const applyWorkflowOperations = defineChangeOperation({
  ...WRITE_FIELDS,
  ...ONE_WORKFLOW_PROPERTIES,
  id: 'applyWorkflowOperations',
  ...auditActions('WORKFLOW_OPERATIONS_APPLIED'),
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/operations',
  summary: 'Edit the draft graph block by block',
  principals: USER_PRINCIPALS,
  query: schemas.dryRunQuery,
  body: operationsBody,
  success: [{ status: 200, schema: schemas.operationsResult, description: 'What was applied' }],
  errors: WRITE_ERRORS,
  async handle(services, { principal, query: { dryRun }, body, recordAudit }, row) {
    const { oldGraph, graph, outcome, state } = await replaceDraft(services, row, {
      edit(storedState) {
        const storedGraph = readGraph(storedState);
        const { graph: editedGraph, ...results } = applyAll(services, storedGraph, body);
        if (body.atomic) requireAllApplied(results);
        return { oldGraph: storedGraph, graph: { ...storedGraph, ...editedGraph }, outcome: results };
      },
      dryRun,
      recordAudit: (tx) => recordAudit({ resourceId: row.id }, tx),
      conflictMessage: 'The graph has ids of another workflow',
    });
    const liveVersion = await findActiveVersion(services, row);
    const newIds = Object.values(outcome.mintedBlockIds);
    return {
      data: {
        id: row.id,
        ...outcome,
        ...(dryRun && { previewBlockIds: newIds }),
        needsRedeployment: needsRedeployment(dryRun ? row : { ...row, state }, liveVersion),
        dryRun,
        lint: await lint(services, { row, principal }, graph),
        removedBindings: removedBindings(oldGraph, graph),
      },
    };
  },
});

function applyAll(
  services: WorkflowServices,
  graph: Parameters<typeof applyOperations>[0],
  request: OperationsRequest,
): EditOutcome {
  try {
    return applyOperations(graph, request, { types: addableBlockTypes(services), createId: randomUUID });
  } catch (error) {
    if (error instanceof DraftTooLargeError) throw badRequest(error.message);
    throw error;
  }
}

function requireAllApplied({ skipped, inputValidationErrors }: Omit<EditOutcome, 'graph'>): void {
  if (skipped.length + inputValidationErrors.length === 0) return;
  const details = { code: 'OPERATIONS_NOT_APPLIED', skipped, droppedInputs: inputValidationErrors };
  throw new ApiError(409, 'Not all operations can be applied, so none was applied', {
    details: details as unknown as Json,
  });
}

export const applyWorkflowVariables = defineOperation({
  ...WRITE_FIELDS,
  ...ONE_WORKFLOW_PROPERTIES,
  id: 'applyWorkflowVariables',
  ...auditActions('WORKFLOW_VARIABLES_CHANGED'),
  method: 'PATCH',
  path: '/api/v2/workflows/{workflowId}/variables',
  summary: 'Add, change and delete variables of the draft',
  query: schemas.emptyObject,
  body: variablesBody,
  success: [{ status: 200, schema: schemas.variablesResult, description: 'Whether anything changed' }],
  errors: WRITE_ERRORS,
  async handle(services, { body, recordAudit }, row) {
    const data = await changeIfUnlocked(databaseOf(services), row.id, async (tx) => {
      const change = (variables: JsonObject) => applyVariableOperations(variables, body.operations);
      const result = await changeVariables(tx, row, { change, now: currentTime(services) });
      if (result.changed) await recordAudit({ resourceId: row.id }, tx);
      return { id: row.id, ...result };
    });
    return { data };
  },
});

function applyVariableOperations(variables: JsonObject, operations: readonly VariableOperation[]) {
  try {
    return applyVariables(variables, operations, randomUUID);
  } catch (error) {
    if (error instanceof VariableError) throw badRequest(error.message);
    throw error;
  }
}

export const inspectWorkflow = defineOperation({
  ...READ_FIELDS,
  ...ONE_WORKFLOW_PROPERTIES,
  id: 'inspectWorkflow',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/inspect',
  summary: 'Get an overview of the draft and its problems',
  query: schemas.emptyObject,
  success: [{ status: 200, schema: schemas.inspection, description: 'The overview' }],
  errors: READ_ERRORS,
  async handle(services, { principal }, row) {
    const graph = readGraph(row.state);
    const liveVersion = await findActiveVersion(services, row);
    const blocks = Object.entries(graph.blocks).map(([id, block]) => ({
      id,
      type: stringOrDefault(block['type']),
      name: stringOrDefault(block['name']),
      enabled: block['enabled'] !== false,
      parentId: parentIdOf(block) ?? null,
    }));
    return {
      data: {
        id: row.id,
        name: row.name,
        isDeployed: liveVersion !== undefined,
        needsRedeployment: needsRedeployment(row, liveVersion),
        blockCount: blocks.length,
        edgeCount: graph.edges.length,
        variableCount: Object.keys(graph.variables).length,
        blocks,
        lint: await lint(services, { row, principal }, graph),
      },
    };
  },
});
