import { ApiError } from '@heddle/api';
import type { AreaContext } from '@heddle/api';
import type { Engine } from '@heddle/engine';
import type { Json, JsonObject } from '@heddle/core';
import type { Kysely } from 'kysely';
import { clampLimit, commonFilters, filtersOf, parsePosition } from './filters.ts';
import type { LogIndexer } from './indexer.ts';
import type { TraceCache } from './inspect/trace-cache.ts';
import type { LogPosition } from './query.ts';
import type { LogEntry, LogsQuery, StatsQuery } from './schemas.ts';
import { graphOfPlan } from './snapshot.ts';
import { costMicrosOf } from './usage.ts';
import { readCostItems, TRACE_BUDGET, readTraceSpans } from './spans.ts';
import { statsOf, windowOf } from './stats.ts';
import {
  readDurationsAtRanks,
  findEarliestStart,
  findLogs,
  readPageOfLogs,
  readStatsRows,
  workflowsOf,
} from './store.ts';
import type { LogRow, LogTables } from './tables.ts';
import { commonFieldsOf, entryOf, filesOf, outputOf, traceOf, workflowOf } from './views.ts';

/** Dependencies of the log of runs. */
export interface LogServices {
  engine: Pick<Engine, 'getRun' | 'getTrace' | 'readValue' | 'planOf' | 'childRuns' | 'follow'>;
  access: AreaContext['access'];
  db: Kysely<LogTables>;
  indexer: Pick<LogIndexer, 'update'>;
  traces: Pick<TraceCache, 'read'>;
  /** Removes credentials from a graph. */
  redactCredentials: (graph: JsonObject) => JsonObject;
  now: () => number;
  /** Reports errors that reach no caller. */
  onError: (error: unknown) => void;
}

/** Returns a page of the log, and the position at which the next page begins. Throws 400 for invalid filters. */
export async function listLogs(
  { engine, db, indexer }: LogServices,
  query: LogsQuery,
  afterPosition: readonly [string | number, string] | undefined,
): Promise<{ entries: LogEntry[]; next: LogPosition | undefined }> {
  const { sortBy, sortOrder } = query;
  if (query.includeJobRuns && sortBy !== 'startedAt')
    throw new ApiError(400, 'includeJobRuns requires sortBy=startedAt');
  const filters = filtersOf(query);
  await indexer.update();
  const limit = clampLimit(query.limit);
  const { rows, next } = await readPageOfLogs(db, {
    ...{ ...filters, sortBy, sortOrder, limit },
    afterPosition: parsePosition(afterPosition, sortBy),
  });
  const includesValues = query.includeTraceSpans || query.includeFinalOutput;
  const isFull = query.details === 'full' || includesValues;
  const workflows = isFull
    ? await workflowsOf(
        db,
        rows.map(({ workflow_id: id }) => id),
      )
    : new Map<string, never>();
  const entryContext = {
    options: {
      isFull,
      includeTraceSpans: query.includeTraceSpans,
      includeFinalOutput: query.includeFinalOutput,
    },
    budget: { ...TRACE_BUDGET },
  };
  const entries: LogEntry[] = [];
  for (const row of rows)
    entries.push(await entryOf(engine, { row, workflow: workflows.get(row.workflow_id) }, entryContext));
  return { entries, next };
}

/** Returns the run with this id; undefined unless exactly one of these workspaces has one. */
export async function findLog(
  { db, indexer }: Pick<LogServices, 'db' | 'indexer'>,
  runId: string,
  workspaceIds: readonly string[],
): Promise<LogRow | undefined> {
  await indexer.update();
  const [first, second] = await findLogs(db, runId, workspaceIds);
  return second ? undefined : first;
}

/** Returns the details of a run; undefined if it was deleted in the meantime. */
export async function logDetailOf(services: LogServices, row: LogRow) {
  const { engine, db } = services;
  const root = await traceOf(engine, row.engine_id);
  if (!root) return undefined;
  const budget = { ...TRACE_BUDGET };
  const output = await outputOf(engine, row, { root, budget });
  const workflow = (await workflowsOf(db, [row.workflow_id])).get(row.workflow_id);
  const items = row.cost < 0 ? [] : await readCostItems(engine, root);
  return {
    ...commonFieldsOf(row, filesOf(row, output)),
    workflow: {
      ...workflowOf(row, workflow),
      folderPath: workflow?.folder_path ?? null,
      // Workflows belong to workspaces, not to users.
      ownerEmail: null,
      workspaceId: row.workspace_id,
      createdAt: workflow?.created_at ?? null,
      updatedAt: workflow?.updated_at ?? null,
    },
    workflowState: await snapshotOf(services, row),
    traceSpans: await readTraceSpans(engine, root, budget),
    finalOutput: output,
    workflowInput: root.input ? await engine.readValue(root.input) : null,
    cost: row.cost < 0 ? null : { total: row.cost, totalMicros: costMicrosOf(row.cost), items },
    createdAt: (await engine.getRun(row.engine_id)).createdAt,
  };
}

/** Returns the graph that the run executed: the deployed graph of its version, or the graph of its plan. */
export async function snapshotOf(
  { engine, db, redactCredentials }: LogServices,
  row: LogRow,
): Promise<JsonObject> {
  const version =
    row.version === null
      ? undefined
      : await db
          .selectFrom('workflow_versions')
          .select('state')
          .where('workflow_id', '=', row.workflow_id)
          .where('version', '=', row.version)
          .executeTakeFirst();
  const graph: Json = version
    ? (JSON.parse(version.state) as JsonObject)
    : { ...graphOfPlan(await engine.planOf(row.engine_id)) };
  return redactCredentials(graph);
}

/** Returns statistics of the runs that match. Throws 400 for invalid filters. */
export async function logStatsOf({ db, indexer, now }: LogServices, query: StatsQuery) {
  const filters = commonFilters(query);
  await indexer.update();
  const toMs = filters.toMs ?? now();
  const fromMs = filters.fromMs ?? (await findEarliestStart(db, filters)) ?? toMs;
  const window = windowOf(fromMs, Math.max(fromMs, toMs), query.segmentCount);
  const rows = await readStatsRows(db, filters, window);
  const workflows = await workflowsOf(
    db,
    rows.map(({ workflow_id: id }) => id),
  );
  const stats = statsOf(rows, window, new Map([...workflows].map(([id, { name }]) => [id, name])));
  if (!query.percentiles) return stats;
  const endedCount = rows.reduce((sum, row) => sum + row.ended, 0);
  const ranks = [0.5, 0.99].map((quantile) => Math.max(0, Math.ceil(endedCount * quantile) - 1));
  const [p50Latency = 0, p99Latency = 0] = await readDurationsAtRanks(
    db,
    { ...filters, fromMs: window.fromMs, toMs: window.toMs },
    ranks,
  );
  return { ...stats, p50Latency, p99Latency };
}
