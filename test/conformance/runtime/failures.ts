import { BlockError } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import { TestClock } from '../../support/test-clock.ts';
import { block, fn, loop, parallel, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

/**
 * Defines the tests of R11–R18 (docs/semantics.md): attempts, error ports, failures in containers, and other blocks of
 * failed runs.
 */
export function describeFailures(makeRuntime: MakeRuntime): void {
  describe('failures', () => {
    it('a block is retried with backoff, and fails with its last failure (R13)', async () => {
      const clock = new TestClock(1000);
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ clock, blocks: [scriptedExecutor.executor] });
      const retry = { enabled: true, maxTries: 3, waitBetweenTriesMs: 100, backoffCoefficient: 3 };
      const run = await engine.start({ workflow: workflow([work('A', { retry })], ['Start -> A']) });
      (await scriptedExecutor.nextCall('A')).fail(new Error('one'));
      await clock.waitForTimer(100);
      clock.advance(100);
      (await scriptedExecutor.nextCall('A')).fail(new Error('two'));
      await clock.waitForTimer(300);
      clock.advance(299);
      expect(scriptedExecutor.calls).toHaveLength(2);
      clock.advance(1);
      (await scriptedExecutor.nextCall('A')).fail(new Error('three'));
      const result = await run.result();
      expect(result).toMatchObject({ status: 'failed', error: { message: 'three' } });
      const [, log] = await engine.getLogs(run.runId);
      expect(log).toMatchObject({ blockName: 'A', tries: 3, status: 'failed' });
    });

    it('a block is not retried after a failure that is not retryable (R13)', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
      const retry = { enabled: true, maxTries: 5, waitBetweenTriesMs: 0 };
      const run = await engine.start({ workflow: workflow([work('A', { retry })], ['Start -> A']) });
      (await scriptedExecutor.nextCall('A')).fail(
        new BlockError('BLOCK_CONFIG_INVALID', 'never', { retryable: false }),
      );
      expect(await run.result()).toMatchObject({ status: 'failed', error: { code: 'BLOCK_CONFIG_INVALID' } });
      expect(scriptedExecutor.calls).toEqual(['A']);
    });

    it('a retry waits at least as long as Retry-After (R14)', async () => {
      const clock = new TestClock();
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ clock, blocks: [scriptedExecutor.executor] });
      const retry = { enabled: true, maxTries: 2, waitBetweenTriesMs: 10 };
      const run = await engine.start({ workflow: workflow([work('A', { retry })], ['Start -> A']) });
      (await scriptedExecutor.nextCall('A')).fail(
        new BlockError('HTTP_FAILED', 'busy', { retryAfterMs: 5000 }),
      );
      await clock.waitForTimer(5000);
      clock.advance(4999);
      expect(scriptedExecutor.calls).toHaveLength(1);
      clock.advance(1);
      (await scriptedExecutor.nextCall('A')).complete({ ok: true });
      expect(await run.result()).toMatchObject({ status: 'completed', output: { ok: true } });
    });

    it('a failed block activates its error port once, with the message as the output (R15)', async () => {
      const engine = await makeRuntime().open();
      const definition = workflow(
        [fn('A', 'throw new Error("no")'), fn('B', 'return 1'), fn('H', 'return <a.error>')],
        ['Start -> A -> B', 'A:error -> H'],
      );
      const result = await engine.execute({ workflow: definition });
      expect(result.status).toBe('completed');
      expect((result.output as { result: string }).result).toContain('no');
    });

    it('a container with an error port handles failures of its body (R16)', async () => {
      const engine = await makeRuntime().open();
      const definition = workflow(
        [
          loop(
            'L',
            { loopType: 'for', count: 3 },
            fn('A', 'if (<loop.index> === 1) throw new Error("second"); return 1'),
          ),
          fn('Z', 'return "z"'),
          fn('H', 'return <l.error>'),
        ],
        ['Start -> L -> A', 'L -> Z', 'L:error -> H'],
      );
      const result = await engine.execute({ workflow: definition });
      expect(result.status).toBe('completed');
      expect((result.output as { result: string }).result).toContain('second');
    });

    it('a parallel that collects errors continues with its other branches (R16)', async () => {
      const engine = await makeRuntime().open();
      const definition = workflow(
        [
          parallel(
            'P',
            { parallelType: 'count', count: 3, onBranchError: 'collect' },
            fn('A', 'if (<parallel.index> === 1) throw new Error("b1"); return <parallel.index>'),
          ),
          fn('Z', 'return <p.results>.map(b => b[0].result ?? (b[0].error ? "E" : "?"))'),
        ],
        ['Start -> P -> A', 'P -> Z'],
      );
      expect(await engine.execute({ workflow: definition })).toMatchObject({
        status: 'completed',
        output: { result: [0, 'E', 2] },
      });
    });

    it('no block starts after a failure; running blocks get a grace period and are recorded (R17)', async () => {
      const clock = new TestClock();
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ clock, blocks: [scriptedExecutor.executor] });
      const definition = workflow(
        [work('A'), work('B'), work('C'), work('D')],
        ['Start -> A -> C', 'Start -> B -> D'],
      );
      const run = await engine.start({ workflow: definition });
      const slowCall = await scriptedExecutor.nextCall('B');
      (await scriptedExecutor.nextCall('A')).fail(
        new BlockError('BLOCK_FAILED', 'first', { retryable: false }),
      );
      await clock.waitForTimer(5000);
      slowCall.complete({ late: true });
      expect(await run.result()).toMatchObject({ status: 'failed', error: { message: 'first' } });
      expect(scriptedExecutor.calls.toSorted()).toEqual(['A', 'B']);
      const logs = await engine.getLogs(run.runId);
      expect(logs.find(({ blockName }) => blockName === 'B')).toMatchObject({
        status: 'completed',
        output: { late: true },
      });
    });

    it('running blocks are aborted after the grace period (R18)', async () => {
      const clock = new TestClock();
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({
        clock,
        blocks: [scriptedExecutor.executor],
        limits: { graceMs: 200 },
      });
      const run = await engine.start({
        workflow: workflow([work('A'), work('B')], ['Start -> A', 'Start -> B']),
      });
      await scriptedExecutor.nextCall('B');
      (await scriptedExecutor.nextCall('A')).fail(new Error('first'));
      await clock.waitForTimer(200);
      clock.advance(200);
      expect(await run.result()).toMatchObject({ status: 'failed', error: { message: 'first' } });
      await scriptedExecutor.whenAborted('B');
      expect(scriptedExecutor.abortedCalls).toEqual(['B']);
      const logs = await engine.getLogs(run.runId);
      expect(logs.find(({ blockName }) => blockName === 'B')).toMatchObject({ status: 'cancelled' });
    });

    it('a loop that exceeds the limit of iterations fails with the code of the limit (R11)', async () => {
      const engine = await makeRuntime().open({ limits: { maxLoopTurns: 3 } });
      const definition = workflow(
        [loop('L', { loopType: 'while', whileCondition: 'true' }, fn('A', 'return 1'))],
        ['Start -> L -> A'],
      );
      const result = await engine.execute({ workflow: definition });
      expect(result).toMatchObject({ status: 'failed', error: { code: 'LOOP_LIMIT' } });
      expect(result.error?.message).toContain('maxLoopTurns');
    });

    it('a block of an unknown type fails when it starts, with a hint in the message', async () => {
      const engine = await makeRuntime().open();
      const result = await engine.execute({
        workflow: workflow([block('A', 'no_such_type')], ['Start -> A']),
      });
      expect(result).toMatchObject({ status: 'failed', error: { code: 'BLOCK_TYPE_UNKNOWN' } });
      expect(result.error?.message).toContain('no_such_type');
    });
  });
}
