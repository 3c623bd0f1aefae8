import type { BlockExecutor } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { hasPostgres, postgresDatabase, storesToTest } from '../support/postgres.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { addWorkflow, deploy, createIndexer, openIndexedEngine, readLogRows } from './setup.ts';

const OK_WORKFLOW = workflow([fn('A', 'return 1')], ['Start -> A']);
const FAILING_WORKFLOW = workflow([fn('A', 'throw new Error("no")')], ['Start -> A'], { id: 'fails' });
const PAUSING_WORKFLOW = workflow(
  [block('Ask', 'human_in_the_loop', { inputFormat: [], builderData: [] })],
  ['Start -> Ask'],
  { id: 'asks' },
);

const createDatabase = { sqlite: async () => undefined, postgres: () => postgresDatabase() };

const STORE_NAMES = storesToTest('the index of runs');

describe.each(STORE_NAMES)('the index of runs on %s', (name) => {
  const databaseUrl = createDatabase[name];

  it('has a row for each run of a workflow in a workspace, with its outcome', async () => {
    const index = await openIndexedEngine({ url: await databaseUrl() });
    const okId = await deploy(index, OK_WORKFLOW);
    const failingId = await deploy(index, FAILING_WORKFLOW);
    await index.engine.execute(okId, {}, { runId: 'r1', callerId: 'mine' });
    await index.engine.execute(failingId, {}, { runId: 'r2' });
    await index.engine.execute({ workflow: workflow([], [], { id: 'foreign' }) }, {});
    await index.indexer.update();
    expect(await readLogRows(index.db)).toMatchObject([
      { engine_id: 'r1', run_id: 'mine', status: 'completed', level: 'info', workspace_id: 'looms' },
      { engine_id: 'r2', run_id: 'r2', status: 'failed', level: 'error', trigger: 'api' },
    ]);
    expect(index.errors).toEqual([]);
  });

  it('shows a paused run as pending, and its end', async () => {
    const index = await openIndexedEngine({ url: await databaseUrl() });
    const pausingId = await deploy(index, PAUSING_WORKFLOW);
    await index.engine.execute(pausingId, {}, { runId: 'r' });
    await index.indexer.update();
    const [paused] = await readLogRows(index.db);
    expect(paused).toMatchObject({ status: 'pending', ended_ms: null, duration_ms: expect.anything() });
    expect(Number(paused?.duration_ms)).toBe(-1);
    await index.engine.resume('r');
    await index.indexer.update();
    const [ended] = await readLogRows(index.db);
    expect(ended).toMatchObject({ status: 'completed' });
    expect(Number(ended?.duration_ms)).toBeGreaterThanOrEqual(0);
  });

  it('takes run id, workspace and trigger from the reservation of the run', async () => {
    const index = await openIndexedEngine({ url: await databaseUrl() });
    const okId = await deploy(index, OK_WORKFLOW);
    await index.db
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
    await index.engine.execute(okId, {}, { runId: 'r' });
    await index.indexer.update();
    expect(await readLogRows(index.db)).toMatchObject([{ run_id: 'theirs', trigger: 'manual' }]);
  });

  it('removes the row of a deleted run', async () => {
    const index = await openIndexedEngine({ url: await databaseUrl() });
    const okId = await deploy(index, OK_WORKFLOW);
    await index.engine.execute(okId, {}, { runId: 'r' });
    await index.indexer.update();
    await index.engine.deleteRun('r');
    await index.indexer.update();
    expect(await readLogRows(index.db)).toEqual([]);
  });

  it('sums the costs and records the models of model blocks, and ignores costs and models in outputs of other blocks', async () => {
    const output = { content: 'hi', model: 'm-1', cost: { total: 0.1 }, tokens: { input: 3 } };
    const agent: BlockExecutor = { types: ['agent'], class: 'compute', execute: () => ({ output }) };
    const index = await openIndexedEngine({ url: await databaseUrl(), engine: { blocks: [agent] } });
    const id = await deploy(
      index,
      workflow(
        [...['A', 'B', 'D'].map((name) => block(name, 'agent')), fn('C', 'return { cost: { total: 9 } }')],
        ['Start -> A -> B -> D -> C'],
      ),
    );
    await index.engine.execute(id, { cost: { total: 7 }, model: 'forged' }, { runId: 'r' });
    await index.indexer.update();
    expect(await readLogRows(index.db)).toMatchObject([{ cost: 0.3 }]);
    expect(await index.db.selectFrom('run_log_models').select('model').execute()).toEqual([{ model: 'm-1' }]);
  });

  it('counts each run of a workflow once, when it ends', async () => {
    const index = await openIndexedEngine({ url: await databaseUrl() });
    const { engine, indexer, db } = index;
    const [okId, pausingId] = [await deploy(index, OK_WORKFLOW), await deploy(index, PAUSING_WORKFLOW)];
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
    const index = await openIndexedEngine({ url: await databaseUrl() });
    const { engine, db } = index;
    const okId = await deploy(index, OK_WORKFLOW);
    for (const runId of ['a', 'b', 'c']) await engine.execute(okId, {}, { runId });
    // All processes read the changes before one acknowledges them.
    await Promise.all(
      [index.indexer, createIndexer(index), createIndexer(index)].map((each) => each.update()),
    );
    const { startedAt } = await engine.getRun('c');
    expect(await db.selectFrom('run_counts').selectAll().execute()).toEqual([
      { workflow_id: okId, runs: 3, last_at: startedAt },
    ]);
  });

  it('has every run if several processes index at the same time', async () => {
    const index = await openIndexedEngine({ url: await databaseUrl() });
    const okId = await deploy(index, OK_WORKFLOW);
    const runs = Array.from({ length: 450 }, (_, nth) =>
      index.engine.execute(okId, {}, { runId: `r${String(nth).padStart(3, '0')}` }),
    );
    await Promise.all([...runs, index.indexer.updateAll(), createIndexer(index).updateAll()]);
    await Promise.all([index.indexer.updateAll(), createIndexer(index).updateAll()]);
    const rows = await readLogRows(index.db);
    expect(rows).toHaveLength(450);
    expect(rows.every(({ status }) => status === 'completed')).toBe(true);
  });
});

describe('the index of runs', () => {
  it('has runs of a process that died before it indexed them, and of processes without an index', async () => {
    const data = dataFolder();
    const first = await createEngine({ data });
    const { workflowId } = await first.deploy(OK_WORKFLOW);
    await first.runChanges(1);
    await first.execute(workflowId, {}, { runId: 'before' });
    // The process dies after it has read the changes, and before it acknowledges them.
    await first.runChanges(100);
    await first.close();
    const index = await openIndexedEngine({ engine: { data } });
    await addWorkflow(index.db, workflowId);
    await index.engine.execute(workflowId, {}, { runId: 'later' });
    await index.indexer.update();
    expect((await readLogRows(index.db)).map(({ run_id: id }) => id)).toEqual(['before', 'later']);
  });

  it('has the runs that were stored before the first index', async () => {
    const data = dataFolder();
    const first = await createEngine({ data });
    const { workflowId } = await first.deploy(OK_WORKFLOW);
    await first.execute(workflowId, {}, { runId: 'old' });
    await first.close();
    const index = await openIndexedEngine({ engine: { data } });
    await addWorkflow(index.db, workflowId);
    await index.indexer.update();
    expect((await readLogRows(index.db)).map(({ run_id: id }) => id)).toEqual(['old']);
  });

  it.skipIf(!hasPostgres)('has the runs of all processes of an engine on PostgreSQL', async () => {
    const url = await postgresDatabase();
    const index = await openIndexedEngine({ url, engine: { postgres: { url, schema: 'engine' } } });
    const other = await createEngine({ postgres: { url, schema: 'engine' } });
    onTestFinished(() => other.close({ graceMs: 0 }));
    const id = await deploy(index, OK_WORKFLOW);
    await index.indexer.update();
    await Promise.all([
      index.engine.execute(id, {}, { runId: 'here' }),
      other.execute(id, {}, { runId: 'there' }),
    ]);
    await index.indexer.update();
    expect(await readLogRows(index.db)).toMatchObject([
      { run_id: 'here', status: 'completed' },
      { run_id: 'there', status: 'completed' },
    ]);
  });
});
