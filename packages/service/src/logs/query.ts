import { sql } from 'kysely';
import type { Kysely, RawBuilder } from 'kysely';
import { containsCondition, escapeLike, afterCondition } from '../paging.ts';
import { isPostgres } from '../store/dialect.ts';
import type { LogLevel, LogRow, LogTables } from './tables.ts';
import { BUCKET_WIDTHS_MS } from './totals.ts';

type Db = Kysely<LogTables>;

/** The runs that a list, a search or statistics cover. Absent: all. */
export interface LogFilters {
  workspaceId: string;
  workflowIds?: readonly string[] | undefined;
  /** Folders of the runs' workflows, each with its subtree. */
  folderPaths?: readonly string[] | undefined;
  /** Part of the workflow's name, case-insensitive. */
  workflowName?: string | undefined;
  triggers?: readonly string[] | undefined;
  level?: LogLevel | undefined;
  statuses?: readonly string[] | undefined;
  /** The id that callers see. */
  runId?: string | undefined;
  /** Started at this time or later, in milliseconds since the epoch. */
  fromMs?: number | undefined;
  /** Started at this time or earlier. */
  toMs?: number | undefined;
  minDurationMs?: number | undefined;
  maxDurationMs?: number | undefined;
  minCost?: number | undefined;
  maxCost?: number | undefined;
  model?: string | undefined;
}

export type LogSort = 'startedAt' | 'durationMs' | 'cost' | 'status';

/** The last row of a page: the value that it is sorted by, and the engine's id. */
export type LogPosition = readonly [value: string | number, engineRunId: string];

export interface LogPageQuery extends LogFilters {
  sortBy: LogSort;
  sortOrder: 'asc' | 'desc';
  limit: number;
  afterPosition?: LogPosition | undefined;
}

const SORT_COLUMNS = {
  startedAt: 'started_ms',
  durationMs: 'duration_ms',
  cost: 'cost',
  status: 'status',
} as const;

/**
 * Returns whether some run may match the filters by trigger, folder and name. The query reads the totals and the runs
 * that the totals lack, so a page without matches does not read every run of the workspace.
 */
export async function mayMatch(
  db: Db,
  { workspaceId, folderPaths, triggers, workflowName }: LogFilters,
): Promise<boolean> {
  if (!folderPaths && !triggers && workflowName === undefined) return true;
  const where = sql.join(statsConditions({ workspaceId, folderPaths, triggers, workflowName }), sql` and `);
  const { rows } = await sql`
    select 1 where exists (select 1 from run_totals where width_ms = ${sql.lit(BUCKET_WIDTHS_MS[0])} and ${where})
      or exists (select 1 from run_logs where totalled = 0 and ${where})`.execute(db);
  return rows.length > 0;
}

/** Returns the column that a list is sorted by. */
export function sortColumn(sortBy: LogSort): (typeof SORT_COLUMNS)[LogSort] {
  return SORT_COLUMNS[sortBy];
}

/** Returns the query of a page. It selects one row more than the limit, which shows that another page follows. */
export function pageQuery(db: Db, query: LogPageQuery) {
  const column = SORT_COLUMNS[query.sortBy];
  const { sortOrder } = query;
  if (!isPostgres(db)) return positionQuery(db, query).selectAll();
  // The indexes have all columns of the filters. PostgreSQL compares them without reading the rows only if the query
  // needs no other columns, so an inner query finds the page, and the outer one reads its rows.
  return db
    .selectFrom(
      positionQuery(db, query)
        .select(['engine_id as id', `${column} as position`])
        .as('page'),
    )
    .innerJoin('run_logs', 'engine_id', 'page.id')
    .selectAll('run_logs')
    .orderBy('page.position', sortOrder)
    .orderBy('page.id', sortOrder);
}

function positionQuery(db: Db, query: LogPageQuery) {
  const column = SORT_COLUMNS[query.sortBy];
  const { afterPosition, sortOrder } = query;
  return db
    .selectFrom('run_logs')
    .where(sql.join<boolean>(conditionsOf(query), sql` and `))
    .$if(afterPosition !== undefined, (builder) =>
      builder.where(afterCondition([column, 'engine_id'], afterPosition ?? [], sortOrder)),
    )
    .orderBy(column, sortOrder)
    .orderBy('engine_id', sortOrder)
    .limit(query.limit + 1);
}

/**
 * Returns the conditions of the filters. One condition selects the index: the workspace, or a single workflow or run.
 * The others, except those on start times, compare expressions instead of columns. Otherwise, SQLite could choose an
 * index on one of these columns and then sort all rows that it finds.
 */
export function conditionsOf(filters: LogFilters): RawBuilder<boolean>[] {
  const { workspaceId, runId, triggers, statuses, level } = filters;
  return [
    ...workflowConditions(filters),
    ...ifSet(runId, (id) => sql<boolean>`workspace_id = ${workspaceId} and run_id = ${id}`),
    ...ifSet(triggers, (names) => oneOf('trigger', names)),
    ...ifSet(statuses, (names) => oneOf('status', names)),
    ...ifSet(level, (name) => oneOf('level', [name])),
    ...rangeConditions(filters),
    ...ifSet(
      filters.model,
      (model) =>
        sql<boolean>`exists (select 1 from run_log_models where run_log_models.engine_id = run_logs.engine_id and model = ${model})`,
    ),
  ];
}

function workflowConditions({
  workspaceId,
  workflowIds,
  folderPaths,
  workflowName,
}: LogFilters): RawBuilder<boolean>[] {
  const [firstId, secondId] = workflowIds ?? [];
  const isOneWorkflow = firstId !== undefined && secondId === undefined;
  return [
    isOneWorkflow
      ? sql<boolean>`workflow_id = ${firstId} and coalesce(workspace_id, '') = ${workspaceId}`
      : sql<boolean>`workspace_id = ${workspaceId}`,
    ...(workflowIds && !isOneWorkflow ? [oneOf('workflow_id', workflowIds)] : []),
    ...folderCondition(workspaceId, folderPaths),
    ...ifSet(workflowName, (name) => inWorkflows(workspaceId, containsCondition('name', name))),
  ];
}

/**
 * Returns the conditions of statistics, except those on times. They apply to runs and totals, and use the workspace's
 * index.
 */
export function statsConditions(filters: LogFilters): RawBuilder<boolean>[] {
  const { workspaceId, workflowIds, folderPaths, workflowName, triggers, level } = filters;
  return [
    sql<boolean>`workspace_id = ${workspaceId}`,
    ...ifSet(workflowIds, (ids) => oneOf('workflow_id', ids)),
    ...folderCondition(workspaceId, folderPaths),
    ...ifSet(workflowName, (name) => inWorkflows(workspaceId, containsCondition('name', name))),
    ...ifSet(triggers, (names) => oneOf('trigger', names)),
    ...ifSet(level, (name) => oneOf('level', [name])),
  ];
}

function folderCondition(
  workspaceId: string,
  folderPaths: readonly string[] | undefined,
): RawBuilder<boolean>[] {
  return ifSet(folderPaths, (paths) => inWorkflows(workspaceId, sql.join(paths.map(inFolder), sql` or `)));
}

function rangeConditions(filters: LogFilters): RawBuilder<boolean>[] {
  const { fromMs, toMs, minDurationMs, maxDurationMs, minCost, maxCost } = filters;
  return [
    ...ifSet(fromMs, (ms) => sql<boolean>`started_ms >= ${ms}`),
    ...ifSet(toMs, (ms) => sql<boolean>`started_ms <= ${ms}`),
    ...ifSet(minDurationMs, (ms) => sql<boolean>`duration_ms + 0 >= ${ms}`),
    ...ifSet(maxDurationMs, (ms) => sql<boolean>`duration_ms + 0 between 0 and ${ms}`),
    ...ifSet(minCost, (usd) => sql<boolean>`cost + 0 >= ${usd}`),
    ...ifSet(maxCost, (usd) => sql<boolean>`cost + 0 between 0 and ${usd}`),
  ];
}

function ifSet<T>(value: T | undefined, condition: (value: T) => RawBuilder<boolean>): RawBuilder<boolean>[] {
  return value === undefined ? [] : [condition(value)];
}

function oneOf(column: keyof LogRow, values: readonly string[]): RawBuilder<boolean> {
  return values.length === 0
    ? sql<boolean>`1 = 0`
    : sql<boolean>`coalesce(${sql.ref(column)}, '') in (${sql.join(values)})`;
}

function inWorkflows(workspaceId: string, condition: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`coalesce(workflow_id, '') in (select id from workflows where workspace_id = ${workspaceId} and (${condition}))`;
}

/** Returns the condition for a folder and its subtree. The root contains everything. */
function inFolder(path: string): RawBuilder<unknown> {
  if (path === '/') return sql`1 = 1`;
  return sql`folder_path = ${path} or folder_path like ${`${escapeLike(path)}/%`} escape '\\'`;
}
