import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { BlockExecutor } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { EngineOptions, RunSummary } from '@heddle/engine';
import { sql } from 'kysely';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { LogIndexer } from '../../packages/service/src/logs/indexer.ts';
import { Triggers } from '../../packages/service/src/triggers/triggers.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { block, workflow } from '../support/workflow.ts';
import { addWorkflow, openLogDatabase, openIndexedEngine, readLogRows } from './setup.ts';

const RUN: RunSummary = {
  workflowId: 'w',
  status: 'completed',
  createdAt: '2026-01-01T00:00:00.000Z',
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T00:00:01.000Z',
  durationMs: 1000,
  version: null,
  callerId: null,
  parentRunId: null,
  blockTypes: ['agent'],
  seq: 1,
} as unknown as RunSummary;

/** Returns an index of the runs `r1` and `r2`. Reading the trace of `r1` throws the error. */
async function setUp(makeError: () => unknown, run: RunSummary = RUN) {
  const db = await openLogDatabase();
  await addWorkflow(db, 'w');
  let changes = ['r1', 'r2'].map((runId) => ({ runId, run }));
  const reports: string[] = [];
  const indexer = new LogIndexer({
    db,
    engine: {
      runChanges: async () => ({ changes, hasMore: false, acknowledge: async () => void (changes = []) }),
      getTrace: async (id: string) => {
        if (id === 'r1') throw makeError();
        return { type: 'run', children: [] };
      },
      readValue: async () => null,
    } as never,
    repeat: () => () => undefined,
    onError: (error) => reports.push(String(error)),
    now: Date.now,
    triggers: new Triggers(),
  });
  return { db, indexer, reports };
}

it('the index of runs includes a run with a corrupt record, and reports the run once without its content', async () => {
  const { db, indexer, reports } = await setUp(() => new SyntaxError('Unexpected token in "hunter2"'));
  await indexer.updateAll();
  await indexer.updateAll();
  expect((await readLogRows(db)).map(({ run_id: id }) => id)).toEqual(['r1', 'r2']);
  expect(reports).toEqual([expect.stringContaining('record of run r1 is corrupt')]);
  expect(reports.join()).not.toContain('hunter2');
});

it('the index of runs includes the failed runs of a webhook, even if one of them has a corrupt record', async () => {
  const failedRun = { ...RUN, status: 'failed', blockTypes: [] } as RunSummary;
  const { db, indexer, reports } = await setUp(() => new TypeError('"hunter2" is no list'), failedRun);
  for (const id of ['r1', 'r2'])
    await sql`insert into claims (engine_id, run_id, workflow_id, workspace_id, trigger, mode, created_at)
      values (${id}, ${id}, 'w', 'looms', 'webhook', 'async', '2026-01-01T00:00:00.000Z')`.execute(db);
  await indexer.updateAll();
  expect((await readLogRows(db)).map(({ run_id: id }) => id)).toEqual(['r1', 'r2']);
  expect(reports).toEqual([expect.stringContaining('record of run r1 is corrupt')]);
  expect(reports.join()).not.toContain('hunter2');
});

it('the index of runs does not skip a batch after a temporary error', async () => {
  const { db, indexer } = await setUp(() => new Error('connection lost'));
  await expect(indexer.updateAll()).rejects.toThrow('connection lost');
  expect(await readLogRows(db)).toEqual([]);
});

/** The store of an engine, and a function that runs SQL statements on it while no engine uses it. */
interface TestStore {
  options: Pick<EngineOptions, 'data' | 'postgres'>;
  runStatements(statements: readonly string[]): Promise<void> | void;
  /** The column of the table `logs` that has the logs of blocks. */
  logColumn: string;
}

const STORES: { [name: string]: () => TestStore | Promise<TestStore> } = {
  'a data folder': () => {
    const data = createDataFolder();
    return {
      options: { data },
      runStatements: (statements) => {
        const db = new DatabaseSync(join(data, 'heddle.db'));
        for (const statement of statements) db.exec(statement);
        db.close();
      },
      logColumn: 'logs',
    };
  },
  ...(hasPostgres && {
    PostgreSQL: async () => {
      const url = await createPostgresDatabase();
      return {
        options: { postgres: { url, schema: 'engine' } },
        runStatements: async (statements) => {
          const client = new Client({ connectionString: url });
          await client.connect();
          await client.query('SET search_path TO engine');
          for (const statement of statements) await client.query(statement);
          await client.end();
        },
        logColumn: 'log',
      };
    },
  }),
};

const HEADER = { workflowId: 'w', planHash: 'h', createdMs: 1 };
const RECORD = { status: 'completed', seq: 3 };

/** Corrupt headers and records, by the id of the run. */
const CORRUPT_COLUMNS: { [runId: string]: { header?: unknown; record?: unknown } } = {
  'corrupt-header': { header: '{' },
  'corrupt-header-null': { header: null },
  'corrupt-header-list': { header: [] },
  'corrupt-header-workflow': { header: { ...HEADER, workflowId: 7 } },
  'corrupt-header-nul': { header: { ...HEADER, workflowId: 'a\0' } },
  'corrupt-header-time': { header: { ...HEADER, createdMs: 1e300 } },
  'corrupt-header-plan': { header: { ...HEADER, planHash: {} } },
  'corrupt-header-parent': { header: { ...HEADER, parent: { runId: [] } } },
  'corrupt-record': { record: '{"status":"hunter2' },
  'corrupt-record-null': { record: null },
  'corrupt-record-status': { record: { ...RECORD, status: 'hunter2' } },
  'corrupt-record-seq': { record: { ...RECORD, seq: 'hunter2' } },
  'corrupt-record-time': { record: { ...RECORD, startedMs: 1, endedMs: 'hunter2' } },
};

const AGENT_EXECUTOR: BlockExecutor = {
  types: ['agent'],
  class: 'compute',
  execute: () => ({ output: { content: 'yes', model: 'm', cost: { total: 0.5 } } }),
};

describe.each(Object.entries(STORES))('corrupt runs in %s', (_name, openStore) => {
  it('do not prevent the indexing of other runs, and are each reported once without their content', async () => {
    const { options, runStatements, logColumn } = await openStore();
    const engine = await createEngine({ ...options, blocks: [AGENT_EXECUTOR] });
    const { workflowId } = await engine.deploy(workflow([block('A', 'agent')], ['Start -> A'], { id: 'w' }));
    for (const runId of ['first', 'corrupt-logs', 'corrupt-values', ...Object.keys(CORRUPT_COLUMNS), 'last'])
      await engine.execute(workflowId, {}, { runId });
    await engine.close();
    await runStatements([
      ...Object.entries(CORRUPT_COLUMNS).flatMap(([runId, columns]) =>
        Object.entries(columns).map(([column, value]) => {
          const json = typeof value === 'string' ? value : JSON.stringify(value);
          return `UPDATE runs SET ${column} = '${json}' WHERE run_id = '${runId}'`;
        }),
      ),
      `UPDATE logs SET ${logColumn} = '5' WHERE run = (SELECT number FROM runs WHERE run_id = 'corrupt-logs')`,
      `UPDATE logs SET ${logColumn} = replace(${logColumn}, '"output":{"v":', '"output":{"ref":')
        WHERE run = (SELECT number FROM runs WHERE run_id = 'corrupt-values')`,
    ]);
    const reportedErrors: { error: string; runId: string | undefined }[] = [];
    const { db, indexer, errors } = await openIndexedEngine({
      engine: {
        ...options,
        blocks: [AGENT_EXECUTOR],
        onError: (error, runId) => reportedErrors.push({ error: String(error), runId }),
      },
    });
    await addWorkflow(db, workflowId);
    await indexer.updateAll();
    await indexer.updateAll();
    expect((await readLogRows(db)).map((row) => [row.run_id, Number(row.cost)])).toEqual([
      ['corrupt-logs', -1],
      ['corrupt-values', -1],
      ['first', 0.5],
      ['last', 0.5],
    ]);
    expect(new Set(reportedErrors.map(({ runId }) => runId))).toEqual(new Set(Object.keys(CORRUPT_COLUMNS)));
    expect(reportedErrors).toHaveLength(Object.keys(CORRUPT_COLUMNS).length);
    for (const { error, runId } of reportedErrors) expect(error).toMatch(`of run "${runId}" is corrupt`);
    // The same advice on every store, so it names no data folder.
    for (const { error } of reportedErrors) expect(error).toContain('Restore the store from a backup.');
    const messages = [...reportedErrors.map(({ error }) => error), ...errors].join('\n');
    expect(messages).not.toContain('hunter2');
  });
});
