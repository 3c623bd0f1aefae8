import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { pageQuery } from '../../packages/service/src/logs/query.ts';
import type { LogPageQuery, LogPosition } from '../../packages/service/src/logs/query.ts';
import {
  findEarliestStart,
  readPageOfLogs,
  saveLogs,
  readStatsRows,
} from '../../packages/service/src/logs/store.ts';
import { addBatchToTotals } from '../../packages/service/src/logs/totals.ts';
import { windowOf } from '../../packages/service/src/logs/stats.ts';
import type { NewLog } from '../../packages/service/src/logs/store.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';
import { addWorkflow, openLogDatabase, createLogRow } from './setup.ts';
import type { LogDb } from './setup.ts';

const QUERY: LogPageQuery = { workspaceId: 'looms', sortBy: 'startedAt', sortOrder: 'desc', limit: 100 };

async function readIds(db: LogDb, query: Partial<LogPageQuery>): Promise<string[]> {
  return (await readPageOfLogs(db, { ...QUERY, ...query })).rows.map(({ run_id: id }) => id);
}

/** Returns all ids, read page by page. */
async function readIdsInPages(db: LogDb, query: Partial<LogPageQuery>): Promise<string[]> {
  const ids: string[] = [];
  let position: LogPosition | undefined;
  do {
    const { rows, next } = await readPageOfLogs(db, {
      ...QUERY,
      ...query,
      limit: 2,
      afterPosition: position,
    });
    ids.push(...rows.map(({ run_id: id }) => id));
    position = next;
  } while (position);
  return ids;
}

const ROWS: NewLog[] = [
  createLogRow('a', 1, { workflow_id: 'w1', duration_ms: 500, cost: 0.5, models: ['m-1', 'm-2'] }),
  createLogRow('b', 2, { workflow_id: 'w1', status: 'failed', level: 'error', trigger: 'manual' }),
  createLogRow('c', 3, { workflow_id: 'w2', status: 'running', ended_ms: null, duration_ms: -1 }),
  createLogRow('d', 4, { workflow_id: 'w3', duration_ms: 1000, cost: 2, models: ['m-2'] }),
  createLogRow('e', 5, { workflow_id: 'w3', status: 'cancelled', trigger: 'schedule' }),
  createLogRow('x', 6, { workflow_id: 'foreign', workspace_id: 'other' }),
];

async function openFilledDatabase(url?: string): Promise<LogDb> {
  const db = await openLogDatabase(url);
  await addWorkflow(db, 'w1', { name: 'Weave', folder: '/' });
  await addWorkflow(db, 'w2', { name: 'Spin 100%', folder: '/north' });
  await addWorkflow(db, 'w3', { name: 'Spin', folder: '/north/mill' });
  await addWorkflow(db, 'foreign', { workspaceId: 'other', name: 'Weave' });
  await saveLogs(db, ROWS);
  return db;
}

const STORE_NAMES = storesToTest('lists of the log');

describe.each(STORE_NAMES)('lists of the log on %s', (name) => {
  let url: string | undefined;
  beforeAll(async () => {
    url = name === 'postgres' ? await createPostgresDatabase() : undefined;
  });

  it('have the runs of the workspace, newest first, and filter by every field', async () => {
    const db = await openFilledDatabase(url);
    expect(await readIds(db, {})).toEqual(['e', 'd', 'c', 'b', 'a']);
    const start = Date.parse('2026-01-01T00:00:00Z');
    const filters: [Partial<LogPageQuery>, string[]][] = [
      [{ workflowIds: ['w1'] }, ['b', 'a']],
      [{ workflowIds: ['w1', 'w2', 'foreign'] }, ['c', 'b', 'a']],
      [{ workflowIds: ['foreign'] }, []],
      [{ workflowIds: [] }, []],
      [{ folderPaths: ['/north'] }, ['e', 'd', 'c']],
      [{ folderPaths: ['/north/mill'] }, ['e', 'd']],
      [{ folderPaths: ['/nor'] }, []],
      [{ folderPaths: ['/'] }, ['e', 'd', 'c', 'b', 'a']],
      [{ workflowName: 'sPIN' }, ['e', 'd', 'c']],
      [{ workflowName: '100%' }, ['c']],
      [{ workflowName: '%' }, ['c']],
      [{ triggers: ['manual', 'schedule'] }, ['e', 'b']],
      [{ triggers: ['Manual'] }, []],
      [{ level: 'error' }, ['b']],
      [{ statuses: ['running', 'failed'] }, ['c', 'b']],
      [{ runId: 'b' }, ['b']],
      [{ runId: 'x' }, []],
      [{ fromMs: start + 2 * 60_000, toMs: start + 3 * 60_000 }, ['c', 'b']],
      [{ minDurationMs: 600 }, ['e', 'd', 'b']],
      [{ maxDurationMs: 600 }, ['a']],
      [{ minCost: 1 }, ['d']],
      [{ maxCost: 1 }, ['a']],
      [{ model: 'm-2' }, ['d', 'a']],
      [{ model: 'm-2', level: 'error' }, []],
    ];
    for (const [filter, ids] of filters) expect([filter, await readIds(db, filter)]).toEqual([filter, ids]);
  });

  it('sort by every field in both orders, with unknown values lowest, even across pages', async () => {
    const db = await openFilledDatabase(url);
    const orders: [LogPageQuery['sortBy'], string[]][] = [
      ['startedAt', ['a', 'b', 'c', 'd', 'e']],
      ['durationMs', ['c', 'a', 'b', 'd', 'e']],
      ['cost', ['b', 'c', 'e', 'a', 'd']],
      ['status', ['e', 'a', 'd', 'b', 'c']],
    ];
    for (const [sortBy, ids] of orders) {
      expect(await readIdsInPages(db, { sortBy, sortOrder: 'asc' })).toEqual(ids);
      expect(await readIdsInPages(db, { sortBy, sortOrder: 'desc' })).toEqual(ids.toReversed());
    }
  });

  it('never replace a row with an older state', async () => {
    const db = await openFilledDatabase(url);
    await saveLogs(db, [createLogRow('c', 3, { workflow_id: 'w2', status: 'completed', seq: 9 })]);
    await saveLogs(db, [createLogRow('c', 3, { workflow_id: 'w2', status: 'running', seq: 5 })]);
    expect((await readPageOfLogs(db, { ...QUERY, runId: 'c' })).rows).toMatchObject([
      { status: 'completed' },
    ]);
  });

  it('find runs by trigger, folder and workflow name, before and after the runs are added to the totals', async () => {
    const db = await openFilledDatabase(url);
    const queries: Partial<LogPageQuery>[] = [
      { triggers: ['manual', 'chat'] },
      { folderPaths: ['/north'] },
      { workflowName: 'SPIN', triggers: ['schedule'] },
      { triggers: ['chat'] },
      { workflowName: 'none' },
      { folderPaths: ['/south'], triggers: ['api'] },
    ];
    const expectedIds = [['b'], ['e', 'd', 'c'], ['e'], [], [], []];
    expect(await Promise.all(queries.map((query) => readIds(db, query)))).toEqual(expectedIds);
    await addBatchToTotals(db);
    await sql`delete from run_logs where run_id = 'c'`.execute(db);
    const remainingIds = expectedIds.map((ids) => ids.filter((id) => id !== 'c'));
    expect(await Promise.all(queries.map((query) => readIds(db, query)))).toEqual(remainingIds);
  });

  it('have statistics of runs, errors, durations and costs per workflow and period', async () => {
    const db = await openFilledDatabase(url);
    const fromMs = Date.parse('2026-01-01T00:00:00Z');
    const window = windowOf(fromMs, fromMs + 3_600_000, 20);
    const rows = await readStatsRows(db, { workspaceId: 'looms' }, window);
    expect(rows.toSorted((a, b) => (a.workflow_id < b.workflow_id ? -1 : 1))).toEqual([
      { workflow_id: 'w1', segment: 0, total: 2, errors: 1, duration: 1500, ended: 2, cost: 500_000 },
      { workflow_id: 'w2', segment: 1, total: 1, errors: 0, duration: 0, ended: 0, cost: 0 },
      { workflow_id: 'w3', segment: 1, total: 2, errors: 0, duration: 2000, ended: 2, cost: 2_000_000 },
    ]);
    expect(await findEarliestStart(db, { workspaceId: 'looms' })).toBe(fromMs + 60_000);
    expect(await findEarliestStart(db, { workspaceId: 'nowhere' })).toBeUndefined();
  });

  it('use an index: no query scans the whole table, and a page without filters needs no sort', async () => {
    const db = await openLogDatabase(url);
    await addWorkflow(db, 'w');
    await addRows(db, 40_000);
    await sql`analyze`.execute(db);
    const sortFields = ['startedAt', 'durationMs', 'cost', 'status'] as const;
    const sortedQueries: Partial<LogPageQuery>[] = sortFields.flatMap((sortBy) => [
      { sortBy },
      { sortBy, afterPosition: [sortBy === 'status' ? 'completed' : 1000, 'r5'] as const },
    ]);
    const filteredQueries: Partial<LogPageQuery>[] = [
      { statuses: ['failed'] },
      { level: 'error', triggers: ['api'] },
      { workflowIds: ['w3'] },
      { workflowIds: ['w3', 'w4'] },
      { folderPaths: ['/north'], workflowName: 'x' },
      { minDurationMs: 10, maxCost: 5 },
      { fromMs: 10, toMs: 20 },
      { runId: 'r7' },
      { model: 'm' },
    ];
    for (const query of [...sortedQueries, ...filteredQueries]) {
      const plan = await explainQuery(db, { ...QUERY, ...query, limit: 50 }, url !== undefined);
      const message = `${JSON.stringify(query)} ${plan}`;
      expect(plan, message).toMatch(/run_logs_\w+/);
      expect(plan, message).not.toMatch(/SCAN run_logs|Seq Scan on run_logs/);
      if (sortedQueries.includes(query)) expect(plan, message).not.toMatch(/TEMP B-TREE|Sort/);
    }
  });
});

/** Adds rows of ten workflows in four workspaces. */
async function addRows(db: LogDb, rowCount: number): Promise<void> {
  await sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(rowCount)})
    insert into run_logs (engine_id, run_id, workspace_id, workflow_id, status, level, trigger, started_ms, ended_ms,
      duration_ms, cost, bytes, is_child, seq, totalled)
    select 'r' || n, 'r' || n, case n % 4 when 0 then 'looms' else 'other' || (n % 4) end, 'w' || (n % 10),
      case n % 50 when 0 then 'failed' else 'completed' end, case n % 50 when 0 then 'error' else 'info' end,
      case n % 3 when 0 then 'manual' else 'api' end, n * 1000, n * 1000 + n % 700, n % 700, -1, -1, 0, 1, 1
    from numbers`.execute(db);
}

async function explainQuery(db: LogDb, query: LogPageQuery, isPostgres: boolean): Promise<string> {
  const { sql: text, parameters } = pageQuery(db, query).compile();
  const textFragments = text.split(isPostgres ? /\$\d+/ : /\?/);
  const sqlFragments = textFragments.flatMap((textFragment, index) =>
    index === 0 ? [sql.raw(textFragment)] : [sql`${parameters[index - 1]}`, sql.raw(textFragment)],
  );
  const explainPrefix = isPostgres ? sql`explain ` : sql`explain query plan `;
  const { rows } = await sql`${explainPrefix}${sql.join(sqlFragments, sql``)}`.execute(db);
  return JSON.stringify(rows);
}
