import { ApiError } from '@heddle/api';
import type { LogFilters, LogPosition, LogSort } from './query.ts';
import { MAX_FOLDER_PATHS, MAX_TRIGGERS, MAX_WORKFLOW_IDS } from './schemas.ts';
import type { SearchQuery, StatsQuery } from './schemas.ts';
import { LOG_STATUSES } from './tables.ts';

const MAX_LIMIT = 1000;

/**
 * Returns the filters of a list or search. Throws 400 for filters with too many values, unknown statuses and inverted
 * bounds.
 */
export function filtersOf(query: Omit<SearchQuery, 'text' | 'in'>): LogFilters {
  const { workflowName, runId, minDurationMs, maxDurationMs, minCost, maxCost, model } = query;
  requireOrder('minDurationMs', minDurationMs, 'maxDurationMs', maxDurationMs);
  requireOrder('minCost', minCost, 'maxCost', maxCost);
  return {
    ...commonFilters(query),
    ...{ workflowName, runId, minDurationMs, maxDurationMs, minCost, maxCost, model },
    statuses: statusesOf(query.status),
  };
}

/** Returns the filters that lists and statistics have in common. Throws 400 for too many values and inverted bounds. */
export function commonFilters(
  query: Pick<
    StatsQuery,
    'workspaceId' | 'workflowIds' | 'folderPaths' | 'triggers' | 'level' | 'startDate' | 'endDate'
  >,
): LogFilters {
  const { workspaceId, level, startDate, endDate } = query;
  const fromMs = startDate === undefined ? undefined : Date.parse(startDate);
  const toMs = endDate === undefined ? undefined : Date.parse(endDate);
  requireOrder('startDate', fromMs, 'endDate', toMs);
  const triggers = splitList('triggers', query.triggers, MAX_TRIGGERS);
  return {
    ...{ workspaceId, level, fromMs, toMs },
    workflowIds: splitList('workflowIds', query.workflowIds, MAX_WORKFLOW_IDS),
    folderPaths: splitList('folderPaths', query.folderPaths, MAX_FOLDER_PATHS)?.map(normalizePath),
    triggers: triggers?.includes('all') ? undefined : triggers,
  };
}

/** Returns the limit, clamped to the allowed number of runs per page. */
export function clampLimit(limit: number): number {
  return Math.min(MAX_LIMIT, Math.max(1, limit));
}

/** Returns the position that a cursor encodes, if any. Throws 400 for the position of another sort order. */
export function parsePosition(
  position: readonly [string | number, string] | undefined,
  sortBy: LogSort,
): LogPosition | undefined {
  if (!position) return undefined;
  const [value] = position;
  const isValid = sortBy === 'status' ? typeof value === 'string' : isNumberFor(sortBy, value);
  if (isValid) return position;
  throw new ApiError(400, 'The cursor cannot be read: start again without one.');
}

function isNumberFor(sortBy: LogSort, value: string | number): boolean {
  return sortBy === 'cost' ? Number.isFinite(value) : Number.isSafeInteger(value);
}

function statusesOf(text: string | undefined): readonly string[] | undefined {
  const statuses = splitList('status', text, LOG_STATUSES.length);
  const unknownStatus = statuses?.find(
    (status) => !LOG_STATUSES.some((knownStatus) => knownStatus === status),
  );
  if (unknownStatus === undefined) return statuses;
  throw new ApiError(400, `status cannot be "${unknownStatus}". Use ${LOG_STATUSES.join(', ')}`);
}

function splitList(name: string, text: string | undefined, maxValues: number): string[] | undefined {
  if (text === undefined) return undefined;
  const values = [
    ...new Set(
      text
        .split(',')
        .map((value) => value.trim())
        .filter(Boolean),
    ),
  ];
  if (values.length <= maxValues) return values;
  throw new ApiError(400, `${name} cannot have more than ${maxValues} values`);
}

/** Adds a missing slash at the beginning, and removes one at the end. */
function normalizePath(text: string): string {
  const path = text.startsWith('/') ? text : `/${text}`;
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function requireOrder(
  lowName: string,
  low: number | undefined,
  highName: string,
  high: number | undefined,
): void {
  if (low === undefined || high === undefined || low <= high) return;
  throw new ApiError(400, `${lowName} must not be greater than ${highName}`);
}
