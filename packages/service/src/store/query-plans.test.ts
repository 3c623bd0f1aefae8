import { CompiledQuery, sql } from 'kysely';
import type { Kysely } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasPostgres, createPostgresDatabase } from '../../../../test/support/postgres.ts';
import { pageQuery } from '../logs/query.ts';
import type { LogPageQuery } from '../logs/query.ts';
import { windowOf } from '../logs/stats.ts';
import { statsQueryOf } from '../logs/stats-query.ts';
import type { LogTables } from '../logs/tables.ts';
import type { Db } from './database.ts';
import { listQuery } from './list-query.ts';
import type { WorkflowListQuery } from './list-query.ts';
import { openServiceStore } from './open.ts';
import type { ServiceStore } from './open.ts';

const SECRET = 'a secret that is only for the tests of this file';

/** A database, and what its query plans contain. */
interface TestDatabase {
  open(): Promise<ServiceStore>;
  /** Returns the plan with which the database reads the rows of a query, as one string. */
  planOf(db: Db, query: CompiledQuery): Promise<string>;
  /** Matches a plan that reads rows from an index. */
  indexScan: RegExp;
  /** Matches a plan that reads all rows, or sorts rows. */
  slowScan: RegExp;
  /** Matches a plan that reads the workflows of a workspace by an index and their counts by the key, and sorts them. */
  sortByRuns: RegExp;
  /** Matches a plan in which a condition on the time is a part of the search in the index. */
  searchByTime: RegExp;
  /**
   * Steps in the plan of the statistics query, and how often each occurs. The query searches the totals of several
   * period widths, and the log.
   */
  statisticsSearches: { [step: string]: number };
}

const sqlite: TestDatabase = {
  open: () => openServiceStore(),
  async planOf(db, query) {
    const explainQuery = CompiledQuery.raw(`EXPLAIN QUERY PLAN ${query.sql}`, [...query.parameters]);
    const { rows } = await db.executeQuery<{ detail: string }>(explainQuery);
    return rows.map(({ detail }) => detail).join('\n');
  },
  indexScan: /USING (COVERING )?INDEX/,
  slowScan: /\bSCAN\b|TEMP B-TREE/,
  sortByRuns: /SEARCH workflows USING INDEX[^]*SEARCH run_counts USING[^]*TEMP B-TREE FOR ORDER BY/,
  searchByTime: /SEARCH run_logs USING INDEX \w+ \(workspace_id=\? AND started_ms>\?/,
  statisticsSearches: {
    'SEARCH run_totals USING PRIMARY KEY (workspace_id=? AND width_ms=? AND start_ms>? AND start_ms<?)': 4,
    'SEARCH run_logs USING COVERING INDEX run_logs_started (workspace_id=? AND started_ms>? AND started_ms<?)': 1,
    'SEARCH run_logs USING INDEX run_logs_untotalled (workspace_id=? AND started_ms>? AND started_ms<?)': 1,
  },
};

const postgres: TestDatabase = {
  open: async () => openServiceStore({ postgres: { url: await createPostgresDatabase() }, secret: SECRET }),
  planOf: (db, query) =>
    db.transaction().execute(async (tx) => {
      // The tables are empty, so a scan of all rows with a sort is cheapest. Disabled methods are used only without an
      // index.
      for (const method of ['seqscan', 'bitmapscan', 'sort', 'incremental_sort', 'hashjoin', 'mergejoin'])
        await sql`set local ${sql.raw(`enable_${method}`)} = off`.execute(tx);
      const explainQuery = CompiledQuery.raw(`EXPLAIN ${query.sql}`, [...query.parameters]);
      const { rows } = await tx.executeQuery<{ 'QUERY PLAN': string }>(explainQuery);
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    }),
  indexScan: /Index (Only )?Scan/,
  slowScan: /Seq Scan|\bSort\b|Bitmap/,
  sortByRuns: /Sort[^]*Index Scan using workflows_\w+ on workflows[^]*Index Scan using run_counts_pkey/,
  searchByTime: /Index Cond: \(\(workspace_id = '\w+'::text\) AND \(started_ms >= /,
  statisticsSearches: {
    'Index Scan using run_totals_key': 4,
    // Every index of an empty table costs the same.
    ' using run_logs_': 2,
  },
};

const DATABASES: { [name: string]: TestDatabase } = {
  SQLite: sqlite,
  ...(hasPostgres && { PostgreSQL: postgres }),
};
const ORDERS = ['asc', 'desc'] as const;

const WORKFLOW_QUERY: WorkflowListQuery = {
  ...{ workspaceId: 'looms', archived: false, sortBy: 'name', sortOrder: 'asc', limit: 50 },
};
const WORKFLOW_FILTERS: readonly Partial<WorkflowListQuery>[] = [
  {},
  { after: ['m', 'w1'] },
  { folderPath: '/Mail', deployedOnly: true },
  { search: 'mail' },
];
const WORKFLOW_QUERIES = (['name', 'position', 'createdAt', 'updatedAt'] as const).flatMap((sortBy) =>
  ORDERS.flatMap((sortOrder) =>
    WORKFLOW_FILTERS.map((filter) => ({
      ...{ sortBy, sortOrder, ...filter },
      ...(filter.after && sortBy === 'position' && { after: [1, 'w1'] as const }),
    })),
  ),
);

const LOG_QUERY: LogPageQuery = { workspaceId: 'looms', sortBy: 'startedAt', sortOrder: 'desc', limit: 50 };
const LOG_FILTERS: readonly Partial<LogPageQuery>[] = [
  {},
  { afterPosition: [7, 'r1'] },
  { statuses: ['failed'], triggers: ['api'], level: 'error' },
  { workflowIds: ['w1', 'w2'] },
];
const LOG_QUERIES = (['startedAt', 'durationMs', 'cost', 'status'] as const).flatMap((sortBy) =>
  ORDERS.flatMap((sortOrder) =>
    LOG_FILTERS.map((filter) => ({
      ...{ sortBy, sortOrder, ...filter },
      ...(filter.afterPosition && sortBy === 'status' && { afterPosition: ['failed', 'r1'] as const }),
    })),
  ),
);

describe.each(Object.entries(DATABASES))('on %s', (_name, database) => {
  let store: ServiceStore;
  beforeAll(async () => {
    store = await database.open();
  });
  afterAll(() => store.close());
  const workflowQueryPlan = (query: Partial<WorkflowListQuery>): Promise<string> => {
    const db = store.database as Db;
    return database.planOf(db, listQuery(db, { ...WORKFLOW_QUERY, ...query }).compile());
  };
  const logQueryPlan = (query: Partial<LogPageQuery>): Promise<string> => {
    const logDb = store.database as Kysely<LogTables>;
    return database.planOf(store.database as Db, pageQuery(logDb, { ...LOG_QUERY, ...query }).compile());
  };

  it.each(WORKFLOW_QUERIES)('a page of workflows is read in the order of an index: %j', async (query) => {
    const plan = await workflowQueryPlan(query);
    expect(plan).toMatch(database.indexScan);
    expect(plan).not.toMatch(database.slowScan);
  });

  it('a page by the number of runs is sorted: counts change too often for an index', async () => {
    const plan = await workflowQueryPlan({ sortBy: 'runCount' });
    expect(plan).toMatch(database.sortByRuns);
    expect(plan).not.toMatch(/\bSCAN\b|Seq Scan/);
  });

  it.each(LOG_QUERIES)('a page of the log is read in the order of an index: %j', async (query) => {
    const plan = await logQueryPlan(query);
    expect(plan).toMatch(database.indexScan);
    expect(plan).not.toMatch(database.slowScan);
  });

  it('statistics search the index of the totals and of the log for each period', async () => {
    const window = windowOf(1, 9e9, 72);
    const filters = { workspaceId: 'looms', triggers: ['api'], workflowIds: ['w1'] };
    const query = statsQueryOf(filters, window).compile(store.database);
    const plan = await database.planOf(store.database as Db, query);
    for (const [step, count] of Object.entries(database.statisticsSearches))
      expect([step, plan.split(step).length - 1]).toEqual([step, count]);
    expect(plan).not.toMatch(/SCAN run_|Seq Scan/);
  });

  it.each([...ORDERS])('a page of a period is read from the index by time, %s', async (sortOrder) => {
    const period = { fromMs: 1, toMs: 9, minDurationMs: 1, sortOrder };
    const plan = await logQueryPlan(period);
    expect(plan).toMatch(database.searchByTime);
    expect(plan).not.toMatch(database.slowScan);
  });
});

it.each([...ORDERS])(
  'on SQLite a page of a period in another order also searches by time, %s',
  async (sortOrder) => {
    const store = await openServiceStore();
    const query = { ...LOG_QUERY, fromMs: 1, toMs: 9, minDurationMs: 1, sortOrder, sortBy: 'cost' } as const;
    const compiledQuery = pageQuery(store.database as Kysely<LogTables>, query).compile();
    expect(await sqlite.planOf(store.database as Db, compiledQuery)).toMatch(/started_ms>\?/);
    await store.close();
  },
);
