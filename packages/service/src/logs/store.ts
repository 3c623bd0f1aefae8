import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { isPostgres } from '../store/dialect.ts';
import { conditionsOf, mayMatch, pageQuery, sortColumn } from './query.ts';
import type { StatsRow, Window } from './stats.ts';
import { statsQueryOf } from './stats-query.ts';
import type { LogFilters, LogPageQuery, LogPosition } from './query.ts';
import type { LogRow, LogTables } from './tables.ts';

type Db = Kysely<LogTables>;

/** A row of the log with the models that the run used. */
export interface NewLog extends LogRow {
  models: readonly string[];
}

/** The columns of a run that has ended. */
export type EndedLog = Pick<
  LogRow,
  'engine_id' | 'workspace_id' | 'workflow_id' | 'status' | 'trigger' | 'is_child' | 'ended_ms'
>;

/** The data of a workflow that the log shows. */
export type LogWorkflow = LogTables['workflows'];

/** Adds and updates rows. A row with a newer state is not changed. */
export async function saveLogs(db: Db, logs: readonly NewLog[]): Promise<void> {
  if (logs.length === 0) return;
  // In a fixed order, so that two processes that save the same rows cannot deadlock.
  const rows = logs.toSorted((a, b) => (a.engine_id < b.engine_id ? -1 : 1));
  await db
    .insertInto('run_logs')
    .values(rows.map(({ models: _models, ...row }) => row))
    .onConflict((conflict) =>
      conflict
        .column('engine_id')
        .doUpdateSet((eb) => ({
          status: eb.ref('excluded.status'),
          level: eb.ref('excluded.level'),
          started_ms: eb.ref('excluded.started_ms'),
          ended_ms: eb.ref('excluded.ended_ms'),
          duration_ms: eb.ref('excluded.duration_ms'),
          cost: eb.ref('excluded.cost'),
          seq: eb.ref('excluded.seq'),
        }))
        .whereRef('excluded.seq', '>=', 'run_logs.seq'),
    )
    .execute();
  const models = rows.flatMap(({ engine_id, models: names }) => names.map((model) => ({ engine_id, model })));
  if (models.length === 0) return;
  await db
    .insertInto('run_log_models')
    .values(models)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/**
 * Counts the runs that have ended and are not counted yet, and records when the last run of each workflow began. Call
 * it for the rows that `saveLogs` has saved, in the same transaction: the rows are locked, so each run is counted once.
 * Returns the runs that were counted.
 */
export async function countEndedRuns(db: Db, logs: readonly NewLog[]): Promise<EndedLog[]> {
  if (logs.length === 0) return [];
  const endedLogs = await db
    .updateTable('run_logs')
    .set({ counted: 1 })
    .where(
      'engine_id',
      'in',
      logs.map(({ engine_id: id }) => id),
    )
    .where('ended_ms', 'is not', null)
    .where('counted', '=', 0)
    .returning(['engine_id', 'workspace_id', 'workflow_id', 'status', 'trigger', 'is_child', 'ended_ms'])
    .execute();
  const endedLogsByWorkflow = Map.groupBy(endedLogs, ({ workflow_id: id }) => id);
  const logsByWorkflow = [...Map.groupBy(logs, ({ workflow_id: id }) => id)];
  // In a fixed order, so that two processes cannot deadlock.
  for (const [workflowId, workflowLogs] of logsByWorkflow.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const endedCount = endedLogsByWorkflow.get(workflowId)?.length ?? 0;
    const lastStartedAt = new Date(
      Math.max(...workflowLogs.map(({ started_ms: startedMs }) => startedMs)),
    ).toISOString();
    await db
      .updateTable('run_counts')
      .set((eb) => ({
        runs: eb('runs', '+', endedCount),
        last_at: sql<string>`case when last_at > ${lastStartedAt} then last_at else ${lastStartedAt} end`,
      }))
      .where('workflow_id', '=', workflowId)
      .execute();
  }
  return endedLogs;
}

/** Removes the rows of runs. */
export async function removeLogs(db: Db, engineRunIds: readonly string[]): Promise<void> {
  if (engineRunIds.length === 0) return;
  for (const table of ['run_logs', 'run_log_models'] as const)
    await db.deleteFrom(table).where('engine_id', 'in', engineRunIds).execute();
}

/** Returns a page of the log, and the position of its last row if more follow. */
export async function readPageOfLogs(
  db: Db,
  query: LogPageQuery,
): Promise<{ rows: LogRow[]; next: LogPosition | undefined }> {
  if (!(await mayMatch(db, query))) return { rows: [], next: undefined };
  const fetchedRows = (await pageQuery(db, query).execute()).map(withNumbers);
  const rows = fetchedRows.slice(0, query.limit);
  const lastRow = fetchedRows.length > query.limit ? rows.at(-1) : undefined;
  return { rows, next: lastRow && [lastRow[sortColumn(query.sortBy)], lastRow.engine_id] };
}

/** Returns the runs with this id in these workspaces. */
export async function findLogs(db: Db, runId: string, workspaceIds: readonly string[]): Promise<LogRow[]> {
  if (workspaceIds.length === 0) return [];
  const rows = await db
    .selectFrom('run_logs')
    .selectAll()
    .where('workspace_id', 'in', workspaceIds)
    .where('run_id', '=', runId)
    .execute();
  return rows.map(withNumbers);
}

/** Returns the workflows with these ids. */
export async function workflowsOf(db: Db, ids: readonly string[]): Promise<Map<string, LogWorkflow>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('workflows')
    .select([
      'id',
      'workspace_id',
      'name',
      'description',
      'folder_path',
      'created_at',
      'updated_at',
      'archived_at',
    ])
    .where('id', 'in', [...new Set(ids)])
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}

/** Returns the earliest start of the runs that match; undefined when none does. */
export async function findEarliestStart(db: Db, filters: LogFilters): Promise<number | undefined> {
  const row = await db
    .selectFrom('run_logs')
    .select('started_ms')
    .where(sql.join<boolean>(conditionsOf(filters), sql` and `))
    .orderBy('started_ms')
    .limit(1)
    .executeTakeFirst();
  return row && Number(row.started_ms);
}

/** Returns counts and durations per workflow and period of the window. */
export async function readStatsRows(db: Db, filters: LogFilters, window: Window): Promise<StatsRow[]> {
  const query = statsQueryOf(filters, window);
  // PostgreSQL overestimates joins with ranges: compiling the query to machine code would take longer than running it.
  const { rows } = await (isPostgres(db)
    ? db.transaction().execute(async (transaction) => {
        await sql`set local jit = off`.execute(transaction);
        return query.execute(transaction);
      })
    : query.execute(db));
  return rows.map((row) => ({
    workflow_id: row.workflow_id,
    segment: Number(row.segment),
    total: Number(row.total),
    errors: Number(row.errors),
    duration: Number(row.duration),
    ended: Number(row.ended),
    cost: Number(row.cost),
  }));
}

/** Returns the duration at each rank (numbered from 0) among the ended runs that match; 0 if there is none. */
export async function readDurationsAtRanks(
  db: Db,
  filters: LogFilters,
  ranks: readonly number[],
): Promise<number[]> {
  const durations: number[] = [];
  for (const rank of ranks) {
    const row = await db
      .selectFrom('run_logs')
      .select('duration_ms')
      .where(sql.join<boolean>([...conditionsOf(filters), sql`duration_ms + 0 >= 0`], sql` and `))
      .orderBy('duration_ms')
      .limit(1)
      .offset(rank)
      .executeTakeFirst();
    durations.push(Number(row?.duration_ms ?? 0));
  }
  return durations;
}

/** Returns the row with numbers: PostgreSQL returns 64-bit integers as strings. */
function withNumbers(row: LogRow): LogRow {
  return {
    ...row,
    started_ms: Number(row.started_ms),
    ended_ms: row.ended_ms === null ? null : Number(row.ended_ms),
    duration_ms: Number(row.duration_ms),
    bytes: Number(row.bytes),
    seq: Number(row.seq),
  };
}
