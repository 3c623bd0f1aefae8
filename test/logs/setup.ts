import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import type { Json } from '@heddle/core';
import { openServiceStore } from '@heddle/service';
import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { onTestFinished } from 'vitest';
import { LogIndexer } from '../../packages/service/src/logs/indexer.ts';
import { Triggers } from '../../packages/service/src/triggers/triggers.ts';
import type { NewLog } from '../../packages/service/src/logs/store.ts';
import type { LogRow, LogTables } from '../../packages/service/src/logs/tables.ts';

export type LogDb = Kysely<LogTables>;

const NOW = '2026-01-01T00:00:00.000Z';

/** Returns a database with the tables of the service and two workspaces. `url`: PostgreSQL instead of SQLite in memory. */
export async function logDatabase(url?: string): Promise<LogDb> {
  const schema = `s${crypto.randomUUID().replaceAll('-', '')}`;
  const store = await openServiceStore(
    url === undefined ? {} : { postgres: { url, schema }, secret: 'x'.repeat(32) },
  );
  onTestFinished(() => store.close());
  const db = store.database as LogDb;
  for (const id of ['looms', 'other'])
    await sql`insert into workspaces (id, name, personal_keys, created_at) values (${id}, ${id}, 1, ${NOW})`.execute(
      db,
    );
  return db;
}

/** Adds a workflow to a workspace. */
export async function addWorkflow(
  db: LogDb,
  id: string,
  { workspaceId = 'looms', name = id, folder = '/' } = {},
): Promise<void> {
  await sql`insert into workflows (id, workspace_id, name, folder_path, position, state, created_at, updated_at)
    values (${id}, ${workspaceId}, ${name}, ${folder}, 0, '{}', ${NOW}, ${NOW})`.execute(db);
}

/** Returns a row of a completed run that started `minute` minutes after the beginning of 2026. */
export function logRow(id: string, minute: number, row: Partial<NewLog> = {}): NewLog {
  const startedMs = Date.parse(NOW) + minute * 60_000;
  return {
    engine_id: id,
    run_id: id,
    workspace_id: 'looms',
    workflow_id: 'w',
    version: null,
    status: 'completed',
    level: 'info',
    trigger: 'api',
    started_ms: startedMs,
    ended_ms: startedMs + 1000,
    duration_ms: 1000,
    cost: -1,
    bytes: -1,
    is_child: 0,
    seq: 1,
    models: [],
    ...row,
  };
}

export async function rowsOf(db: LogDb): Promise<LogRow[]> {
  return db.selectFrom('run_logs').selectAll().orderBy('run_id').execute();
}

export interface Indexed {
  db: LogDb;
  engine: Engine;
  indexer: LogIndexer;
  faults: unknown[];
}

/** Opens an engine and an index of its runs, which is updated only by explicit calls. */
export async function indexed(
  options: { engine?: EngineOptions; url?: string | undefined } = {},
): Promise<Indexed> {
  const db = await logDatabase(options.url);
  const engine = await createEngine(options.engine);
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const faults: unknown[] = [];
  const indexer = indexerOf({ db, engine, faults });
  return { db, engine, indexer, faults };
}

/** Opens another index of the same engine and database. */
export function indexerOf({ db, engine, faults }: Omit<Indexed, 'indexer'>): LogIndexer {
  return new LogIndexer({
    engine,
    db,
    every: () => () => undefined,
    report: (error) => faults.push(error),
    ...{ now: Date.now, triggers: new Triggers() },
  });
}

/** Deploys the exported workflow under a new id. */
export async function deploy(
  { db, engine }: Pick<Indexed, 'db' | 'engine'>,
  exported: Json,
): Promise<string> {
  const { workflowId } = await engine.deploy(exported);
  await addWorkflow(db, workflowId);
  return workflowId;
}
