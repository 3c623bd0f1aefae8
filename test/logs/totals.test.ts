import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { LOG_MIGRATIONS } from '../../packages/service/src/logs/migrations.ts';
import type { LogFilters } from '../../packages/service/src/logs/query.ts';
import { periodsOf, windowOf } from '../../packages/service/src/logs/stats.ts';
import type { StatsRow, Window } from '../../packages/service/src/logs/stats.ts';
import { removeLogs, saveLogs, readStatsRows } from '../../packages/service/src/logs/store.ts';
import type { NewLog } from '../../packages/service/src/logs/store.ts';
import {
  changeTotals,
  addBatchToTotals,
  markAsNotInTotals,
  BUCKET_WIDTHS_MS,
} from '../../packages/service/src/logs/totals.ts';
import { openDatabase } from '../../packages/service/src/store/database.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';
import { createSeededRandom } from '../support/seeded-random.ts';
import { fn, workflow } from '../support/workflow.ts';
import {
  addWorkflow,
  deploy,
  createIndexer,
  openLogDatabase,
  createLogRow,
  openIndexedEngine,
} from './setup.ts';
import type { LogDb } from './setup.ts';

const START_MS = Date.parse('2026-01-01T00:00:00.000Z');
const STORE_NAMES = storesToTest('totals of the log');

/** Returns runs of three workflows at random times within ten days. Some have not ended. */
function createRandomRuns(count: number): NewLog[] {
  const random = createSeededRandom(15);
  const integerBelow = (limit: number): number => Math.floor(random() * limit);
  return Array.from({ length: count }, (_, index) => {
    const startedMs = START_MS + integerBelow(10 * 86_400_000);
    const isOpen = integerBelow(8) === 0;
    return createLogRow(`r${index}`, 0, {
      workflow_id: `w${integerBelow(3)}`,
      trigger: ['api', 'manual', 'schedule'][integerBelow(3)] as string,
      level: integerBelow(4) === 0 ? 'error' : 'info',
      status: isOpen ? 'running' : 'completed',
      started_ms: startedMs,
      ended_ms: isOpen ? null : startedMs + 1000,
      duration_ms: isOpen || integerBelow(9) === 0 ? -1 : integerBelow(5000),
      cost: isOpen ? -1 : integerBelow(1000) / 1e6,
    });
  });
}

/** Returns the statistics of the runs, computed run by run. */
function computeStats(runs: readonly NewLog[], filters: Partial<LogFilters>, window: Window): StatsRow[] {
  const periods = periodsOf(window);
  const matchingRuns = runs.filter(
    ({ workflow_id: id, trigger, level }) =>
      (filters.workflowIds?.includes(id) ?? true) &&
      (filters.triggers?.includes(trigger) ?? true) &&
      (filters.level === undefined || filters.level === level),
  );
  const assignedRuns = matchingRuns.flatMap((run) => {
    const period = periods.find(({ from, to }) => from <= run.started_ms && run.started_ms < to);
    return period ? [{ run, segment: period.segment }] : [];
  });
  const groups = Map.groupBy(assignedRuns, ({ run, segment }) => `${run.workflow_id} ${segment}`);
  const rows = [...groups.values()].map((group) => {
    const endedRuns = group.filter(({ run }) => run.duration_ms >= 0);
    return {
      workflow_id: group[0]?.run.workflow_id ?? '',
      segment: group[0]?.segment ?? 0,
      total: group.length,
      errors: group.filter(({ run }) => run.level === 'error').length,
      duration: endedRuns.reduce((sum, { run }) => sum + run.duration_ms, 0),
      ended: endedRuns.length,
      cost: group.reduce((sum, { run }) => sum + Math.round(Math.max(0, run.cost) * 1e6), 0),
    };
  });
  return sortRows(rows);
}

function sortRows(rows: readonly StatsRow[]): StatsRow[] {
  return rows.toSorted((a, b) => a.segment - b.segment || (a.workflow_id < b.workflow_id ? -1 : 1));
}

async function readStats(db: LogDb, filters: Partial<LogFilters>, window: Window): Promise<StatsRow[]> {
  return sortRows(await readStatsRows(db, { workspaceId: 'looms', ...filters }, window));
}

const WINDOWS = [
  windowOf(START_MS, START_MS + 10 * 86_400_000, 72),
  windowOf(START_MS - 12_345, START_MS + 9 * 86_400_000 + 777, 5),
  windowOf(START_MS + 3_600_001, START_MS + 7_200_003, 500),
  windowOf(START_MS + 86_400_000, START_MS + 86_400_000, 3),
  windowOf(-1e12, START_MS + 86_400_000, 7),
];
const FILTERS: readonly Partial<LogFilters>[] = [
  {},
  { workflowIds: ['w1'] },
  { workflowIds: ['w0', 'w2'], level: 'error' },
  { triggers: ['manual', 'schedule'] },
  { workflowIds: [] },
];

async function expectExactStats(db: LogDb, runs: readonly NewLog[]): Promise<void> {
  for (const window of WINDOWS)
    for (const filters of FILTERS)
      expect(await readStats(db, filters, window)).toEqual(computeStats(runs, filters, window));
}

async function addAllToTotals(db: LogDb): Promise<void> {
  while (await addBatchToTotals(db));
}

/** Returns the number of runs in the totals of each bucket width. */
async function readRunCounts(db: LogDb): Promise<number[]> {
  const { rows } = await sql<{ width: number; total: number }>`
    select width_ms as width, sum(runs) as total from run_totals group by width_ms`.execute(db);
  return BUCKET_WIDTHS_MS.map((width) => Number(rows.find((row) => Number(row.width) === width)?.total ?? 0));
}

describe.each(STORE_NAMES)('totals of the log on %s', (name) => {
  let url: string | undefined;
  beforeAll(async () => {
    url = name === 'postgres' ? await createPostgresDatabase() : undefined;
  });

  it('lead to the same statistics as the runs, whether they include no, some or all runs', async () => {
    const db = await openLogDatabase(url);
    for (const id of ['w0', 'w1', 'w2']) await addWorkflow(db, id);
    const runs = createRandomRuns(700);
    await saveLogs(db, runs);
    await expectExactStats(db, runs);
    expect(await addBatchToTotals(db)).toBe(true);
    await expectExactStats(db, runs);
    await addAllToTotals(db);
    await expectExactStats(db, runs);
    const endedCount = runs.filter(({ ended_ms: endedMs }) => endedMs !== null).length;
    expect(await readRunCounts(db)).toEqual(BUCKET_WIDTHS_MS.map(() => endedCount));
  });

  it('reflect changes to ended runs and deletions, and are empty without runs', async () => {
    const db = await openLogDatabase(url);
    await addWorkflow(db, 'w0');
    const runs = createRandomRuns(60).map((run) => ({ ...run, workflow_id: 'w0', ended_ms: run.started_ms }));
    await saveLogs(db, runs);
    await addAllToTotals(db);
    const ids = runs.slice(0, 20).map(({ engine_id: id }) => id);
    const changedRuns = runs.map((run, index) =>
      index < 20 ? { ...run, level: 'error' as const, duration_ms: 9, seq: 2 } : run,
    );
    const firstChange = await markAsNotInTotals(db, ids);
    await saveLogs(db, changedRuns.slice(0, 20));
    await changeTotals(db, firstChange);
    await expectExactStats(db, changedRuns);
    await addAllToTotals(db);
    await expectExactStats(db, changedRuns);
    const allIds = runs.map(({ engine_id: id }) => id);
    const lastChange = await markAsNotInTotals(db, allIds);
    await removeLogs(db, allIds);
    await changeTotals(db, lastChange);
    expect((await sql`select * from run_totals`.execute(db)).rows).toEqual([]);
  });

  it('include each run once if several processes add runs', async () => {
    const db = await openLogDatabase(url);
    await addWorkflow(db, 'w0');
    const runs = createRandomRuns(900).map((run) => ({
      ...run,
      workflow_id: 'w0',
      ended_ms: run.started_ms,
    }));
    await saveLogs(db, runs);
    await Promise.all([addAllToTotals(db), addAllToTotals(db), addAllToTotals(db)]);
    await addAllToTotals(db);
    await expectExactStats(db, runs);
    expect(await readRunCounts(db)).toEqual(BUCKET_WIDTHS_MS.map(() => runs.length));
  });

  it('get runs from the indexers of the log, including runs of an earlier indexer, and lose deleted runs', async () => {
    const indexedEngine = await openIndexedEngine({ url });
    const id = await deploy(indexedEngine, workflow([fn('A', 'return 1')], ['Start -> A']));
    for (const runId of ['r1', 'r2']) await indexedEngine.engine.execute(id, {}, { runId });
    await indexedEngine.indexer.update();
    const laterIndexer = createIndexer(indexedEngine);
    expect(await laterIndexer.updateTotals()).toBe(false);
    expect(await readRunCounts(indexedEngine.db)).toEqual(BUCKET_WIDTHS_MS.map(() => 2));
    await indexedEngine.engine.deleteRun('r1');
    await laterIndexer.update();
    expect(await readRunCounts(indexedEngine.db)).toEqual(BUCKET_WIDTHS_MS.map(() => 1));
    await indexedEngine.engine.execute(id, {}, { runId: 'r3' });
    await laterIndexer.update();
    await laterIndexer.updateTotals();
    expect(await readRunCounts(indexedEngine.db)).toEqual(BUCKET_WIDTHS_MS.map(() => 2));
    expect(indexedEngine.errors).toEqual([]);
  });

  it('include runs that were logged before the migration that creates the totals', async () => {
    const { '0003': _totals, ...earlierMigrations } = LOG_MIGRATIONS;
    const location =
      name === 'postgres'
        ? { url: await createPostgresDatabase() }
        : { file: `${createDataFolder(onTestFinished)}/api.db` };
    const database = await openDatabase(location);
    onTestFinished(() => database.db.destroy());
    await database.migrate('logs', earlierMigrations);
    const db = database.db as unknown as LogDb;
    await sql`insert into workspaces (id, name, personal_keys, created_at) values ('looms', 'L', 1, '')`.execute(
      db,
    );
    await addWorkflow(db, 'w0');
    await sql`insert into run_logs (engine_id, run_id, workspace_id, workflow_id, status, level, trigger, started_ms, ended_ms,
        duration_ms, cost, bytes, is_child, seq)
      values ('old', 'old', 'looms', 'w0', 'completed', 'info', 'api', ${START_MS}, ${START_MS + 5}, 5, 0.25, -1, 0, 1)`.execute(
      db as Kysely<unknown>,
    );
    await database.migrate('logs', LOG_MIGRATIONS);
    const window = windowOf(START_MS, START_MS + 86_400_000, 1);
    const row = { workflow_id: 'w0', segment: 0, total: 1, errors: 0, duration: 5, ended: 1, cost: 250_000 };
    expect(await readStats(db, {}, window)).toEqual([row]);
    await addAllToTotals(db);
    expect(await readRunCounts(db)).toEqual(BUCKET_WIDTHS_MS.map(() => 1));
    expect(await readStats(db, {}, window)).toEqual([row]);
  });
});
