import { expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../../../support/scripted-executor.ts';
import { block, fn, loop, parallel, workflow } from '../../../support/workflow.ts';
import type { EngineSequence } from './engine-sequence.ts';

/** Defines the tests of blocks, loops, parallels and data of a run that the next engine continues. */
export function describeContinuedRuns(makeEngineSequence: () => EngineSequence): void {
  it('a block that was running runs again with the same idempotency key, and finished blocks do not', async () => {
    const engines = makeEngineSequence();
    const firstScriptedExecutor = new ScriptedExecutor({ A: () => ({ output: { n: 1 } }) });
    const firstEngine = await engines.openNext({ blocks: [firstScriptedExecutor.executor] });
    const definition = workflow([work('A'), work('B'), work('C')], ['Start -> A -> B -> C']);
    const { runId } = await firstEngine.start({ workflow: definition });
    const { context } = await firstScriptedExecutor.nextCall('B');
    const secondScriptedExecutor = new ScriptedExecutor({ C: () => ({ output: { n: 3 } }) });
    const secondEngine = await engines.openNext({ blocks: [secondScriptedExecutor.executor] });
    const run = await secondEngine.attach(runId);
    const repeatedCall = await secondScriptedExecutor.nextCall('B');
    expect(repeatedCall.context.idempotencyKey).toBe(context.idempotencyKey);
    expect(repeatedCall.attempt).toBe(1);
    repeatedCall.complete({ n: 2 });
    expect(await run.result()).toMatchObject({ runId, status: 'completed', output: { n: 3 } });
    expect([firstScriptedExecutor.calls, secondScriptedExecutor.calls]).toEqual([
      ['A', 'B'],
      ['B', 'C'],
    ]);
    const logs = await secondEngine.getLogs(runId);
    expect(logs.map(({ blockName, executionOrder }) => `${executionOrder} ${blockName}`)).toEqual([
      '1 Start',
      '2 A',
      '3 B',
      '4 C',
    ]);
  });

  it('the result of a block that finishes while the engine closes is recorded, and no block starts', async () => {
    const engines = makeEngineSequence();
    const scriptedExecutor = new ScriptedExecutor();
    const firstEngine = await engines.openNext({ blocks: [scriptedExecutor.executor] });
    const { runId } = await firstEngine.start({
      workflow: workflow([work('A'), work('B')], ['Start -> A -> B']),
    });
    const call = await scriptedExecutor.nextCall('A');
    const closePromise = firstEngine.close();
    call.complete({ n: 1 });
    await closePromise;
    expect(scriptedExecutor.calls).toEqual(['A']);
    expect(scriptedExecutor.abortedCalls).toEqual([]);
    const secondScriptedExecutor = new ScriptedExecutor({ B: () => ({ output: { n: 2 } }) });
    const secondEngine = await engines.openNext({ blocks: [secondScriptedExecutor.executor] });
    await expect
      .poll(() => secondEngine.getRun(runId), { timeout: 20_000 })
      .toMatchObject({ status: 'completed' });
    expect(secondScriptedExecutor.calls).toEqual(['B']);
  });

  it('a block aborted by the close of the engine does not fail', async () => {
    const engines = makeEngineSequence();
    const scriptedExecutor = new ScriptedExecutor();
    const firstEngine = await engines.openNext({ blocks: [scriptedExecutor.executor] });
    const definition = workflow([work('A'), fn('H', 'return 1')], ['Start -> A', 'A:error -> H']);
    const { runId } = await firstEngine.start({ workflow: definition });
    await scriptedExecutor.nextCall('A');
    const secondScriptedExecutor = new ScriptedExecutor({ A: () => ({ output: { ok: true } }) });
    const secondEngine = await engines.openNext({ blocks: [secondScriptedExecutor.executor] });
    expect(scriptedExecutor.abortedCalls).toEqual(['A']);
    await expect
      .poll(() => secondEngine.getRun(runId), { timeout: 20_000 })
      .toMatchObject({ status: 'completed' });
    expect((await secondEngine.getLogs(runId)).map(({ blockName }) => blockName)).toEqual(['Start', 'A']);
  });

  it('a loop continues in the interrupted iteration', async () => {
    const engines = makeEngineSequence();
    const firstScriptedExecutor = new ScriptedExecutor();
    const firstEngine = await engines.openNext({ blocks: [firstScriptedExecutor.executor] });
    const definition = workflow(
      [
        loop('L', { loopType: 'forEach', collection: '["a", "b", "c"]' }, work('A')),
        fn('Z', 'return <l.results>.map(outputs => outputs[0].n)'),
      ],
      ['Start -> L -> A', 'L -> Z'],
    );
    const { runId } = await firstEngine.start({ workflow: definition });
    (await firstScriptedExecutor.nextCall('A.0')).complete({ n: 0 });
    await firstScriptedExecutor.nextCall('A.1');
    const secondScriptedExecutor = new ScriptedExecutor();
    const secondEngine = await engines.openNext({ blocks: [secondScriptedExecutor.executor] });
    const run = await secondEngine.attach(runId);
    (await secondScriptedExecutor.nextCall('A.1')).complete({ n: 1 });
    (await secondScriptedExecutor.nextCall('A.2')).complete({ n: 2 });
    expect(await run.result()).toMatchObject({ status: 'completed', output: { result: [0, 1, 2] } });
    expect(secondScriptedExecutor.calls).toEqual(['A.1', 'A.2']);
  });

  it('a parallel continues with its unfinished branches, within its concurrency', async () => {
    const engines = makeEngineSequence();
    const firstScriptedExecutor = new ScriptedExecutor();
    const firstEngine = await engines.openNext({ blocks: [firstScriptedExecutor.executor] });
    const definition = workflow(
      [
        parallel('P', { parallelType: 'count', count: 4, batchSize: 2 }, work('A')),
        fn('Z', 'return <p.results>.map(branch => branch[0].n)'),
      ],
      ['Start -> P -> A', 'P -> Z'],
    );
    const { runId } = await firstEngine.start({ workflow: definition });
    await firstScriptedExecutor.nextCall('A.0');
    (await firstScriptedExecutor.nextCall('A.1')).complete({ n: 1 });
    await firstScriptedExecutor.nextCall('A.2');
    const secondScriptedExecutor = new ScriptedExecutor();
    const secondEngine = await engines.openNext({ blocks: [secondScriptedExecutor.executor] });
    const run = await secondEngine.attach(runId);
    const firstBranchCall = await secondScriptedExecutor.nextCall('A.0');
    (await secondScriptedExecutor.nextCall('A.2')).complete({ n: 2 });
    (await secondScriptedExecutor.nextCall('A.3')).complete({ n: 3 });
    firstBranchCall.complete({ n: 0 });
    expect(await run.result()).toMatchObject({ status: 'completed', output: { result: [0, 1, 2, 3] } });
    expect(secondScriptedExecutor.calls.toSorted()).toEqual(['A.0', 'A.2', 'A.3']);
  });

  it('variables, large values and positions in lists of mocks are preserved', async () => {
    const engines = makeEngineSequence();
    const firstScriptedExecutor = new ScriptedExecutor({
      A: () => ({ output: { text: 'x'.repeat(50_000) } }),
    });
    const firstEngine = await engines.openNext({ blocks: [firstScriptedExecutor.executor] });
    const definition = workflow(
      [
        work('A'),
        block('V', 'variables', { variables: [{ variableId: 'count', variableName: 'count', value: '7' }] }),
        loop('L', { loopType: 'for', count: 3 }, block('Ask', 'agent'), work('B')),
        fn('Z', 'return [<variable.count>, <a.text>.length, <l.results>.map(outputs => outputs[0].content)]'),
      ],
      ['Start -> A -> V -> L', 'L -> Ask -> B', 'L -> Z'],
      { variables: { count: { type: 'number', value: 1 } } },
    );
    const mocks = { types: { agent: ['one', 'two', 'three'] } };
    const { runId } = await firstEngine.start({ workflow: definition }, {}, { mocks });
    (await firstScriptedExecutor.nextCall('B.0')).complete();
    await firstScriptedExecutor.nextCall('B.1');
    const secondScriptedExecutor = new ScriptedExecutor({ B: () => ({ output: {} }) });
    const secondEngine = await engines.openNext({ blocks: [secondScriptedExecutor.executor] });
    await expect
      .poll(() => secondEngine.getRun(runId), { timeout: 20_000 })
      .toMatchObject({
        status: 'completed',
        output: { result: [7, 50_000, ['one', 'two', 'three']] },
      });
  });
}
