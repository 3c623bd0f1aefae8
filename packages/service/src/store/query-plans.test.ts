import { CompiledQuery } from 'kysely';
import type { Kysely } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { pageQuery } from '../logs/query.ts';
import type { LogPageQuery } from '../logs/query.ts';
import type { LogTables } from '../logs/tables.ts';
import type { Db } from './database.ts';
import { listQuery } from './list-query.ts';
import type { WorkflowListQuery } from './list-query.ts';
import { openServiceStore } from './open.ts';

const store = await openServiceStore();
afterAll(() => store.close());
const { database } = store;
const db = database as Db;

/** How SQLite reads the rows of a query, as one text. */
async function planOf(query: { compile(): CompiledQuery }): Promise<string> {
  const { sql, parameters } = query.compile();
  const explained = CompiledQuery.raw(`EXPLAIN QUERY PLAN ${sql}`, [...parameters]);
  const { rows } = await db.executeQuery<{ detail: string }>(explained);
  return rows.map(({ detail }) => detail).join('\n');
}

const ORDERS = ['asc', 'desc'] as const;

describe('a page of workflows', () => {
  const base: WorkflowListQuery = {
    ...{ workspaceId: 'looms', archived: false, sortBy: 'name', sortOrder: 'asc', limit: 50 },
  };
  const FILTERS: readonly Partial<WorkflowListQuery>[] = [
    {},
    { after: ['m', 'w1'] },
    { folderPath: '/Mail', deployedOnly: true },
    { search: 'mail' },
  ];
  const sorts = ['name', 'position', 'createdAt', 'updatedAt'] as const;
  const rows = sorts.flatMap((sortBy) =>
    ORDERS.flatMap((sortOrder) => FILTERS.map((filter) => ({ sortBy, sortOrder, ...filter }))),
  );

  it.each(rows)('is read in the order of an index: %j', async (row) => {
    const plan = await planOf(listQuery(db, { ...base, ...row }));
    expect(plan).toMatch(/USING (COVERING )?INDEX/);
    expect(plan).not.toMatch(/\bSCAN\b|TEMP B-TREE/);
  });

  it('by the number of runs is sorted: counts change too often for an index', async () => {
    const plan = await planOf(listQuery(db, { ...base, sortBy: 'runCount' }));
    expect(plan).toMatch(
      /SEARCH workflows USING INDEX[^]*SEARCH run_counts USING[^]*TEMP B-TREE FOR ORDER BY/,
    );
    expect(plan).not.toContain('SCAN');
  });
});

describe('a page of the log', () => {
  const base: LogPageQuery = { workspaceId: 'looms', sortBy: 'startedAt', sortOrder: 'desc', limit: 50 };
  const FILTERS: readonly Partial<LogPageQuery>[] = [
    {},
    { after: [7, 'r1'] },
    { statuses: ['failed'], triggers: ['api'], level: 'error' },
    { workflowIds: ['w1', 'w2'] },
  ];
  const sorts = ['startedAt', 'durationMs', 'cost', 'status'] as const;
  const rows = sorts.flatMap((sortBy) =>
    ORDERS.flatMap((sortOrder) => FILTERS.map((filter) => ({ sortBy, sortOrder, ...filter }))),
  );

  it.each(rows)('is read in the order of an index: %j', async (row) => {
    const plan = await planOf(pageQuery(database as Kysely<LogTables>, { ...base, ...row }));
    expect(plan).toMatch(/USING (COVERING )?INDEX/);
    expect(plan).not.toMatch(/\bSCAN\b|TEMP B-TREE/);
  });

  it.each([...ORDERS])('of a time is read by the index of the time, %s', async (sortOrder) => {
    const time = { fromMs: 1, toMs: 9, minDurationMs: 1 };
    const byTime = await planOf(pageQuery(database as Kysely<LogTables>, { ...base, ...time, sortOrder }));
    expect(byTime).toMatch(/SEARCH run_logs USING INDEX \w+ \(workspace_id=\? AND started_ms>\?/);
    expect(byTime).not.toContain('TEMP B-TREE');
    const other = { ...base, ...time, sortOrder, sortBy: 'cost' } as const;
    expect(await planOf(pageQuery(database as Kysely<LogTables>, other))).toMatch(/started_ms>\?/);
  });
});
