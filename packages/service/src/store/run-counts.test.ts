import { describe, expect, it, onTestFinished } from 'vitest';
import { dataFolder } from '../../../../test/support/data-folder.ts';
import { hasPostgres, postgresDatabase } from '../../../../test/support/postgres.ts';
import { openDatabase } from './database.ts';
import type { DatabaseLocation, Db } from './database.ts';
import { listQuery } from './list-query.ts';
import type { WorkflowListQuery } from './list-query.ts';
import { MIGRATIONS } from './migrations.ts';
import { ReservationStore } from './reservations.ts';

const QUERY: WorkflowListQuery = {
  ...{ workspaceId: 'looms', archived: false, sortBy: 'runCount', sortOrder: 'desc', limit: 10 },
};

async function open(location: DatabaseLocation, until?: string): Promise<Db> {
  const known = Object.entries(MIGRATIONS).filter(([name]) => until === undefined || name <= until);
  const { db } = await openDatabase(location, Object.fromEntries(known));
  onTestFinished(() => db.destroy());
  return db;
}

async function addWorkflows(db: Db, ...ids: string[]): Promise<void> {
  const at = '2026-01-01T00:00:00.000Z';
  for (const [position, id] of ids.entries()) {
    const row = { workspace_id: 'looms', name: id, description: null, folder_path: '/', position };
    await db
      .insertInto('workflows')
      .values({
        ...{ id, ...row, state: '{}', active_version: null, deployed_at: null, public_api: 0 },
        ...{ created_at: at, updated_at: at, archived_at: null },
      })
      .execute();
  }
}

/** Reserves a run id for each workflow. Each id has the number of its call. */
function reserver(db: Db): (...workflowIds: string[]) => Promise<void> {
  const reservations = new ReservationStore(db);
  let number = 0;
  return async (...workflowIds) => {
    for (const workflowId of workflowIds) {
      number += 1;
      const ids = { engineId: `e${number}`, runId: `r${number}`, workflowId, workspaceId: 'looms' };
      const createdAt = `2026-01-01T00:00:0${number}.000Z`;
      await reservations.reserve({ ...ids, trigger: 'api', mode: 'sync', createdAt });
    }
  };
}

async function sortedIds(db: Db, query: Partial<WorkflowListQuery> = {}): Promise<string[]> {
  return (await listQuery(db, { ...QUERY, ...query }).execute()).map(({ id }) => id);
}

const DATABASES: { [name: string]: () => Promise<DatabaseLocation> } = {
  SQLite: () => Promise.resolve({ file: `${dataFolder(onTestFinished)}/api.db` }),
  ...(hasPostgres && { PostgreSQL: async () => ({ url: await postgresDatabase() }) }),
};

describe.each(Object.entries(DATABASES))('the counts of runs on %s', (_name, location) => {
  it('follow reservations and releases, and give the order of lists', async () => {
    const db = await open(await location());
    await db
      .insertInto('workspaces')
      .values({ id: 'looms', name: 'L', personal_keys: 1, created_at: '' })
      .execute();
    await addWorkflows(db, 'none', 'one', 'two');
    await reserver(db)('two', 'one', 'two', 'unknown');
    expect(await sortedIds(db)).toEqual(['two', 'one', 'none']);
    expect(await sortedIds(db, { sortOrder: 'asc', after: [0, 'none'] })).toEqual(['one', 'two']);
    const store = new ReservationStore(db);
    const counts = () => store.counts(['none', 'one', 'two']);
    expect(await counts()).toEqual(
      new Map([
        ['none', { count: 0, last: null }],
        ['one', { count: 1, last: '2026-01-01T00:00:02.000Z' }],
        ['two', { count: 2, last: '2026-01-01T00:00:03.000Z' }],
      ]),
    );
    await store.release('e3');
    await store.release('e2');
    expect(await counts()).toEqual(
      new Map([
        ['none', { count: 0, last: null }],
        ['one', { count: 0, last: null }],
        ['two', { count: 1, last: '2026-01-01T00:00:01.000Z' }],
      ]),
    );
  });

  it('begin with the runs that there are, and are right when many are reserved at once', async () => {
    const at = await location();
    const before = await open(at, '0004');
    await before
      .insertInto('workspaces')
      .values({ id: 'looms', name: 'L', personal_keys: 1, created_at: '' })
      .execute();
    await addWorkflows(before, 'none', 'some');
    await reserver(before)('some', 'some');
    const db = await open(at);
    const store = new ReservationStore(db);
    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        store.reserve({
          ...{ engineId: `m${index}`, runId: `m${index}`, workflowId: 'some', workspaceId: 'looms' },
          ...{ trigger: 'api', mode: 'sync', createdAt: '2025-01-01T00:00:00.000Z' },
        }),
      ),
    );
    expect(await store.counts(['none', 'some'])).toEqual(
      new Map([
        ['none', { count: 0, last: null }],
        ['some', { count: 42, last: '2026-01-01T00:00:02.000Z' }],
      ]),
    );
  });

  it('are read without the runs', async () => {
    const db = await open(await location());
    const { sql } = listQuery(db, QUERY).compile();
    expect(sql).toContain('run_counts');
    expect(sql).not.toContain('claims');
  });
});
