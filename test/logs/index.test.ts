import type { BlockExecutor } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { hasPostgres, createPostgresDatabase, storesToTest } from '../support/postgres.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { addWorkflow, deploy, createIndexer, openIndexedEngine, readLogRows } from './setup.ts';

const OK_WORKFLOW = workflow([fn('A', 'return 1')], ['Start -> A']);
const FAILING_WORKFLOW = workflow([fn('A', 'throw new Error("no")')], ['Start -> A'], { id: 'fails' });
const PAUSING_WORKFLOW = workflow(
  [block('Ask', 'human_in_the_loop', { inputFormat: [], builderData: [] })],
  ['Start -> Ask'],
  { id: 'asks' },
);

const databaseUrlFactories = { sqlite: async () => undefined, postgres: () => createPostgresDatabase() };

const STORE_NAMES = storesToTest('the index of runs');

describe.each(STORE_NAMES)('the index of runs on %s', (name) => {
  const createDatabaseUrl = databaseUrlFactories[name];

  it('has a row for each run of a workflow in a workspace, with its outcome', async () => {
    const indexedEngine = await openIndexedEngine({ url: await createDatabaseUrl() });
    const okId = await deploy(indexedEngine, OK_WORKFLOW);
    const failingId = await deploy(indexedEngine, FAILING_WORKFLOW);
    await indexedEngine.engine.execute(okId, {}, { runId: 'r1', callerId: 'mine' });
    await indexedEngine.engine.execute(failingId, {}, { runId: 'r2' });
    await indexedEngine.engine.execute({ workflow: workflow([], [], { id: 'foreign' }) }, {});
    await indexedEngine.indexer.update();
    expect(await readLogRows(indexedEngine.db)).toMatchObject([
      { engine_id: 'r1', run_id: 'mine', status: 'completed', level: 'info', workspace_id: 'looms' },
      { engine_id: 'r2', run_id: 'r2', status: 'failed', level: 'error', trigger: 'api' },
    ]);
    expect(indexedEngine.errors).toEqual([]);
  });

  it('shows a paused run as pending, and its end', async () => {
    const indexedEngine = await openIndexedEngine({ url: await createDatabaseUrl() });
    const pausingId = await deploy(indexedEngine, PAUSING_WORKFLOW);
    await indexedEngine.engine.execute(pausingId, {}, { runId: 'r' });
    await indexedEngine.indexer.update();
    const [pausedRow] = await readLogRows(indexedEngine.db);
    expect(pausedRow).toMatchObject({ status: 'pending', ended_ms: null, duration_ms: expect.anything() });
    expect(Number(pausedRow?.duration_ms)).toBe(-1);
    await indexedEngine.engine.resume('r');
    await indexedEngine.indexer.update();
    const [endedRow] = await readLogRows(indexedEngine.db);
    expect(endedRow).toMatchObject({ status: 'completed' });
    expect(Number(endedRow?.duration_ms)).toBeGreaterThanOrEqual(0);
  });

  it('takes run id, workspace and trigger from the reservation of the run', async () => {
    const indexedEngine = await openIndexedEngine({ url: await createDatabaseUrl() });
    const okId = await deploy(indexedEngine, OK_WORKFLOW);
    await indexedEngine.db
      .insertInto('claims')
      .values({
        engine_id: 'r',
        run_id: 'theirs',
        workspace_id: 'looms',
        trigger: 'manual',
        // Columns that the log does not read.
        ...{ workflow_id: okId, mode: 'sync', created_at: '2026-01-01T00:00:00.000Z' },
      })
      .execute();
    await indexedEngine.engine.execute(okId, {}, { runId: 'r' });
    await indexedEngine.indexer.update();
    expect(await readLogRows(indexedEngine.db)).toMatchObject([{ run_id: 'theirs', trigger: 'manual' }]);
  });

  it('removes the row of a deleted run', async () => {
    const indexedEngine = await openIndexedEngine({ url: await createDatabaseUrl() });
    const okId = await deploy(indexedEngine, OK_WORKFLOW);
    await indexedEngine.engine.execute(okId, {}, { runId: 'r' });
    await indexedEngine.indexer.update();
    await indexedEngine.engine.deleteRun('r');
    await indexedEngine.indexer.update();
    expect(await readLogRows(indexedEngine.db)).toEqual([]);
  });

  it('sums the costs and records the models of model blocks, and ignores costs and models in outputs of other blocks', async () => {
    const output = { content: 'hi', model: 'm-1', cost: { total: 0.1 }, tokens: { input: 3 } };
    const agent: BlockExecutor = { types: ['agent'], class: 'compute', execute: () => ({ output }) };
    const indexedEngine = await openIndexedEngine({
      url: await createDatabaseUrl(),
      engine: { blocks: [agent] },
    });
    const id = await deploy(
      indexedEngine,
      workflow(
        [...['A', 'B', 'D'].map((name) => block(name, 'agent')), fn('C', 'return { cost: { total: 9 } }')],
        ['Start -> A -> B -> D -> C'],
      ),
    );
    await indexedEngine.engine.execute(id, { cost: { total: 7 }, model: 'forged' }, { runId: 'r' });
    await indexedEngine.indexer.update();
    expect(await readLogRows(indexedEngine.db)).toMatchObject([{ cost: 0.3 }]);
    expect(await indexedEngine.db.selectFrom('run_log_models').select('model').execute()).toEqual([
      { model: 'm-1' },
    ]);
  });

  it('counts each run of a workflow once, when it ends', async () => {
    const indexedEngine = await openIndexedEngine({ url: await createDatabaseUrl() });
    const { engine, indexer, db } = indexedEngine;
    const [okId, pausingId] = [
      await deploy(indexedEngine, OK_WORKFLOW),
      await deploy(indexedEngine, PAUSING_WORKFLOW),
    ];
    const readCounts = async () => {
      const rows = await db.selectFrom('run_counts').selectAll().orderBy('workflow_id').execute();
      return Object.fromEntries(rows.map(({ workflow_id: id, runs }) => [id, runs]));
    };
    await engine.execute(pausingId, {}, { runId: 'paused' });
    await engine.execute(okId, {}, { runId: 'done' });
    await indexer.update();
    expect(await readCounts()).toEqual({ [okId]: 1, [pausingId]: 0 });
    await engine.resume('paused');
    await indexer.update();
    expect(await readCounts()).toEqual({ [okId]: 1, [pausingId]: 1 });
    await engine.deleteRun('done');
    await indexer.update();
    expect(await readCounts()).toEqual({ [okId]: 1, [pausingId]: 1 });
  });

  it('counts each run once if several processes index it, and has the start of the last run', async () => {
    const indexedEngine = await openIndexedEngine({ url: await createDatabaseUrl() });
    const { engine, db } = indexedEngine;
    const okId = await deploy(indexedEngine, OK_WORKFLOW);
    for (const runId of ['a', 'b', 'c']) await engine.execute(okId, {}, { runId });
    // All processes read the changes before one acknowledges them.
    await Promise.all(
      [indexedEngine.indexer, createIndexer(indexedEngine), createIndexer(indexedEngine)].map((indexer) =>
        indexer.update(),
      ),
    );
    const { startedAt } = await engine.getRun('c');
    expect(await db.selectFrom('run_counts').selectAll().execute()).toEqual([
      { workflow_id: okId, runs: 3, last_at: startedAt },
    ]);
  });

  it('has every run if several processes index at the same time', async () => {
    const indexedEngine = await openIndexedEngine({ url: await createDatabaseUrl() });
    const okId = await deploy(indexedEngine, OK_WORKFLOW);
    const runs = Array.from({ length: 450 }, (_, runNumber) =>
      indexedEngine.engine.execute(okId, {}, { runId: `r${String(runNumber).padStart(3, '0')}` }),
    );
    await Promise.all([...runs, indexedEngine.indexer.updateAll(), createIndexer(indexedEngine).updateAll()]);
    await Promise.all([indexedEngine.indexer.updateAll(), createIndexer(indexedEngine).updateAll()]);
    const rows = await readLogRows(indexedEngine.db);
    expect(rows).toHaveLength(450);
    expect(rows.every(({ status }) => status === 'completed')).toBe(true);
  });
});

describe('the index of runs', () => {
  it('has runs of a process that died before it indexed them, and of processes without an index', async () => {
    const data = createDataFolder();
    const firstEngine = await createEngine({ data });
    const { workflowId } = await firstEngine.deploy(OK_WORKFLOW);
    await firstEngine.runChanges(1);
    await firstEngine.execute(workflowId, {}, { runId: 'before' });
    // The process dies after it has read the changes, and before it acknowledges them.
    await firstEngine.runChanges(100);
    await firstEngine.close();
    const indexedEngine = await openIndexedEngine({ engine: { data } });
    await addWorkflow(indexedEngine.db, workflowId);
    await indexedEngine.engine.execute(workflowId, {}, { runId: 'later' });
    await indexedEngine.indexer.update();
    expect((await readLogRows(indexedEngine.db)).map(({ run_id: id }) => id)).toEqual(['before', 'later']);
  });

  it('has the runs that were stored before the first index', async () => {
    const data = createDataFolder();
    const firstEngine = await createEngine({ data });
    const { workflowId } = await firstEngine.deploy(OK_WORKFLOW);
    await firstEngine.execute(workflowId, {}, { runId: 'old' });
    await firstEngine.close();
    const indexedEngine = await openIndexedEngine({ engine: { data } });
    await addWorkflow(indexedEngine.db, workflowId);
    await indexedEngine.indexer.update();
    expect((await readLogRows(indexedEngine.db)).map(({ run_id: id }) => id)).toEqual(['old']);
  });

  it.skipIf(!hasPostgres)('has the runs of all processes of an engine on PostgreSQL', async () => {
    const url = await createPostgresDatabase();
    const indexedEngine = await openIndexedEngine({ url, engine: { postgres: { url, schema: 'engine' } } });
    const otherEngine = await createEngine({ postgres: { url, schema: 'engine' } });
    onTestFinished(() => otherEngine.close({ graceMs: 0 }));
    const id = await deploy(indexedEngine, OK_WORKFLOW);
    await indexedEngine.indexer.update();
    await Promise.all([
      indexedEngine.engine.execute(id, {}, { runId: 'here' }),
      otherEngine.execute(id, {}, { runId: 'there' }),
    ]);
    await indexedEngine.indexer.update();
    expect(await readLogRows(indexedEngine.db)).toMatchObject([
      { run_id: 'here', status: 'completed' },
      { run_id: 'there', status: 'completed' },
    ]);
  });
});
