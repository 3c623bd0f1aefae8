import { ApiError, cursorCodec, defineOperation, expectAccess } from '@heddle/api';
import type { AnyOperation, ApiStore, Principal } from '@heddle/api';
import * as z from 'zod';
import { findLog, listLogs, logDetailOf, logStatsOf } from './logs.ts';
import type { LogServices } from './logs.ts';
import * as schemas from './schemas.ts';

const SHARED = {
  tag: 'Logs',
  scope: 'api:read',
  role: 'read',
  workspaceKeys: true,
  params: z.strictObject({}),
} as const;

const cursors = cursorCodec(schemas.logPosition);

/** Returns the operations of the log. */
export function logOperations(
  services: LogServices,
  store: Pick<ApiStore, 'workspaces'>,
): readonly AnyOperation[] {
  const list = defineOperation({
    ...SHARED,
    id: 'listLogs',
    method: 'GET',
    path: '/api/v2/logs',
    summary: 'List the runs of a workspace',
    resource: 'workspaceInQuery',
    query: schemas.logsQuery,
    success: [{ status: 200, schema: schemas.logEntry, page: true, description: 'A page of runs' }],
    errors: [400, 401, 403, 404, 429],
    async handle(_services, { query }) {
      const after = cursors.decode(query.cursor, query);
      const { entries, next } = await listLogs(services, query, after);
      return { page: entries, nextCursor: next === undefined ? null : cursors.encode([...next], query) };
    },
  });
  const stats = defineOperation({
    ...SHARED,
    id: 'getLogStats',
    method: 'GET',
    path: '/api/v2/logs/stats',
    summary: 'Get statistics of runs',
    resource: 'workspaceInQuery',
    query: schemas.statsQuery,
    success: [{ status: 200, schema: schemas.logStats, description: 'Counts and durations' }],
    errors: [400, 401, 403, 404, 429],
    handle: async (_services, { query }) => ({ data: await logStatsOf(services, query) }),
  });
  const get = defineOperation({
    ...SHARED,
    id: 'getLog',
    method: 'GET',
    path: '/api/v2/logs/{runId}',
    summary: 'Get everything about a run',
    resource: 'none',
    params: schemas.logPath,
    query: z.strictObject({}),
    success: [{ status: 200, schema: schemas.logDetail, description: 'The run' }],
    errors: [400, 401, 403, 404, 429],
    async handle(_services, { path, principal, head }) {
      const row = await findLog(services, path.runId, await workspacesOf(services, principal));
      if (!row) throw notFound();
      await expectAccess(store, principal, row.workspace_id, { ...SHARED, noun: 'Log' });
      if (head) return { data: null };
      const data = await logDetailOf(services, row);
      if (!data) throw notFound();
      return { data };
    },
  });
  // A literal segment before a parameter.
  return [list, stats, get];
}

/** Returns the workspaces in which the caller may look for a run. */
async function workspacesOf(
  { db }: Pick<LogServices, 'db'>,
  { kind, workspaceId, userId }: Principal,
): Promise<string[]> {
  if (kind === 'workspace') return workspaceId === null ? [] : [workspaceId];
  if (userId === null) return [];
  const rows = await db.selectFrom('members').select('workspace_id').where('user_id', '=', userId).execute();
  return rows.map((row) => row.workspace_id);
}

function notFound(): ApiError {
  return new ApiError(404, 'Log not found');
}
