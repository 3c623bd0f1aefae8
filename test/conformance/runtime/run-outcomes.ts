import { BlockError } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import { TestClock } from '../../support/test-clock.ts';
import type { Call } from '../../support/scripted-executor.ts';
import { block, condition, fn, loop, parallel, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';
import { sharedTestEngine } from './test-engine.ts';

const responseBlock = (name: string, data: string) => block(name, 'response', { dataMode: 'json', data });

/**
 * Defines the tests of the outcomes of runs: outputs, responses, failures, cancellations and records.
 * Rule R29 is in docs/semantics.md.
 */
export function describeRunOutcomes(makeRuntime: MakeRuntime): void {
  describe('run outcomes', () => {
    const getTestEngine = sharedTestEngine(makeRuntime);

    it('the output of the run is the output of the last finished block without successors', async () => {
      const { runWorkflow } = await getTestEngine();
      const chain = { blocks: [work('A'), work('B')], edges: ['Start -> A -> B'] };
      expect(await runWorkflow(chain)).toMatchObject({
        status: 'completed',
        output: { blockName: 'B' },
        error: null,
      });
      const runWithHandler = { blocks: [work('A'), work('H')], edges: ['Start -> A', 'A:error -> H'] };
      expect((await runWorkflow(runWithHandler)).output).toEqual({ blockName: 'A' });
      expect((await runWorkflow({ ...runWithHandler, failingBlocks: ['A'] })).output).toEqual({
        blockName: 'H',
      });
    });

    it('a Response on the chosen path sets the response, and later blocks do not run', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          condition('C', { a: 'true', b: '' }),
          responseBlock('R', '{"from": "R"}'),
          responseBlock('S', '{"from": "S"}'),
          work('A'),
        ],
        edges: ['Start -> C', 'C:a -> R -> A', 'C:b -> S'],
      });
      expect(result).toMatchObject({
        status: 'completed',
        executedBlocks: '',
        output: { data: { from: 'R' }, status: 200 },
      });
    });

    it('a Response in one branch ends all branches, and no later block changes the response', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          parallel(
            'P',
            { parallelType: 'count', count: 4, batchSize: 1 },
            responseBlock('R', '{"branch": <parallel.index>}'),
            work('A'),
          ),
          responseBlock('S', '{"late": true}'),
        ],
        edges: ['Start -> P -> R -> A', 'P -> S'],
      });
      expect(result).toMatchObject({
        status: 'completed',
        executedBlocks: '',
        output: { data: { branch: 0 } },
      });
    });

    it.each<[string, (call: Call) => void]>([
      ['a failure', (call) => call.fail(new Error('too late'))],
      ['an output', (call) => call.complete({ too: 'late' })],
    ])('%s in another branch after a Response does not change the run', async (_title, endCall) => {
      const clock = new TestClock();
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ clock, blocks: [scriptedExecutor.executor] });
      const run = await engine.start({
        workflow: workflow(
          [work('A'), work('G'), responseBlock('R', '"done"')],
          ['Start -> A', 'Start -> G -> R'],
        ),
      });
      const call = await scriptedExecutor.nextCall('A');
      (await scriptedExecutor.nextCall('G')).complete();
      await clock.waitForTimer(5000);
      endCall(call);
      expect(await run.result()).toMatchObject({
        status: 'completed',
        output: { data: 'done' },
        error: null,
      });
    });

    it('a failed run records its failed block, the reason, start and end, and keeps the logs of earlier blocks', async () => {
      const { engine, runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [work('A'), work('B'), work('C'), work('D')],
        edges: ['Start -> A', 'A -> B -> C', 'A -> D'],
        failingBlocks: ['B'],
      });
      expect(result).toMatchObject({
        status: 'failed',
        error: {
          code: 'BLOCK_FAILED',
          message: expect.stringContaining('B does not work'),
          details: { blockName: 'B' },
        },
        startedAt: expect.any(String),
        endedAt: expect.any(String),
        durationMs: expect.any(Number),
      });
      const logs = await engine.getLogs(result.runId);
      const states = logs.map(({ blockName, status }) => `${blockName} ${status}`);
      expect(states).toEqual(expect.arrayContaining(['Start completed', 'A completed', 'B failed']));
      expect(states).not.toContain('C completed');
    });

    it('the first of several failures is the failure of the run', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const clock = new TestClock();
      const engine = await makeRuntime().open({ clock, blocks: [scriptedExecutor.executor] });
      const run = await engine.start({
        workflow: workflow([work('A'), work('B')], ['Start -> A', 'Start -> B']),
      });
      const [a, b] = [await scriptedExecutor.nextCall('A'), await scriptedExecutor.nextCall('B')];
      b.fail(new BlockError('BLOCK_FAILED', 'first'));
      await clock.waitForTimer(5000);
      a.fail(new BlockError('BLOCK_FAILED', 'second'));
      expect(await run.result()).toMatchObject({ status: 'failed', error: { details: { blockName: 'B' } } });
    });

    it.each<[string, string, string]>([
      ['a string', 'throw "just text"', 'just text'],
      ['an error of another class', 'throw new RangeError("too far")', 'too far'],
      ['undefined', 'throw undefined', ''],
    ])('code that throws %s fails its block', async (_title, code, message) => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({ blocks: [fn('A', code)], edges: ['Start -> A'] });
      expect(result).toMatchObject({
        status: 'failed',
        error: { message: expect.stringContaining(message) },
      });
    });

    it('a signal aborted before the start cancels the run before any block runs (R29)', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
      const source = { workflow: workflow([work('A'), work('B')], ['Start -> A -> B']) };
      const result = await engine.execute(source, {}, { signal: AbortSignal.abort() });
      expect(result).toMatchObject({ status: 'cancelled' });
      expect(scriptedExecutor.calls).toEqual([]);
      expect(await engine.getRun(result.runId)).toMatchObject({ status: 'cancelled' });
    });

    it('a cancelled run keeps its logs, start and end, and does not wait for slow blocks', async () => {
      const scriptedExecutor = new ScriptedExecutor({ A: () => ({ output: { a: 1 } }) });
      const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
      const run = await engine.start({
        workflow: workflow(
          [work('A'), work('G'), work('B'), work('C')],
          ['Start -> A', 'Start -> G -> B -> C'],
        ),
      });
      (await scriptedExecutor.nextCall('G')).complete();
      await scriptedExecutor.nextCall('B');
      await engine.cancel(run.runId);
      expect(await run.result()).toMatchObject({
        status: 'cancelled',
        output: { a: 1 },
        startedAt: expect.any(String),
        endedAt: expect.any(String),
        durationMs: expect.any(Number),
      });
      const logs = await engine.getLogs(run.runId);
      expect(logs.map(({ blockName, status }) => `${blockName} ${status}`).toSorted()).toEqual([
        'A completed',
        'B cancelled',
        'G completed',
        'Start completed',
      ]);
    });

    it('cancelling a run during the grace period after a failure ends the run as cancelled', async () => {
      const clock = new TestClock();
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ clock, blocks: [scriptedExecutor.executor] });
      const run = await engine.start({
        workflow: workflow([work('A'), work('B')], ['Start -> A', 'Start -> B']),
      });
      await scriptedExecutor.nextCall('B');
      (await scriptedExecutor.nextCall('A')).fail(new Error('no'));
      await clock.waitForTimer(5000);
      await engine.cancel(run.runId);
      expect(await run.result()).toMatchObject({ status: 'cancelled' });
    });

    it.each<[string, () => ReturnType<typeof loop>]>([
      ['a loop', () => loop('In', { loopType: 'for', count: 3 }, work('A'))],
      ['a parallel', () => parallel('In', { parallelType: 'count', count: 3, batchSize: 1 }, work('A'))],
    ])(
      'after a cancellation in %s no further iteration or branch and no later block starts',
      async (_title, createContainer) => {
        const scriptedExecutor = new ScriptedExecutor();
        const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
        const run = await engine.start({
          workflow: workflow([createContainer(), work('Z')], ['Start -> In -> A', 'In -> Z']),
        });
        (await scriptedExecutor.nextCall('A.0')).complete();
        await scriptedExecutor.nextCall('A.1');
        await engine.cancel(run.runId);
        expect(await run.result()).toMatchObject({ status: 'cancelled' });
        await scriptedExecutor.whenAborted('A.1');
        expect([scriptedExecutor.calls, scriptedExecutor.abortedCalls]).toEqual([['A.0', 'A.1'], ['A.1']]);
      },
    );

    it('a cancellation between two attempts prevents the next attempt', async () => {
      const clock = new TestClock();
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ clock, blocks: [scriptedExecutor.executor] });
      const retry = { enabled: true, maxTries: 3, waitBetweenTriesMs: 100 };
      const run = await engine.start({ workflow: workflow([work('A', { retry })], ['Start -> A']) });
      (await scriptedExecutor.nextCall('A')).fail(new Error('once'));
      await clock.waitForTimer(100);
      await engine.cancel(run.runId);
      clock.advance(1000);
      expect(await run.result()).toMatchObject({ status: 'cancelled' });
      expect(scriptedExecutor.calls).toEqual(['A']);
    });

    it('a log entry exists from the start of its block, and never ends before it starts', async () => {
      const { engine, runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [loop('L', { loopType: 'for', count: 2 }, work('A')), work('Z')],
        edges: ['Start -> L -> A', 'L -> Z'],
      });
      const logs = await engine.getLogs(result.runId);
      expect(logs.map(({ executionOrder }) => executionOrder)).toEqual([1, 2, 3, 4, 5]);
      expect(logs.filter(({ startedMs, endedMs }) => endedMs === undefined || endedMs < startedMs)).toEqual(
        [],
      );
      expect(logs.find(({ blockName }) => blockName === 'A')).toMatchObject({
        container: { kind: 'loop', index: 0 },
      });
    });
  });
}
