import { cursorCodec, operationsOf, USER_PRINCIPALS, workspace } from '@heddle/api/areas';
import { pageOfEvents } from './audit-events.ts';
import { tablesOf } from './operations.ts';
import type { WorkspaceServices } from './operations.ts';
import * as schemas from './schemas.ts';

const cursors = cursorCodec(schemas.position);

export const listWorkspaceAuditLogs = operationsOf<WorkspaceServices>()({
  id: 'listWorkspaceAuditLogs',
  method: 'GET',
  path: '/api/v2/workspaces/{workspaceId}/audit-logs',
  tag: 'Audit Logs',
  summary: 'List the recorded actions in a workspace, newest first',
  scope: 'api:read',
  role: 'admin',
  principals: USER_PRINCIPALS,
  resource: workspace('path'),
  params: schemas.workspacePath,
  query: schemas.eventsQuery,
  success: [{ status: 200, schema: schemas.auditEvent, page: true, description: 'A page of events' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { query }, workspaceId) {
    const { limit, cursor, ...filters } = query;
    const scope = { workspaceId, ...filters };
    const after = cursors.decode(cursor, scope);
    const { page, next } = await pageOfEvents(tablesOf(services), scope, { limit, after });
    return { page, nextCursor: cursors.encode(next, scope) };
  },
});
