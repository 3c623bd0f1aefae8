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
import { dataFolder } from '../support/data-folder.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { block, workflow } from '../support/workflow.ts';
import { addWorkflow, indexed, logDatabase, rowsOf } from './setup.ts';

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

async function setUp(fault: () => unknown, run: RunSummary = RUN) {
  const db = await logDatabase();
  await addWorkflow(db, 'w');
  let changes = ['bad', 'good'].map((runId) => ({ runId, run }));
  const faults: string[] = [];
  const indexer = new LogIndexer({
    db,
    engine: {
      runChanges: async () => ({ changes, more: false, acknowledge: async () => void (changes = []) }),
      getTrace: async (id: string) => {
        if (id === 'bad') throw fault();
        return { type: 'run', children: [] };
      },
      readValue: async () => null,
    } as never,
    every: () => () => undefined,
    report: (error) => faults.push(String(error)),
    ...{ now: Date.now, triggers: new Triggers() },
  });
  return { db, indexer, faults };
}

it('the index has the other runs when a record is corrupt, and reports it once without its content', async () => {
  const { db, indexer, faults } = await setUp(() => new SyntaxError('Unexpected token in "hunter2"'));
  await indexer.updateAll();
  await indexer.updateAll();
  expect((await rowsOf(db)).map(({ run_id: id }) => id)).toEqual(['bad', 'good']);
  expect(faults).toEqual([expect.stringContaining('record of run bad is corrupt')]);
  expect(faults.join()).not.toContain('hunter2');
});

it('the index has failed runs of a webhook when one of them is corrupt and has no trigger', async () => {
  const failed = { ...RUN, status: 'failed', blockTypes: [] } as RunSummary;
  const { db, indexer, faults } = await setUp(() => new TypeError('"hunter2" is no list'), failed);
  for (const id of ['bad', 'good'])
    await sql`insert into claims (engine_id, run_id, workflow_id, workspace_id, trigger, mode, created_at)
      values (${id}, ${id}, 'w', 'looms', 'webhook', 'async', '2026-01-01T00:00:00.000Z')`.execute(db);
  await indexer.updateAll();
  expect((await rowsOf(db)).map(({ run_id: id }) => id)).toEqual(['bad', 'good']);
  expect(faults).toEqual([expect.stringContaining('record of run bad is corrupt')]);
  expect(faults.join()).not.toContain('hunter2');
});

it('the index does not skip a batch after a temporary error', async () => {
  const { db, indexer } = await setUp(() => new Error('connection lost'));
  await expect(indexer.updateAll()).rejects.toThrow('connection lost');
  expect(await rowsOf(db)).toEqual([]);
});

/** A store of an engine, and a function that changes its tables while no engine uses it. */
interface Store {
  options: Pick<EngineOptions, 'data' | 'postgres'>;
  change(statements: readonly string[]): Promise<void> | void;
  /** The column of a log, or of all logs of a run. */
  log: string;
}

const STORES: { [name: string]: () => Store | Promise<Store> } = {
  'a data folder': () => {
    const data = dataFolder();
    return {
      options: { data },
      change: (statements) => {
        const db = new DatabaseSync(join(data, 'heddle.db'));
        for (const statement of statements) db.exec(statement);
        db.close();
      },
      log: 'logs',
    };
  },
  ...(hasPostgres && {
    PostgreSQL: async () => {
      const url = await postgresDatabase();
      return {
        options: { postgres: { url, schema: 'engine' } },
        change: async (statements) => {
          const client = new Client({ connectionString: url });
          await client.connect();
          await client.query('SET search_path TO engine');
          for (const statement of statements) await client.query(statement);
          await client.end();
        },
        log: 'log',
      };
    },
  }),
};

const HEADER = { workflowId: 'w', planHash: 'h', createdMs: 1 };
const STATE = { status: 'completed', seq: 3 };

/** Damaged headers and records, by the id of the run. */
const DAMAGE: { [runId: string]: { header?: unknown; record?: unknown } } = {
  'bad-header': { header: '{' },
  'bad-header-null': { header: null },
  'bad-header-list': { header: [] },
  'bad-header-workflow': { header: { ...HEADER, workflowId: 7 } },
  'bad-header-nul': { header: { ...HEADER, workflowId: 'a\0' } },
  'bad-header-time': { header: { ...HEADER, createdMs: 1e300 } },
  'bad-header-plan': { header: { ...HEADER, planHash: {} } },
  'bad-header-parent': { header: { ...HEADER, parent: { runId: [] } } },
  'bad-record': { record: '{"status":"hunter2' },
  'bad-record-null': { record: null },
  'bad-record-status': { record: { ...STATE, status: 'hunter2' } },
  'bad-record-seq': { record: { ...STATE, seq: 'hunter2' } },
  'bad-record-time': { record: { ...STATE, startedMs: 1, endedMs: 'hunter2' } },
};

const ASKED: BlockExecutor = {
  types: ['agent'],
  class: 'compute',
  execute: () => ({ output: { content: 'yes', model: 'm', cost: { total: 0.5 } } }),
};

describe.each(Object.entries(STORES))('damaged runs in %s', (_name, open) => {
  it('leave the other runs in the log, and are each reported once without their content', async () => {
    const { options, change, log } = await open();
    const before = await createEngine({ ...options, blocks: [ASKED] });
    const { workflowId } = await before.deploy(workflow([block('A', 'agent')], ['Start -> A'], { id: 'w' }));
    for (const runId of ['first', 'bad-logs', 'bad-values', ...Object.keys(DAMAGE), 'last'])
      await before.execute(workflowId, {}, { runId });
    await before.close();
    await change([
      ...Object.entries(DAMAGE).flatMap(([runId, columns]) =>
        Object.entries(columns).map(([column, value]) => {
          const text = typeof value === 'string' ? value : JSON.stringify(value);
          return `UPDATE runs SET ${column} = '${text}' WHERE run_id = '${runId}'`;
        }),
      ),
      `UPDATE logs SET ${log} = '5' WHERE run = (SELECT number FROM runs WHERE run_id = 'bad-logs')`,
      `UPDATE logs SET ${log} = replace(${log}, '"output":{"v":', '"output":{"ref":')
        WHERE run = (SELECT number FROM runs WHERE run_id = 'bad-values')`,
    ]);
    const reported: { error: string; runId: string | undefined }[] = [];
    const world = await indexed({
      engine: {
        ...options,
        blocks: [ASKED],
        onError: (error, runId) => reported.push({ error: String(error), runId }),
      },
    });
    await addWorkflow(world.db, workflowId);
    await world.indexer.updateAll();
    await world.indexer.updateAll();
    expect((await rowsOf(world.db)).map((row) => [row.run_id, Number(row.cost)])).toEqual([
      ['bad-logs', -1],
      ['bad-values', -1],
      ['first', 0.5],
      ['last', 0.5],
    ]);
    expect(new Set(reported.map(({ runId }) => runId))).toEqual(new Set(Object.keys(DAMAGE)));
    expect(reported).toHaveLength(Object.keys(DAMAGE).length);
    for (const { error, runId } of reported) expect(error).toMatch(`of run "${runId}" is damaged`);
    const all = [...reported.map(({ error }) => error), ...world.faults].join('\n');
    expect(all).not.toContain('hunter2');
  });
});
