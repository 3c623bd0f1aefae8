import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { EngineError } from '@heddle/core';
import type { Entry } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { ScriptedExecutor, work } from '../support/scripted-executor.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { GroupCommit } from '../../packages/engine/src/store/sqlite/commit.ts';
import { openDatabase } from '../../packages/engine/src/store/sqlite/database.ts';
import { migrate } from '../../packages/engine/src/store/sqlite/migrations.ts';
import { SqliteRunStore } from '../../packages/engine/src/store/sqlite/runs.ts';
import type { Stores } from '../../packages/engine/src/store/stores.ts';
import { overrideMethods } from '../support/override-methods.ts';
import { openEngineOn, openReusableStores, withFailingWrites } from './open-engine.ts';
import { collect } from '../streams/talk.ts';

const DISK_FULL_ERROR = new EngineError('DATA_UNWRITABLE', 'The disk is full.');
const chainSource = { workflow: workflow([work('A'), work('B')], ['Start -> A -> B']) };
const pauseBlock = block('H', 'human_in_the_loop', {});

describe('a store that rejects writes', () => {
  it('stops the run and rejects every waiting call, and the next engine continues the run without losing entries', async () => {
    const stores = openReusableStores();
    let diskError: Error | undefined;
    const scriptedExecutor = new ScriptedExecutor();
    const reportedErrors: unknown[] = [];
    const engine = await openEngineOn(
      withFailingWrites(stores, () => diskError),
      {
        blocks: [scriptedExecutor.executor],
        onError: (error) => reportedErrors.push(error),
      },
    );
    const run = await engine.start(chainSource);
    const { runId } = run;
    const call = await scriptedExecutor.nextCall('A');
    const waitingCalls = [
      run.result(),
      collect(run.events()),
      engine.cancel('unknown').catch((error: unknown) => error),
    ];
    diskError = DISK_FULL_ERROR;
    call.complete({ n: 1 });
    await expect(waitingCalls[0]).rejects.toBe(DISK_FULL_ERROR);
    await expect(waitingCalls[1]).rejects.toBe(DISK_FULL_ERROR);
    await expect(run.result()).rejects.toBe(DISK_FULL_ERROR);
    await expect(collect(run.events())).rejects.toBe(DISK_FULL_ERROR);
    expect(reportedErrors).toEqual([DISK_FULL_ERROR]);
    expect(scriptedExecutor.calls).toEqual(['A']);
    diskError = undefined;
    await engine.close();
    const nextScriptedExecutor = new ScriptedExecutor({
      A: () => ({ output: { n: 1 } }),
      B: () => ({ output: { n: 2 } }),
    });
    const nextEngine = await openEngineOn(stores, { blocks: [nextScriptedExecutor.executor] });
    await expect.poll(() => nextEngine.getRun(runId)).toMatchObject({ status: 'completed', suspended: null });
    expect(nextScriptedExecutor.calls).toEqual(['A', 'B']);
  });

  it('rejects the resume of a pause point without recording it, and the resume can be repeated', async () => {
    let diskError: Error | undefined;
    const engine = await openEngineOn(
      withFailingWrites(openReusableStores(), () => diskError),
      { onError: () => undefined },
    );
    const run = await engine.start({
      workflow: workflow([pauseBlock, fn('Z', 'return <h.n>')], ['Start -> H -> Z']),
    });
    await run.result();
    const [pause] = (await engine.getRun(run.runId)).pauses;
    diskError = DISK_FULL_ERROR;
    const answer = { token: pause?.token ?? '', input: { n: 1 } };
    await expect(engine.resume(run.runId, answer)).rejects.toBe(DISK_FULL_ERROR);
    diskError = undefined;
    await expect
      .poll(() => engine.resume(run.runId, answer).catch(() => undefined), { timeout: 20_000 })
      .toMatchObject({
        status: 'completed',
        output: { result: 1 },
      });
  });

  it('records why the run does not continue, if the record can be written', async () => {
    const stores = openReusableStores();
    const valueError = new EngineError('DATA_UNWRITABLE', 'No space for values.');
    const scriptedExecutor = new ScriptedExecutor({ A: () => ({ output: { text: 'x'.repeat(20_000) } }) });
    const values = {
      get: (key: string) => stores.values.get(key),
      put: () => Promise.reject(valueError),
      prune: () => undefined,
    };
    const engine = await openEngineOn(
      { ...stores, values },
      { blocks: [scriptedExecutor.executor], onError: () => undefined },
    );
    const run = await engine.start(chainSource);
    await expect(run.result()).rejects.toBe(valueError);
    await expect
      .poll(() => engine.getRun(run.runId))
      .toMatchObject({
        status: 'running',
        suspended: 'No space for values.',
      });
    const logs = await engine.getLogs(run.runId);
    expect(logs.map(({ blockName, status }) => [blockName, status])).toEqual([
      ['Start', 'completed'],
      ['A', 'running'],
    ]);
  });

  it('leaves no record that is newer than the journal', async () => {
    const stores = openReusableStores();
    const { promise: pendingWrite, reject } = Promise.withResolvers<never>();
    let isFull = false;
    const runs = overrideMethods(stores.runs, {
      append: async (runId: string, entries: readonly Entry[]) =>
        isFull ? pendingWrite : stores.runs.append(runId, entries),
    });
    const scriptedExecutor = new ScriptedExecutor();
    const engine = await openEngineOn(
      { ...stores, runs },
      { blocks: [scriptedExecutor.executor], onError: () => undefined },
    );
    const run = await engine.start({ workflow: workflow([work('A')], ['Start -> A']) });
    const call = await scriptedExecutor.nextCall('A');
    isFull = true;
    call.complete({ last: true });
    await new Promise(setImmediate);
    const calls = [engine.getLogs(run.runId), engine.getRun(run.runId), run.result()];
    reject(DISK_FULL_ERROR);
    for (const pendingCall of calls) await expect(pendingCall).rejects.toBe(DISK_FULL_ERROR);
    expect(await engine.getRun(run.runId)).toMatchObject({ status: 'running' });
    await engine.close();
    const nextScriptedExecutor = new ScriptedExecutor({ A: () => ({ output: { last: true } }) });
    const nextEngine = await openEngineOn(stores, { blocks: [nextScriptedExecutor.executor] });
    await expect.poll(() => nextEngine.getRun(run.runId)).toMatchObject({ status: 'completed' });
  });

  it('stops parent and child without failing them', async () => {
    const stores = openReusableStores();
    let diskError: Error | undefined;
    const scriptedExecutor = new ScriptedExecutor();
    let childRunId = '';
    const engine = await openEngineOn(
      withFailingWrites(stores, (runId) => (runId === childRunId ? diskError : undefined)),
      { blocks: [scriptedExecutor.executor], onError: () => undefined },
    );
    await engine.deploy(workflow([work('A')], ['Start -> A'], { id: 'child' }));
    const workflowBlock = block('W', 'workflow_input', { workflowId: 'child', inputMapping: '{}' });
    const run = await engine.start({ workflow: workflow([workflowBlock], ['Start -> W']) });
    const childCall = await scriptedExecutor.nextCall('A');
    childRunId = childCall.context.runId;
    diskError = DISK_FULL_ERROR;
    childCall.complete();
    await expect(run.result()).rejects.toBe(DISK_FULL_ERROR);
    diskError = undefined;
    await engine.close();
    const nextScriptedExecutor = new ScriptedExecutor({ A: () => ({ output: { n: 1 } }) });
    const nextEngine = await openEngineOn(stores, { blocks: [nextScriptedExecutor.executor] });
    await expect.poll(() => nextEngine.getRun(run.runId)).toMatchObject({ status: 'completed' });
    const { runs } = await nextEngine.listRuns();
    expect(runs.map(({ status }) => status)).toEqual(['completed', 'completed']);
  });

  it('rejects with DATA_UNWRITABLE on SQLite with a full disk, and the run continues when there is space', async () => {
    const file = join(createDataFolder(), 'heddle.db');
    const { db, stores } = openStoresOnFile(file);
    const scriptedExecutor = new ScriptedExecutor();
    const engine = await openEngineOn(stores, {
      blocks: [scriptedExecutor.executor],
      onError: () => undefined,
    });
    const run = await engine.start(chainSource);
    const call = await scriptedExecutor.nextCall('A');
    const { page_count: pageCount } = db.prepare('PRAGMA page_count').get() as { page_count: number };
    db.exec(`PRAGMA max_page_count = ${pageCount}`);
    call.complete({ text: 'x'.repeat(8000) });
    await expect(run.result()).rejects.toMatchObject({ code: 'DATA_UNWRITABLE', details: { file } });
    await expect(engine.execute(chainSource, 'x'.repeat(8000))).rejects.toMatchObject({
      code: 'DATA_UNWRITABLE',
    });
    await engine.close();
    const nextScriptedExecutor = new ScriptedExecutor({
      A: () => ({ output: {} }),
      B: () => ({ output: {} }),
    });
    const definitions = stores.definitions;
    const nextEngine = await openEngineOn(
      { ...openStoresOnFile(file).stores, definitions },
      { blocks: [nextScriptedExecutor.executor] },
    );
    await expect.poll(() => nextEngine.getRun(run.runId)).toMatchObject({ status: 'completed' });
    expect(nextScriptedExecutor.calls).toEqual(['A', 'B']);
  });
});

/** Opens stores with runs in a database file whose size the test can limit; everything else is in memory. */
function openStoresOnFile(file: string): { db: DatabaseSync; stores: Stores } {
  const db = openDatabase(file, { readOnly: false, durability: 'process' });
  onTestFinished(() => db.close());
  migrate(db, file);
  return {
    db,
    stores: { ...openReusableStores(), runs: new SqliteRunStore(db, file, new GroupCommit(db, file)) },
  };
}

describe('a run that stopped before its record was written', () => {
  it('is read from its journal', async () => {
    const stores = openReusableStores();
    const scriptedExecutor = new ScriptedExecutor();
    const storesWithoutRecords = {
      ...stores,
      runs: overrideMethods(stores.runs, { saveRecord: () => true }),
    };
    const firstEngine = await openEngineOn(storesWithoutRecords, { blocks: [scriptedExecutor.executor] });
    const { runId } = await firstEngine.start(chainSource);
    await scriptedExecutor.nextCall('A');
    await firstEngine.close({ graceMs: 0 });
    const nextEngine = await openEngineOn(stores, { blocks: [scriptedExecutor.executor], recover: false });
    expect(await nextEngine.getRun(runId)).toMatchObject({ status: 'running', workflowName: 'Test' });
  });
});

describe('a data folder that another engine owns', () => {
  it('is rejected with the name of its owner', async () => {
    const dataFolder = createDataFolder();
    const engine = await createEngine({ data: dataFolder });
    onTestFinished(() => engine.close());
    await expect(createEngine({ data: dataFolder })).rejects.toMatchObject({
      code: 'DATA_LOCKED',
      message: expect.stringContaining(`process ${process.pid}`) as string,
    });
    expect((await engine.listRuns()).runs).toEqual([]);
  });
});

describe('a corrupt journal', () => {
  it('is reported with its run, and the other runs continue', async () => {
    const dataFolder = createDataFolder();
    const scriptedExecutor = new ScriptedExecutor();
    const firstEngine = await createEngine({ data: dataFolder, blocks: [scriptedExecutor.executor] });
    const corruptRun = await firstEngine.start(chainSource);
    const intactRun = await firstEngine.start(chainSource);
    for (const _ of [corruptRun, intactRun]) await scriptedExecutor.nextCall('A');
    await firstEngine.close({ graceMs: 0 });
    const db = new DatabaseSync(join(dataFolder, 'heddle.db'));
    const runRow = db.prepare('SELECT number FROM runs WHERE run_id = ?').get(corruptRun.runId);
    db.prepare('UPDATE journal SET entry = ? WHERE run = ? AND seq = 1').run(
      '{"seq":',
      runRow?.['number'] ?? 0,
    );
    db.close();
    const reportedErrors: [string, string | undefined][] = [];
    const nextScriptedExecutor = new ScriptedExecutor({
      A: () => ({ output: {} }),
      B: () => ({ output: {} }),
    });
    const nextEngine = await createEngine({
      data: dataFolder,
      blocks: [nextScriptedExecutor.executor],
      onError: (error, runId) => reportedErrors.push([(error as EngineError).code, runId]),
    });
    onTestFinished(() => nextEngine.close());
    await expect.poll(() => nextEngine.getRun(intactRun.runId)).toMatchObject({ status: 'completed' });
    expect(reportedErrors).toEqual([['JOURNAL_CORRUPT', corruptRun.runId]]);
    expect((await nextEngine.getRun(corruptRun.runId)).suspended).toContain(corruptRun.runId);
    await expect(nextEngine.attach(corruptRun.runId)).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' });
  });
});
