import { randomUUID } from 'node:crypto';
import { ApiError, defineOperation } from '@heddle/api';
import { activeVersion, exported, idsOf, lint, needsRedeployment, readGraph } from '@heddle/api/drafts';
import type { AnyOperation } from '@heddle/api';
import type { WorkflowRow } from '@heddle/api/drafts';
import type { Json } from '@heddle/core';
import { parentIdOf } from './containers.ts';
import {
  expectWorkflow,
  READ,
  READ_ERRORS,
  record,
  tablesOf,
  timeOf,
  typesOf,
  WRITE,
  WRITE_ERRORS,
} from './context.ts';
import type { WorkflowServices } from './context.ts';
import { applyOperations, DraftTooLargeError } from './edit/apply.ts';
import type { EditOutcome } from './edit/apply.ts';
import { textOr } from './edit/draft-editor.ts';
import { operationsBody } from './edit/schemas.ts';
import type { OperationsRequest } from './edit/schemas.ts';
import { expectUnlocked } from './folders.ts';
import * as schemas from './schemas.ts';
import { changeVariables } from './store.ts';
import { applyVariables, VariableError, variablesBody } from './variables.ts';

const ONE = { resource: 'workflow', params: schemas.workflowPath } as const;
/** Ids that a conflict names. */
const SHOWN_IDS = 10;

/** Returns the operations that edit and inspect drafts. */
export function draftOperations(services: WorkflowServices): readonly AnyOperation[] {
  return [edit(services), variables(services), inspect()];
}

function edit(services: WorkflowServices): AnyOperation {
  return defineOperation({
    ...WRITE,
    ...ONE,
    id: 'applyWorkflowOperations',
    method: 'POST',
    path: '/api/v2/workflows/{workflowId}/operations',
    summary: 'Edit the draft graph block by block',
    workspaceKeys: false,
    query: schemas.dryRunQuery,
    body: operationsBody,
    success: [{ status: 200, schema: schemas.operationsResult, description: 'What was applied' }],
    errors: WRITE_ERRORS,
    async handle(api, { query: { dryRun }, body, principal }, workflow) {
      const row = expectWorkflow(workflow);
      await expectUnlocked(tablesOf(services), { workspaceId: row.workspace_id, path: row.folder_path });
      const before = readGraph(row.state);
      const { graph: edited, ...outcome } = applied(services, before, body);
      if (body.atomic) expectAllApplied(outcome);
      const graph = { ...before, ...edited };
      const state = JSON.stringify(graph);
      const { store } = api;
      const ids = idsOf(graph);
      const foreign = dryRun
        ? await store.workflows.foreignIds(row, ids)
        : await store.workflows.replaceState(row, state, ids);
      if (foreign.length > 0) {
        const some = foreign.slice(0, SHOWN_IDS).join(', ');
        throw new ApiError(409, `The graph has ids of another workflow: ${some}`);
      }
      if (!dryRun) {
        const resource = { workspaceId: row.workspace_id, resourceId: row.id };
        await record(tablesOf(services), { action: 'WORKFLOW_OPERATIONS_APPLIED', ...resource }, principal);
      }
      const active = await activeVersion(api, row);
      const minted = Object.values(outcome.mintedBlockIds);
      return {
        data: {
          id: row.id,
          ...outcome,
          ...(dryRun && { previewBlockIds: minted }),
          needsRedeployment: needsRedeployment(dryRun ? row : { ...row, state }, active),
          dryRun,
          lint: lint(exported(row, graph), graph, api.compat),
        },
      };
    },
  });
}

function applied(
  services: WorkflowServices,
  graph: Parameters<typeof applyOperations>[0],
  request: OperationsRequest,
): EditOutcome {
  try {
    return applyOperations(graph, request, { types: typesOf(services), newId: randomUUID });
  } catch (error) {
    if (error instanceof DraftTooLargeError) throw new ApiError(400, error.message);
    throw error;
  }
}

function expectAllApplied({ skipped, inputValidationErrors }: Omit<EditOutcome, 'graph'>): void {
  if (skipped.length + inputValidationErrors.length === 0) return;
  const details = { code: 'OPERATIONS_NOT_APPLIED', skipped, droppedInputs: inputValidationErrors };
  throw new ApiError(409, 'Not all operations can be applied, so none was', {
    details: details as unknown as Json,
  });
}

function variables(services: WorkflowServices): AnyOperation {
  return defineOperation({
    ...WRITE,
    ...ONE,
    id: 'applyWorkflowVariables',
    method: 'PATCH',
    path: '/api/v2/workflows/{workflowId}/variables',
    summary: 'Add, change and delete variables of the draft',
    query: schemas.none,
    body: variablesBody,
    success: [{ status: 200, schema: schemas.variablesResult, description: 'Whether anything changed' }],
    errors: WRITE_ERRORS,
    async handle(_api, { body, principal }, workflow) {
      const row = expectWorkflow(workflow);
      const data = await tablesOf(services)
        .transaction()
        .execute(async (tx) => {
          await expectUnlocked(tx, { workspaceId: row.workspace_id, path: row.folder_path });
          const change = (before: Parameters<typeof applyVariables>[0]) => changed(before, body.operations);
          const result = await changeVariables(tx, row, { change, now: timeOf(services) });
          const resource = { workspaceId: row.workspace_id, resourceId: row.id };
          if (result.changed)
            await record(tx, { action: 'WORKFLOW_VARIABLES_CHANGED', ...resource }, principal);
          return { id: row.id, ...result };
        });
      return { data };
    },
  });
}

function changed(
  ...[before, operations]: [Parameters<typeof applyVariables>[0], Parameters<typeof applyVariables>[1]]
) {
  try {
    return applyVariables(before, operations, randomUUID);
  } catch (error) {
    if (error instanceof VariableError) throw new ApiError(400, error.message);
    throw error;
  }
}

function inspect(): AnyOperation {
  return defineOperation({
    ...READ,
    ...ONE,
    id: 'inspectWorkflow',
    method: 'GET',
    path: '/api/v2/workflows/{workflowId}/inspect',
    summary: 'Get an overview of the draft and its problems',
    query: schemas.none,
    success: [{ status: 200, schema: schemas.inspection, description: 'The overview' }],
    errors: READ_ERRORS,
    async handle(api, _call, workflow) {
      const row: WorkflowRow = expectWorkflow(workflow);
      const graph = readGraph(row.state);
      const active = await activeVersion(api, row);
      const blocks = Object.entries(graph.blocks).map(([id, block]) => ({
        id,
        type: textOr(block['type']),
        name: textOr(block['name']),
        enabled: block['enabled'] !== false,
        parentId: parentIdOf(block) ?? null,
      }));
      return {
        data: {
          id: row.id,
          name: row.name,
          isDeployed: active !== undefined,
          needsRedeployment: needsRedeployment(row, active),
          blockCount: blocks.length,
          edgeCount: graph.edges.length,
          variableCount: Object.keys(graph.variables).length,
          blocks,
          lint: lint(exported(row, graph), graph, api.compat),
        },
      };
    },
  });
}
