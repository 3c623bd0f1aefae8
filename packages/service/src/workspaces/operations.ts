import {
  cursorCodec,
  AUTHENTICATED_PRINCIPALS,
  noResource,
  notFound,
  operationFactory,
  USER_PRINCIPALS,
  workspace,
} from '@heddle/api/areas';
import type { Kysely } from 'kysely';
import type { ServiceStore } from '../store/open.ts';
import { readPageOfEvents } from './audit-events.ts';
import { findWorkspace, readPageOfMembers, readPageOfWorkspaces } from './store.ts';
import type { WorkspaceTables } from './store.ts';
import * as schemas from './schemas.ts';

/** Dependencies of the operations of workspaces. */
export interface WorkspaceServices {
  store: Pick<ServiceStore, 'database' | 'keys'>;
  now: () => number;
}

const defineOperation = operationFactory<WorkspaceServices>();
const READ_FIELDS = {
  tag: 'Workspaces',
  scope: 'api:read',
  role: 'read',
  principals: AUTHENTICATED_PRINCIPALS,
} as const;
const workspaceCursorCodec = cursorCodec(schemas.workspacePosition);
const eventCursorCodec = cursorCodec(schemas.createdAtPosition);
const memberCursorCodec = cursorCodec(schemas.memberPosition);

export function databaseOf({ store }: Pick<WorkspaceServices, 'store'>): Kysely<WorkspaceTables> {
  return store.database as Kysely<WorkspaceTables>;
}

export const listWorkspaces = defineOperation({
  ...READ_FIELDS,
  id: 'listWorkspaces',
  method: 'GET',
  path: '/api/v2/workspaces',
  summary: 'List the workspaces that the credential can access',
  resource: noResource,
  params: schemas.emptyObject,
  query: schemas.listQuery,
  success: [{ status: 200, schema: schemas.workspace, isPage: true, description: 'A page of workspaces' }],
  errors: [400, 401, 403, 429],
  async handle(services, { query, principal }) {
    const afterPosition = workspaceCursorCodec.decode(query.cursor, query);
    const { page, next } = await readPageOfWorkspaces(databaseOf(services), principal, {
      ...query,
      afterPosition,
    });
    return { page, nextCursor: workspaceCursorCodec.encode(next, query) };
  },
});

export const getWorkspace = defineOperation({
  ...READ_FIELDS,
  id: 'getWorkspace',
  method: 'GET',
  path: '/api/v2/workspaces/{workspaceId}',
  summary: 'Get a workspace',
  resource: workspace('path'),
  params: schemas.workspacePath,
  query: schemas.emptyObject,
  success: [{ status: 200, schema: schemas.workspace, description: 'The workspace' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, _call, workspaceId) {
    const data = await findWorkspace(databaseOf(services), workspaceId);
    if (!data) throw notFound('Workspace');
    return { data };
  },
});

export const listWorkspaceMembers = defineOperation({
  ...READ_FIELDS,
  id: 'listWorkspaceMembers',
  method: 'GET',
  path: '/api/v2/workspaces/{workspaceId}/members',
  summary: 'List the members of a workspace, sorted by email address',
  resource: workspace('path'),
  params: schemas.workspacePath,
  query: schemas.membersQuery,
  success: [{ status: 200, schema: schemas.member, isPage: true, description: 'A page of members' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { query: { limit, cursor } }, workspaceId) {
    const listParameters = { workspaceId };
    const [afterPosition] = memberCursorCodec.decode(cursor, listParameters) ?? [];
    const { page, next } = await readPageOfMembers(databaseOf(services), workspaceId, {
      limit,
      afterPosition,
    });
    return { page, nextCursor: next === undefined ? null : memberCursorCodec.encode([next], listParameters) };
  },
});

export const listWorkspaceAuditLogs = defineOperation({
  id: 'listWorkspaceAuditLogs',
  method: 'GET',
  path: '/api/v2/workspaces/{workspaceId}/audit-logs',
  tag: 'Audit Logs',
  summary: 'List the audit events of a workspace, newest first',
  scope: 'api:read',
  role: 'admin',
  principals: USER_PRINCIPALS,
  resource: workspace('path'),
  params: schemas.workspacePath,
  query: schemas.eventsQuery,
  success: [{ status: 200, schema: schemas.auditEvent, isPage: true, description: 'A page of events' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { query }, workspaceId) {
    const { limit, cursor, ...filters } = query;
    const eventFilters = { workspaceId, ...filters };
    const afterPosition = eventCursorCodec.decode(cursor, eventFilters);
    const { page, next } = await readPageOfEvents(databaseOf(services), eventFilters, {
      limit,
      afterPosition,
    });
    return { page, nextCursor: eventCursorCodec.encode(next, eventFilters) };
  },
});
