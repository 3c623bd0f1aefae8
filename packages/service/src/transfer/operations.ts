import { ApiError, defineOperation } from '@heddle/api';
import type { AnyOperation } from '@heddle/api';
import { expectWorkflow, READ, READ_ERRORS, WRITE, WRITE_ERRORS } from '../workflows/context.ts';
import { receiptOperations } from './receipt-operations.ts';
import * as schemas from './schemas.ts';
import { Transfers } from './transfers.ts';
import type { TransferOptions } from './transfers.ts';

/** Returns the operations that export and import workflows. */
export function transferOperations(options: TransferOptions): readonly AnyOperation[] {
  const transfers = new Transfers(options);
  return [
    exportWorkflow(transfers),
    previewImport(transfers),
    importWorkflow(transfers),
    ...receiptOperations(transfers),
  ];
}

function exportWorkflow(transfers: Transfers): AnyOperation {
  return defineOperation({
    ...READ,
    id: 'exportWorkflow',
    method: 'GET',
    path: '/api/v2/workflows/{workflowId}/export',
    summary: 'Export a workflow without its secrets',
    resource: 'workflow',
    params: schemas.workflowPath,
    query: schemas.exportQuery,
    success: [{ status: 200, schema: schemas.exportPayload, description: 'The exported workflow' }],
    errors: READ_ERRORS,
    async handle(_api, { query, principal, head }, workflow) {
      const row = expectWorkflow(workflow);
      // HEAD tells whether the caller may export the workflow. Nothing is exported, so nothing is recorded.
      if (head) return { raw: new Response(null) };
      return { data: await transfers.export(row, query, principal) };
    },
  });
}

function previewImport(transfers: Transfers): AnyOperation {
  return defineOperation({
    ...WRITE,
    id: 'previewWorkflowImport',
    method: 'POST',
    path: '/api/v2/workflows/import/preview',
    summary: 'Show what an import would do',
    resource: 'workspaceInBody',
    params: schemas.none,
    query: schemas.none,
    body: schemas.previewBody,
    success: [
      { status: 200, schema: schemas.previewResult, description: 'The references and their targets' },
    ],
    errors: WRITE_ERRORS,
    async handle(_api, { body, principal }) {
      return { data: await transfers.preview(body, principal) };
    },
  });
}

function importWorkflow(transfers: Transfers): AnyOperation {
  return defineOperation({
    ...WRITE,
    id: 'importWorkflow',
    method: 'POST',
    path: '/api/v2/workflows/import',
    summary: 'Make a workflow of an exported file',
    resource: 'workspaceInBody',
    params: schemas.none,
    query: schemas.none,
    body: schemas.importBody,
    success: [
      {
        status: 201,
        schema: schemas.importResult,
        description: 'The workflow, and the report of a mapped import',
      },
    ],
    errors: WRITE_ERRORS,
    check: ({ body }) => expectWholeRequest(body),
    async handle(_api, { body, principal }) {
      return { status: 201, data: await transfers.import(body, principal) };
    },
  });
}

/** Throws 400 for a mapped import without a request id or a preview. */
function expectWholeRequest(body: schemas.ImportRequest): void {
  const { mappings, bindings, dependentValues, requestId, previewFingerprint } = body;
  const options = [mappings, bindings, dependentValues, requestId, previewFingerprint];
  if (options.every((option) => option === undefined)) return;
  if (requestId === undefined) throw new ApiError(400, 'Mapped imports require requestId');
  if (previewFingerprint === undefined) throw new ApiError(400, 'Mapped imports require previewFingerprint');
}
