import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { hasPostgres, createPostgresDatabase } from '../../../../test/support/postgres.ts';
import { LOG_MIGRATIONS } from '../logs/migrations.ts';
import type { LogTables } from '../logs/tables.ts';
import { openDatabase } from './database.ts';
import type { DatabaseLocation, Db, OpenDatabase } from './database.ts';
import { listQuery } from './list-query.ts';
import type { WorkflowListQuery } from './list-query.ts';
import { ReservationStore } from './reservations.ts';
import { WorkflowStore } from './workflows.ts';

const QUERY: WorkflowListQuery = {
  ...{ workspaceId: 'looms', archived: false, sortBy: 'runCount', sortOrder: 'desc', limit: 10 },
};

async function open(location: DatabaseLocation, logMigrations = LOG_MIGRATIONS): Promise<OpenDatabase> {
  const database = await openDatabase(location);
  onTestFinished(() => database.db.destroy());
  await database.migrate('logs', logMigrations);
  await database.db
    .insertInto('workspaces')
    .values({ id: 'looms', name: 'L', personal_keys: 1, created_at: '' })
    .execute();
  return database;
}

async function addWorkflows(db: Db, ...ids: string[]): Promise<void> {
  const createdAt = '2026-01-01T00:00:00.000Z';
  for (const [position, id] of ids.entries()) {
    const row = { workspace_id: 'looms', name: id, description: null, folder_path: '/', position };
    await db
      .insertInto('workflows')
      .values({
        ...{ id, ...row, state: '{}', active_version: null, deployed_at: null, public_api: 0 },
        ...{ created_at: createdAt, updated_at: createdAt, archived_at: null },
      })
      .execute();
  }
}

/** Reserves a run, and adds its row to the log. */
async function addRun(
  db: Db,
  id: string,
  run: { workflowId: string; reserved: boolean; state: 'queued' | 'running' | 'ended' | 'deleted' },
): Promise<void> {
  const { workflowId, reserved, state } = run;
  const reservations = new ReservationStore(db);
  const reservedAt = '2026-01-01T00:00:05.000Z';
  const fields = {
    engineRunId: id,
    runId: id,
    workflowId,
    workspaceId: 'looms',
    createdAt: reservedAt,
  } as const;
  if (reserved) await reservations.reserve({ ...fields, trigger: 'api', mode: 'sync' });
  if (state === 'queued') await reservations.queue.add(id, { input: {}, version: 1 });
  if (state === 'queued' || state === 'deleted') return;
  const endedMs = state === 'ended' ? 2 : null;
  await sql`insert into run_logs (engine_id, run_id, workspace_id, workflow_id, status, level, trigger, started_ms, ended_ms,
      duration_ms, cost, bytes, is_child, seq)
    values (${id}, ${id}, 'looms', ${workflowId}, 'running', 'info', 'api', 1, ${endedMs}, -1, -1, -1, 0, 1)`.execute(
    db,
  );
}

async function listIds(db: Db, query: Partial<WorkflowListQuery> = {}): Promise<string[]> {
  return (await listQuery(db, { ...QUERY, ...query }).execute()).map(({ id }) => id);
}

const DATABASES: { [name: string]: () => Promise<DatabaseLocation> } = {
  SQLite: () => Promise.resolve({ file: `${createDataFolder(onTestFinished)}/api.db` }),
  ...(hasPostgres && { PostgreSQL: async () => ({ url: await createPostgresDatabase() }) }),
};

describe.each(Object.entries(DATABASES))('the counts of runs on %s', (_name, createLocation) => {
  it('determine the order of lists', async () => {
    const { db } = await open(await createLocation());
    await addWorkflows(db, 'none', 'one', 'two');
    for (const [id, runs] of [
      ['one', 1],
      ['two', 2],
    ] as const)
      await db.updateTable('run_counts').set({ runs }).where('workflow_id', '=', id).execute();
    expect(await listIds(db)).toEqual(['two', 'one', 'none']);
    expect(await listIds(db, { sortOrder: 'asc', after: [0, 'none'] })).toEqual(['one', 'two']);
  });

  it('are kept when the log replaces the database triggers, and then include ended runs without a reservation', async () => {
    const { '0001': firstMigration } = LOG_MIGRATIONS;
    if (!firstMigration) throw new Error('A migration is missing.');
    const { db, migrate } = await open(await createLocation(), { '0001': firstMigration });
    await addWorkflows(db, 'none', 'some');
    const [workflowId, reserved] = ['some', true];
    await addRun(db, 'running', { workflowId, reserved, state: 'running' });
    await addRun(db, 'ended', { workflowId, reserved, state: 'ended' });
    await addRun(db, 'deleted', { workflowId, reserved, state: 'deleted' });
    await addRun(db, 'queued', { workflowId, reserved, state: 'queued' });
    await addRun(db, 'child', { workflowId, reserved: false, state: 'ended' });
    await addRun(db, 'open child', { workflowId, reserved: false, state: 'running' });
    const readCounts = () => new WorkflowStore(db).readRunCounts(['none', 'some']);
    expect((await readCounts()).get('some')).toEqual({ count: 4, lastStartedAt: '2026-01-01T00:00:05.000Z' });
    await migrate('logs', LOG_MIGRATIONS);
    expect(await readCounts()).toEqual(
      new Map([
        ['none', { count: 0, lastStartedAt: null }],
        ['some', { count: 4, lastStartedAt: '2026-01-01T00:00:05.000Z' }],
      ]),
    );
    // `running` and `deleted` remain counted. `ended` and `child` have ended. `queued` is counted when it ends.
    const rows = await (db as unknown as Kysely<LogTables>)
      .selectFrom('run_logs')
      .select('engine_id')
      .where('counted', '=', 0)
      .execute();
    expect(rows).toEqual([{ engine_id: 'open child' }]);
    // Reservations are no longer counted.
    await addRun(db, 'later', { workflowId, reserved, state: 'deleted' });
    await new ReservationStore(db).release('ended');
    expect((await readCounts()).get('some')?.count).toBe(4);
  });

  it('are read without reading the runs', async () => {
    const { db } = await open(await createLocation());
    const { sql: text } = listQuery(db, QUERY).compile();
    expect(text).toContain('run_counts');
    expect(text).not.toContain('claims');
  });
});
