import { ApiError, cursorCodec, defineOperation, expectAccess } from '@heddle/api';
import type { AnyOperation } from '@heddle/api';
import * as schemas from './schemas.ts';
import type { Transfers } from './transfers.ts';

const SHARED = { tag: 'Operations', scope: 'api:read', role: 'read', workspaceKeys: true } as const;
const READ = { ...SHARED, resource: 'none' } as const;
const cursors = cursorCodec(schemas.receiptPosition);

/** Returns the operations that read the receipts of imports. */
export function receiptOperations(transfers: Transfers): readonly AnyOperation[] {
  return [getReceipt(transfers), listReceipts(transfers)];
}

function getReceipt(transfers: Transfers): AnyOperation {
  return defineOperation({
    ...READ,
    id: 'getWorkspaceOperation',
    method: 'GET',
    path: '/api/v2/workspaces/{workspaceId}/operations/{operationId}',
    summary: 'Get the receipt of an operation',
    params: schemas.receiptPath,
    query: schemas.none,
    success: [{ status: 200, schema: schemas.report, description: 'The receipt' }],
    errors: [400, 401, 403, 404, 429],
    async handle({ store }, { path: { workspaceId, operationId }, principal }) {
      await expectAccess(store, principal, workspaceId, { ...SHARED, noun: 'Workspace' });
      const data = await transfers.report(workspaceId, operationId);
      if (!data) throw new ApiError(404, 'Operation not found');
      return { data };
    },
  });
}

function listReceipts(transfers: Transfers): AnyOperation {
  return defineOperation({
    ...READ,
    id: 'listWorkspaceOperations',
    method: 'GET',
    path: '/api/v2/workspaces/{workspaceId}/operations',
    summary: 'List the receipts of operations, newest first',
    params: schemas.receiptsPath,
    query: schemas.receiptsQuery,
    success: [{ status: 200, schema: schemas.report, page: true, description: 'A page of receipts' }],
    errors: [400, 401, 403, 404, 429],
    async handle({ store }, { path: { workspaceId }, query, principal }) {
      await expectAccess(store, principal, workspaceId, { ...SHARED, noun: 'Workspace' });
      const of = { ...query, workspaceId };
      const { reports, next } = await transfers.reports({ ...of, after: cursors.decode(query.cursor, of) });
      return { page: reports, nextCursor: next === undefined ? null : cursors.encode([...next], of) };
    },
  });
}
