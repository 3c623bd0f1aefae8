import { defineOperation } from '@heddle/api';
import type { AnyOperation } from '@heddle/api';
import { expectWorkflow, READ, READ_ERRORS } from '../workflows/context.ts';
import * as schemas from './schemas.ts';
import { Transfers } from './transfers.ts';
import type { TransferOptions } from './transfers.ts';

/** Returns the operations that export and import workflows. */
export function transferOperations(options: TransferOptions): readonly AnyOperation[] {
  const transfers = new Transfers(options);
  return [exportWorkflow(transfers)];
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
