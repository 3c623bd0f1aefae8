import { expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../../../support/scripted-executor.ts';
import { TestClock } from '../../../support/test-clock.ts';
import { block, fn, workflow } from '../../../support/workflow.ts';
import type { EngineSequence } from './engine-sequence.ts';

const HOUR_MS = 3_600_000;

/** Defines the tests of waits, next attempts and deadlines, which keep their time across a restart. */
export function describeTimers(makeEngineSequence: () => EngineSequence): void {
  const waitBlock = block('W', 'wait', { timeValue: '2', timeUnit: 'hours' });
  const waitWorkflow = workflow([waitBlock, fn('Z', 'return <w.status>')], ['Start -> W -> Z']);

  it('a wait keeps its end time', async () => {
    const engines = makeEngineSequence();
    const clock = new TestClock(1000);
    const { runId } = await (await engines.openNext({ clock })).start({ workflow: waitWorkflow });
    await clock.waitForTimer(2 * HOUR_MS);
    clock.advance(HOUR_MS);
    const laterEngine = await engines.openNext({ clock });
    expect(await laterEngine.getRun(runId)).toMatchObject({ status: 'paused', pauseKind: 'time' });
    clock.advance(HOUR_MS - 1);
    expect(await laterEngine.getRun(runId)).toMatchObject({ status: 'paused' });
    const run = await laterEngine.attach(runId);
    clock.advance(1);
    expect(await run.result()).toMatchObject({ status: 'completed', output: { result: 'completed' } });
  });

  it('a wait that expired while no engine ran ends immediately', async () => {
    const engines = makeEngineSequence();
    const clock = new TestClock(1000);
    const { runId } = await (await engines.openNext({ clock })).start({ workflow: waitWorkflow });
    await clock.waitForTimer(2 * HOUR_MS);
    const laterClock = new TestClock(5 * HOUR_MS);
    const laterEngine = await engines.openNext({ clock: laterClock });
    const run = await laterEngine.attach(runId);
    laterClock.advance(0);
    expect(await run.result()).toMatchObject({ status: 'completed' });
  });

  it('a scheduled retry runs at its due time, with the next attempt number', async () => {
    const engines = makeEngineSequence();
    const clock = new TestClock(1000);
    const firstScriptedExecutor = new ScriptedExecutor();
    const firstEngine = await engines.openNext({ clock, blocks: [firstScriptedExecutor.executor] });
    const retry = { enabled: true, maxTries: 3, waitBetweenTriesMs: 5000 };
    const { runId } = await firstEngine.start({ workflow: workflow([work('A', { retry })], ['Start -> A']) });
    (await firstScriptedExecutor.nextCall('A')).fail(new Error('one'));
    await clock.waitForTimer(5000);
    clock.advance(2000);
    const secondScriptedExecutor = new ScriptedExecutor();
    const secondEngine = await engines.openNext({ clock, blocks: [secondScriptedExecutor.executor] });
    const run = await secondEngine.attach(runId);
    clock.advance(2999);
    expect(secondScriptedExecutor.calls).toEqual([]);
    clock.advance(1);
    const call = await secondScriptedExecutor.nextCall('A');
    expect(call.attempt).toBe(2);
    call.complete({ ok: true });
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect((await secondEngine.getLogs(runId)).at(-1)).toMatchObject({ blockName: 'A', tries: 2 });
  });

  it('deadlines of blocks and runs do not change', async () => {
    const engines = makeEngineSequence();
    const clock = new TestClock(1000);
    const firstScriptedExecutor = new ScriptedExecutor();
    const firstEngine = await engines.openNext({ clock, blocks: [firstScriptedExecutor.executor] });
    const workflowWithBlockTimeout = workflow([work('A', { timeoutMs: 10_000 })], ['Start -> A']);
    const workflowWithoutBlockTimeout = workflow([work('B')], ['Start -> B']);
    const runWithBlockTimeout = await firstEngine.start({ workflow: workflowWithBlockTimeout });
    const runWithTimeout = await firstEngine.start(
      { workflow: workflowWithoutBlockTimeout },
      {},
      { timeoutMs: 20_000 },
    );
    const { context } = await firstScriptedExecutor.nextCall('A');
    expect(context.remainingMs).toBe(10_000);
    await firstScriptedExecutor.nextCall('B');
    clock.advance(9000);
    const secondScriptedExecutor = new ScriptedExecutor();
    const secondEngine = await engines.openNext({ clock, blocks: [secondScriptedExecutor.executor] });
    const runs = [
      await secondEngine.attach(runWithBlockTimeout.runId),
      await secondEngine.attach(runWithTimeout.runId),
    ] as const;
    expect((await secondScriptedExecutor.nextCall('A')).context.remainingMs).toBe(1000);
    expect((await secondScriptedExecutor.nextCall('B')).context.remainingMs).toBe(11_000);
    clock.advance(1000);
    expect(await runs[0].result()).toMatchObject({ status: 'failed', error: { code: 'BLOCK_TIMEOUT' } });
    clock.advance(10_000);
    expect(await runs[1].result()).toMatchObject({ status: 'failed', error: { code: 'RUN_TIMEOUT' } });
  });
}
