import { expect, it } from 'vitest';
import { Script, work } from '../../../support/script.ts';
import { TestClock } from '../../../support/test-clock.ts';
import { block, fn, workflow } from '../../../support/workflow.ts';
import type { EngineSequence } from './engine-sequence.ts';

const HOUR_MS = 3_600_000;

/** Defines the tests of waits, next attempts and deadlines, which keep their time across a restart. */
export function describeTimers(makeEngines: () => EngineSequence): void {
  const wait = block('W', 'wait', { timeValue: '2', timeUnit: 'hours' });
  const waitWorkflow = workflow([wait, fn('Z', 'return <w.status>')], ['Start -> W -> Z']);

  it('a wait keeps its end time', async () => {
    const engines = makeEngines();
    const clock = new TestClock(1000);
    const { runId } = await (await engines.next({ clock })).start({ workflow: waitWorkflow });
    await clock.waitForTimer(2 * HOUR_MS);
    clock.advance(HOUR_MS);
    const after = await engines.next({ clock });
    expect(await after.getRun(runId)).toMatchObject({ status: 'paused', pauseKind: 'time' });
    clock.advance(HOUR_MS - 1);
    expect(await after.getRun(runId)).toMatchObject({ status: 'paused' });
    const run = await after.attach(runId);
    clock.advance(1);
    expect(await run.result()).toMatchObject({ status: 'completed', output: { result: 'completed' } });
  });

  it('a wait that expired while no engine ran ends immediately', async () => {
    const engines = makeEngines();
    const clock = new TestClock(1000);
    const { runId } = await (await engines.next({ clock })).start({ workflow: waitWorkflow });
    await clock.waitForTimer(2 * HOUR_MS);
    const laterClock = new TestClock(5 * HOUR_MS);
    const after = await engines.next({ clock: laterClock });
    const run = await after.attach(runId);
    laterClock.advance(0);
    expect(await run.result()).toMatchObject({ status: 'completed' });
  });

  it('a scheduled retry runs at its due time, with the next attempt number', async () => {
    const engines = makeEngines();
    const clock = new TestClock(1000);
    const first = new Script();
    const before = await engines.next({ clock, blocks: [first.executor] });
    const retry = { enabled: true, maxTries: 3, waitBetweenTriesMs: 5000 };
    const { runId } = await before.start({ workflow: workflow([work('A', { retry })], ['Start -> A']) });
    (await first.nextCall('A')).fail(new Error('one'));
    await clock.waitForTimer(5000);
    clock.advance(2000);
    const second = new Script();
    const after = await engines.next({ clock, blocks: [second.executor] });
    const run = await after.attach(runId);
    clock.advance(2999);
    expect(second.calls).toEqual([]);
    clock.advance(1);
    const call = await second.nextCall('A');
    expect(call.attempt).toBe(2);
    call.done({ ok: true });
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect((await after.getLogs(runId)).at(-1)).toMatchObject({ blockName: 'A', tries: 2 });
  });

  it('deadlines of blocks and runs do not change', async () => {
    const engines = makeEngines();
    const clock = new TestClock(1000);
    const first = new Script();
    const before = await engines.next({ clock, blocks: [first.executor] });
    const withBlockTimeout = workflow([work('A', { timeoutMs: 10_000 })], ['Start -> A']);
    const withoutBlockTimeout = workflow([work('B')], ['Start -> B']);
    const runWithBlockTimeout = await before.start({ workflow: withBlockTimeout });
    const runWithTimeout = await before.start({ workflow: withoutBlockTimeout }, {}, { timeoutMs: 20_000 });
    const { context } = await first.nextCall('A');
    expect(context.remainingMs).toBe(10_000);
    await first.nextCall('B');
    clock.advance(9000);
    const second = new Script();
    const after = await engines.next({ clock, blocks: [second.executor] });
    const runs = [
      await after.attach(runWithBlockTimeout.runId),
      await after.attach(runWithTimeout.runId),
    ] as const;
    expect((await second.nextCall('A')).context.remainingMs).toBe(1000);
    expect((await second.nextCall('B')).context.remainingMs).toBe(11_000);
    clock.advance(1000);
    expect(await runs[0].result()).toMatchObject({ status: 'failed', error: { code: 'BLOCK_TIMEOUT' } });
    clock.advance(10_000);
    expect(await runs[1].result()).toMatchObject({ status: 'failed', error: { code: 'RUN_TIMEOUT' } });
  });
}
