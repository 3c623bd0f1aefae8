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

const YEAR_START = '2026-01-01T00:00:00.000Z';

/** Opens a database of the service with two workspaces: in memory, or on PostgreSQL if there is a `url`. */
export async function openLogDatabase(url?: string): Promise<LogDb> {
  const schema = `s${crypto.randomUUID().replaceAll('-', '')}`;
  const store = await openServiceStore(
    url === undefined ? {} : { postgres: { url, schema }, secret: 'x'.repeat(32) },
  );
  onTestFinished(() => store.close());
  const db = store.database as LogDb;
  for (const id of ['looms', 'other'])
    await sql`insert into workspaces (id, name, personal_keys, created_at) values (${id}, ${id}, 1, ${YEAR_START})`.execute(
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
    values (${id}, ${workspaceId}, ${name}, ${folder}, 0, '{}', ${YEAR_START}, ${YEAR_START})`.execute(db);
}

/** Returns a row of a completed run that started `minute` minutes after the beginning of 2026. */
export function createLogRow(id: string, minute: number, overrides: Partial<NewLog> = {}): NewLog {
  const startedMs = Date.parse(YEAR_START) + minute * 60_000;
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
    ...overrides,
  };
}

/** Returns all rows of the log, ordered by run id. */
export async function readLogRows(db: LogDb): Promise<LogRow[]> {
  return db.selectFrom('run_logs').selectAll().orderBy('run_id').execute();
}

/** An engine, and an index of its runs in a database of the service. */
export interface IndexedEngine {
  db: LogDb;
  engine: Engine;
  indexer: LogIndexer;
  /** Errors that the index reported. */
  errors: unknown[];
}

/** Opens an engine and an index of its runs. Only explicit calls update the index. */
export async function openIndexedEngine(
  options: { engine?: EngineOptions; url?: string | undefined } = {},
): Promise<IndexedEngine> {
  const db = await openLogDatabase(options.url);
  const engine = await createEngine(options.engine);
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const errors: unknown[] = [];
  const indexer = createIndexer({ db, engine, errors });
  return { db, engine, indexer, errors };
}

/** Returns an indexer of the engine that writes to the database. */
export function createIndexer({ db, engine, errors }: Omit<IndexedEngine, 'indexer'>): LogIndexer {
  return new LogIndexer({
    engine,
    db,
    repeat: () => () => undefined,
    onError: (error) => errors.push(error),
    now: Date.now,
    triggers: new Triggers(),
  });
}

/** Deploys the workflow and adds it to a workspace. Returns its id. */
export async function deploy(
  { db, engine }: Pick<IndexedEngine, 'db' | 'engine'>,
  workflow: Json,
): Promise<string> {
  const { workflowId } = await engine.deploy(workflow);
  await addWorkflow(db, workflowId);
  return workflowId;
}
