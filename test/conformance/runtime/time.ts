import { describe, expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import { TestClock } from '../../support/test-clock.ts';
import { block, fn, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

/**
 * Defines the tests of R21, R23 and R26–R29 (docs/semantics.md): timeouts, waits, Responses, runs until a block, and
 * cancellations.
 */
export function describeTime(makeRuntime: MakeRuntime): void {
  describe('time', () => {
    it('a block that exceeds its timeout is aborted and fails (R21)', async () => {
      const clock = new TestClock();
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ clock, blocks: [scriptedExecutor.executor] });
      const run = await engine.start({ workflow: workflow([work('A', { timeoutMs: 500 })], ['Start -> A']) });
      await scriptedExecutor.nextCall('A');
      clock.advance(500);
      expect(await run.result()).toMatchObject({ status: 'failed', error: { code: 'BLOCK_TIMEOUT' } });
      expect(scriptedExecutor.abortedCalls).toEqual(['A']);
    });

    it('a run that exceeds its timeout fails, and its blocks are aborted (R26)', async () => {
      const clock = new TestClock();
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ clock, blocks: [scriptedExecutor.executor] });
      const run = await engine.start(
        { workflow: workflow([work('A')], ['Start -> A']) },
        {},
        { timeoutMs: 1000 },
      );
      await scriptedExecutor.nextCall('A');
      clock.advance(1000);
      expect(await run.result()).toMatchObject({
        status: 'failed',
        error: { code: 'RUN_TIMEOUT' },
        durationMs: 1000,
      });
      await scriptedExecutor.whenAborted('A');
      expect(scriptedExecutor.abortedCalls).toEqual(['A']);
    });

    it('a wait has its exact duration, and the run is paused until then (R23)', async () => {
      const clock = new TestClock(5000);
      const engine = await makeRuntime().open({ clock });
      const waitBlock = block('W', 'wait', { timeValue: '2', timeUnit: 'hours' });
      const run = await engine.start({
        workflow: workflow([waitBlock, fn('Z', 'return <w.status>')], ['Start -> W -> Z']),
      });
      await clock.waitForTimer(2 * 3600_000);
      expect(await engine.getRun(run.runId)).toMatchObject({ status: 'paused', pauseKind: 'time' });
      clock.advance(2 * 3600_000 - 1);
      expect(await engine.getRun(run.runId)).toMatchObject({ status: 'paused' });
      clock.advance(1);
      expect(await run.result()).toMatchObject({ status: 'completed', output: { result: 'completed' } });
    });

    it('cancelling a run aborts its running blocks, and the run stays cancelled (R29)', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
      const run = await engine.start({ workflow: workflow([work('A'), work('B')], ['Start -> A -> B']) });
      const call = await scriptedExecutor.nextCall('A');
      expect(await engine.cancel(run.runId, 'enough')).toBe(true);
      await scriptedExecutor.whenAborted('A');
      expect(scriptedExecutor.abortedCalls).toEqual(['A']);
      call.complete();
      expect(await run.result()).toMatchObject({ status: 'cancelled' });
      expect(await engine.cancel(run.runId)).toBe(false);
      expect(scriptedExecutor.calls).toEqual(['A']);
    });

    it('a signal cancels the run that it was passed to', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
      const controller = new AbortController();
      const run = await engine.start(
        { workflow: workflow([work('A')], ['Start -> A']) },
        {},
        { signal: controller.signal },
      );
      await scriptedExecutor.nextCall('A');
      controller.abort();
      expect(await run.result()).toMatchObject({ status: 'cancelled' });
    });

    it('after a Response no block starts, and running blocks get a grace period (R27)', async () => {
      const clock = new TestClock();
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({
        clock,
        blocks: [scriptedExecutor.executor],
        limits: { graceMs: 100 },
      });
      const responseBlock = block('R', 'response', { dataMode: 'json', data: '{"ok": true}' });
      const run = await engine.start({
        workflow: workflow([work('A'), responseBlock, work('B')], ['Start -> A -> B', 'Start -> R']),
      });
      await scriptedExecutor.nextCall('A');
      await clock.waitForTimer(100);
      clock.advance(100);
      expect(await run.result()).toMatchObject({
        status: 'completed',
        output: { data: { ok: true }, status: 200 },
      });
      expect(scriptedExecutor.calls).toEqual(['A']);
      await scriptedExecutor.whenAborted('A');
      expect(scriptedExecutor.abortedCalls).toEqual(['A']);
    });

    it('a run until a block stops after that block (R28)', async () => {
      const scriptedExecutor = new ScriptedExecutor({
        A: () => ({ output: { a: 1 } }),
        B: () => ({ output: { b: 1 } }),
        C: () => ({ output: { c: 1 } }),
      });
      const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
      const definition = workflow([work('A'), work('B'), work('C')], ['Start -> A -> B -> C']);
      expect(await engine.execute({ workflow: definition }, {}, { until: 'B' })).toMatchObject({
        status: 'completed',
        output: { b: 1 },
      });
      expect(scriptedExecutor.calls).toEqual(['A', 'B']);
    });
  });
}
