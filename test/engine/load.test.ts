import { createEngine } from '@heddle/engine';
import type { RunEvent } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { pickByScale } from '../support/scale.ts';
import { ScriptedExecutor, work } from '../support/scripted-executor.ts';
import { block, loop, workflow } from '../support/workflow.ts';
import { openEngineOn, openReusableStores } from './open-engine.ts';

/** The executor of blocks that immediately return an empty output. */
const noopExecutor = { types: ['noop'], class: 'compute' as const, execute: () => ({ output: {} }) };
const loopWorkflow = (count: number) =>
  workflow([loop('L', { loopType: 'for', count }, block('N', 'noop'))], ['Start -> L -> N']);

describe('load', () => {
  it('a thousand concurrent runs end, within the limit of concurrent effects', async () => {
    let peakCount = 0;
    let runningCount = 0;
    const countingExecutor = {
      types: ['work'],
      class: 'effect' as const,
      async execute() {
        peakCount = Math.max(peakCount, ++runningCount);
        await new Promise(setImmediate);
        runningCount -= 1;
        return { output: {} };
      },
    };
    const engine = await createEngine({
      blocks: [countingExecutor],
      data: createDataFolder(),
      concurrency: { engine: 20 },
    });
    onTestFinished(() => engine.close());
    const definition = workflow([work('A'), work('B')], ['Start -> A -> B']);
    await engine.deploy(definition);
    const resultPromises = Array.from({ length: 1000 }, () => engine.execute('test-workflow'));
    const endedRuns = await Promise.all(resultPromises);
    expect(endedRuns.filter(({ status }) => status === 'completed')).toHaveLength(1000);
    expect(peakCount).toBe(20);
  });

  it('a long loop does not block other work of the process', async () => {
    const engine = await createEngine({ blocks: [noopExecutor] });
    onTestFinished(() => engine.close());
    // Becomes negative when the run ends, which ends the loop below.
    let eventLoopTurns = 0;
    const resultPromise = engine
      .execute({ workflow: loopWorkflow(5000) })
      .finally(() => (eventLoopTurns = -eventLoopTurns));
    while (eventLoopTurns >= 0 && eventLoopTurns < 3) {
      await new Promise(setImmediate);
      eventLoopTurns += 1;
    }
    expect(eventLoopTurns).toBe(3);
    expect(await resultPromise).toMatchObject({ status: 'completed' });
  });

  it('a loop writes the same number of entries and logs per iteration, for any number of iterations', async () => {
    const stores = openReusableStores();
    const engine = await openEngineOn(stores, {
      blocks: [noopExecutor],
      limits: { maxLoopTurns: 1_000_000 },
    });
    const count = pickByScale(2000, 100_000);
    const { runId, status } = await engine.execute({ workflow: loopWorkflow(count) });
    expect(status).toBe('completed');
    expect(await stores.runs.journal(runId)).toHaveLength(count + 2);
    expect(await stores.runs.logs(runId)).toHaveLength(count + 2);
  });

  it('a slow reader of events receives all events and does not delay the run', async () => {
    const scriptedExecutor = new ScriptedExecutor();
    const engine = await createEngine({ blocks: [scriptedExecutor.executor, noopExecutor] });
    onTestFinished(() => engine.close());
    const definition = workflow(
      [work('A'), loop('L', { loopType: 'for', count: 1000 }, block('N', 'noop'))],
      ['Start -> A -> L -> N'],
    );
    const run = await engine.start({ workflow: definition });
    const events = run.events();
    (await scriptedExecutor.nextCall('A')).complete();
    expect(await run.result()).toMatchObject({ status: 'completed' });
    const types: RunEvent['type'][] = [];
    for await (const { type } of events) types.push(type);
    expect(types.filter((type) => type === 'container:iteration')).toHaveLength(1000);
    expect(types.filter((type) => type === 'block:completed')).toHaveLength(1003);
    expect(types.at(-1)).toBe('run:ended');
  });

  it('an ended run leaves no timer', async () => {
    const timers = new Set<object>();
    const clock = {
      now: () => Date.now(),
      at: (atMs: number, fire: () => void) => {
        const timer = {};
        timers.add(timer);
        const handle = setTimeout(
          () => {
            timers.delete(timer);
            fire();
          },
          Math.max(0, atMs - Date.now()),
        );
        return () => {
          timers.delete(timer);
          clearTimeout(handle);
        };
      },
    };
    const engine = await openEngineOn(openReusableStores(), {
      clock,
      blocks: [noopExecutor, new ScriptedExecutor({ A: () => ({ output: {} }) }).executor],
    });
    const definition = workflow([work('A', { timeoutMs: 60_000 }), block('N', 'noop')], ['Start -> A -> N']);
    for (let n = 0; n < 5; n++)
      expect(await engine.execute({ workflow: definition }, {}, { timeoutMs: 60_000 })).toMatchObject({
        status: 'completed',
      });
    expect(timers.size).toBe(0);
  });
});
