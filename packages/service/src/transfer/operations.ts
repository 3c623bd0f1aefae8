import { badRequest, cursorCodec, notFound, operationFactory, workspace } from '@heddle/api/areas';
import {
  READ_FIELDS,
  READ_ERRORS,
  WRITE_FIELDS,
  WRITE_ERRORS,
  auditActions,
  workflowResource,
} from '../workflows/context.ts';
import type { WorkflowServices } from '../workflows/context.ts';
import * as schemas from './schemas.ts';
import type { Transfers } from './transfers.ts';

/** Dependencies of the operations that export and import workflows. */
export interface TransferServices extends Pick<WorkflowServices, 'store'> {
  transfers: Transfers;
}

const defineOperation = operationFactory<TransferServices>();
const IMPORT_FIELDS = {
  ...WRITE_FIELDS,
  method: 'POST',
  params: schemas.emptyObject,
  query: schemas.emptyObject,
  errors: WRITE_ERRORS,
} as const;
const RECEIPT_FIELDS = { ...READ_FIELDS, tag: 'Operations', method: 'GET', errors: READ_ERRORS } as const;
const positionCodec = cursorCodec(schemas.receiptPosition);

export const exportWorkflow = defineOperation({
  ...READ_FIELDS,
  ...auditActions('WORKFLOW_EXPORTED'),
  id: 'exportWorkflow',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/export',
  summary: 'Export a workflow without its secrets',
  resource: workflowResource,
  params: schemas.workflowPath,
  query: schemas.exportQuery,
  success: [{ status: 200, schema: schemas.exportPayload, description: 'The exported workflow' }],
  errors: READ_ERRORS,
  async handle({ transfers }, { query, recordAudit, isHead }, row) {
    // HEAD tells whether the caller may export the workflow. Nothing is exported, so nothing is recorded.
    if (isHead) return { raw: new Response(null) };
    return { data: await transfers.export(row, query, recordAudit) };
  },
});

export const previewWorkflowImport = defineOperation({
  ...IMPORT_FIELDS,
  id: 'previewWorkflowImport',
  path: '/api/v2/workflows/import/preview',
  summary: 'Show what an import would do',
  resource: workspace('body'),
  body: schemas.previewBody,
  success: [{ status: 200, schema: schemas.previewResult, description: 'The references and their targets' }],
  async handle({ transfers }, { body, principal }) {
    return { data: await transfers.preview(body, principal) };
  },
});

export const importWorkflow = defineOperation({
  ...IMPORT_FIELDS,
  ...auditActions('WORKFLOW_IMPORTED'),
  id: 'importWorkflow',
  path: '/api/v2/workflows/import',
  summary: 'Create a workflow from an exported file',
  resource: workspace('body'),
  body: schemas.importBody,
  success: [
    {
      status: 201,
      schema: schemas.importResult,
      description: 'The workflow, and the report of a mapped import',
    },
  ],
  check: ({ body }) => requireComplete(body),
  async handle({ transfers }, { body, principal, recordAudit }) {
    return { status: 201, data: await transfers.import(body, { principal, recordAudit }) };
  },
});

/** Throws 400 if an import has any of the options of mapped imports, but lacks the request id or the fingerprint. */
function requireComplete(body: schemas.ImportRequest): void {
  const { mappings, bindings, dependentValues, requestId, previewFingerprint } = body;
  const options = [mappings, bindings, dependentValues, requestId, previewFingerprint];
  if (options.every((option) => option === undefined)) return;
  if (requestId === undefined) throw badRequest('Mapped imports require requestId');
  if (previewFingerprint === undefined) throw badRequest('Mapped imports require previewFingerprint');
}

export const getWorkspaceOperation = defineOperation({
  ...RECEIPT_FIELDS,
  id: 'getWorkspaceOperation',
  path: '/api/v2/workspaces/{workspaceId}/operations/{operationId}',
  summary: 'Get the receipt of an operation',
  resource: workspace('path'),
  params: schemas.receiptPath,
  query: schemas.emptyObject,
  success: [{ status: 200, schema: schemas.report, description: 'The receipt' }],
  async handle({ transfers }, { path: { operationId } }, workspaceId) {
    const data = await transfers.findReport(workspaceId, operationId);
    if (!data) throw notFound('Operation');
    return { data };
  },
});

export const listWorkspaceOperations = defineOperation({
  ...RECEIPT_FIELDS,
  id: 'listWorkspaceOperations',
  path: '/api/v2/workspaces/{workspaceId}/operations',
  summary: 'List the receipts of operations, newest first',
  resource: workspace('path'),
  params: schemas.receiptsPath,
  query: schemas.receiptsQuery,
  success: [{ status: 200, schema: schemas.report, isPage: true, description: 'A page of receipts' }],
  async handle({ transfers }, { query }, workspaceId) {
    const filters = { ...query, workspaceId };
    const afterPosition = positionCodec.decode(query.cursor, filters);
    const { reports, next } = await transfers.findReports({ ...filters, afterPosition });
    return { page: reports, nextCursor: positionCodec.encode(next, filters) };
  },
});
