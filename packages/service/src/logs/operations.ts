import {
  cursorCodec,
  AUTHENTICATED_PRINCIPALS,
  notFound,
  operationFactory,
  workspace,
} from '@heddle/api/areas';
import * as z from 'zod';
import { listLogs, logDetailOf, logStatsOf } from './logs.ts';
import type { LogServices } from './logs.ts';
import { parsePosition } from './filters.ts';
import { logResource } from './resource.ts';
import { searchLogs } from './search.ts';
import * as schemas from './schemas.ts';

const COMMON_FIELDS = {
  tag: 'Logs',
  scope: 'api:read',
  role: 'read',
  principals: AUTHENTICATED_PRINCIPALS,
  params: z.strictObject({}),
} as const;

const defineOperation = operationFactory<LogServices>();
const positionCodec = cursorCodec(schemas.logPosition);

export const listLogsOperation = defineOperation({
  ...COMMON_FIELDS,
  id: 'listLogs',
  method: 'GET',
  path: '/api/v2/logs',
  summary: 'List the runs of a workspace',
  resource: workspace('query'),
  query: schemas.logsQuery,
  success: [{ status: 200, schema: schemas.logEntry, isPage: true, description: 'A page of runs' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { query }) {
    const afterPosition = positionCodec.decode(query.cursor, query);
    const { entries, next } = await listLogs(services, query, afterPosition);
    return { page: entries, nextCursor: positionCodec.encode(next, query) };
  },
});
export const searchLogsOperation = defineOperation({
  ...COMMON_FIELDS,
  id: 'searchLogs',
  method: 'GET',
  path: '/api/v2/logs/search',
  summary: 'Search the inputs, outputs and errors of runs',
  resource: workspace('query'),
  query: schemas.searchQuery,
  success: [{ status: 200, schema: schemas.logSearch, description: 'The runs with the text, newest first' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { query, isHead }) {
    if (isHead) return { data: null };
    const afterPosition = parsePosition(positionCodec.decode(query.cursor, query), 'startedAt');
    const { next, ...result } = await searchLogs(services, query, afterPosition);
    return { data: { ...result, nextCursor: positionCodec.encode(next, query) } };
  },
});
export const getLogStats = defineOperation({
  ...COMMON_FIELDS,
  id: 'getLogStats',
  method: 'GET',
  path: '/api/v2/logs/stats',
  summary: 'Get statistics of runs',
  resource: workspace('query'),
  query: schemas.statsQuery,
  success: [{ status: 200, schema: schemas.logStats, description: 'Counts and durations' }],
  errors: [400, 401, 403, 404, 429],
  handle: async (services, { query }) => ({ data: await logStatsOf(services, query) }),
});
export const getLog = defineOperation({
  ...COMMON_FIELDS,
  id: 'getLog',
  method: 'GET',
  path: '/api/v2/logs/{runId}',
  summary: 'Get a run with all its details',
  resource: logResource,
  params: schemas.logPath,
  query: z.strictObject({}),
  success: [{ status: 200, schema: schemas.logDetail, description: 'The run' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { isHead }, row) {
    if (isHead) return { data: null };
    const data = await logDetailOf(services, row);
    if (!data) throw notFound('Log');
    return { data };
  },
});
