import type { Engine } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import { askBlock, AskExecutor } from '../../support/ask-blocks.ts';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import { TestClock } from '../../support/test-clock.ts';
import { fn, loop, parallel, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

const RETRY = { enabled: true, maxTries: 2, waitBetweenTriesMs: 0 };

/** Defines the tests of R46 (docs/semantics.md): blocks that pause in an attempt and continue it with the answer. */
export function describeContinuedAttempts(makeRuntime: MakeRuntime): void {
  describe('blocks that continue after a pause', () => {
    it('get the answers to all their pauses, in order, and repeat no step (R46)', async () => {
      const askExecutor = new AskExecutor();
      const engine = await makeRuntime().open({ blocks: [askExecutor.executor] });
      const definition = workflow([askBlock('A', 2), fn('Z', 'return <a.answers>')], ['Start -> A -> Z']);
      const run = await engine.start({ workflow: definition });
      expect(await run.result()).toMatchObject({ status: 'paused' });
      const firstPause = await getSinglePause(engine, run.runId);
      expect(firstPause).toMatchObject({ blockName: 'A', kind: 'human', output: { question: 1 } });
      const { runId } = run;
      const largeAnswer = 'ä'.repeat(10_000);
      expect(
        await engine.resume(runId, { token: firstPause.token, input: { answer: largeAnswer } }),
      ).toMatchObject({
        status: 'paused',
      });
      const secondPause = await getSinglePause(engine, runId);
      expect(secondPause).toMatchObject({ output: { question: 2 } });
      expect(secondPause.token).not.toBe(firstPause.token);
      const result = await engine.resume(runId, { token: secondPause.token, input: { answer: null } });
      expect(result).toMatchObject({
        status: 'completed',
        output: { result: [{ answer: largeAnswer }, { answer: null }] },
      });
      expect(askExecutor.executedSteps).toEqual(['A 0', 'A 1', 'A 2']);
      const logs = (await engine.getLogs(runId)).filter(({ blockName }) => blockName === 'A');
      expect(logs).toMatchObject([{ status: 'completed', tries: 1, output: { attempt: 1 } }]);
    });

    it('refuse an answer of the wrong shape, and use an answer for one pause only (R46)', async () => {
      const engine = await makeRuntime().open({ blocks: [new AskExecutor().executor] });
      const { runId, result } = await engine.start({
        workflow: workflow([askBlock('A', 2)], ['Start -> A']),
      });
      await result();
      const { token } = await getSinglePause(engine, runId);
      await expect(engine.resume(runId, { token, input: { wrong: 1 } })).rejects.toMatchObject({
        code: 'RESUME_INPUT_INVALID',
      });
      expect(await getSinglePause(engine, runId)).toMatchObject({ token });
      await engine.resume(runId, { token, input: { answer: 1 } });
      const openPause = await getSinglePause(engine, runId);
      // A repeated answer, or another answer to the same pause, has no effect: the recorded answer counts.
      for (const answer of [1, 2])
        expect(await engine.resume(runId, { token, input: { answer } })).toMatchObject({ status: 'paused' });
      expect(await getSinglePause(engine, runId)).toEqual(openPause);
      expect(await engine.resume(runId, { input: { answer: 3 } })).toMatchObject({
        output: { answers: [{ answer: 1 }, { answer: 3 }] },
      });
    });

    it('keep their answers for the next attempt, and a resume does not count as an attempt (R46)', async () => {
      let failureCount = 0;
      const askExecutor = new AskExecutor((_, answers) =>
        answers.length === 1 && failureCount++ === 0 ? Promise.reject(new Error('once')) : Promise.resolve(),
      );
      const engine = await makeRuntime().open({ blocks: [askExecutor.executor] });
      const definition = workflow([askBlock('A', 1, { retry: RETRY })], ['Start -> A']);
      const run = await engine.start({ workflow: definition });
      await run.result();
      expect(await engine.resume(run.runId, { input: { answer: 'yes' } })).toMatchObject({
        status: 'completed',
        output: { answers: [{ answer: 'yes' }], attempt: 2 },
      });
      expect(askExecutor.executedSteps).toEqual(['A 0', 'A 1']);
    });

    it('do not spend their timeout while they wait for a person (R46)', async () => {
      const clock = new TestClock();
      const answerRead = Promise.withResolvers<void>();
      const askExecutor = new AskExecutor((context, answers) => {
        if (answers.length === 0) return Promise.resolve();
        answerRead.resolve();
        return new Promise((_, reject) => {
          context.signal.addEventListener('abort', () => reject(new Error('aborted')));
        });
      });
      const engine = await makeRuntime().open({ clock, blocks: [askExecutor.executor] });
      const definition = workflow(
        [askBlock('A', 1, { timeoutMs: 1000 }), fn('H', 'return <a.error>')],
        ['Start -> A', 'A:error -> H'],
      );
      const run = await engine.start({ workflow: definition });
      await run.result();
      clock.advance(3_600_000);
      expect(await engine.getRun(run.runId)).toMatchObject({ status: 'paused' });
      const resultPromise = engine.resume(run.runId, { input: { answer: 1 } });
      await answerRead.promise;
      await clock.waitForTimer(1000);
      clock.advance(1000);
      expect(await resultPromise).toMatchObject({
        status: 'completed',
        output: { result: expect.stringContaining('timeout') },
      });
    });

    it('wait in branches and iterations, each for its own answer (R46)', async () => {
      const askExecutor = new AskExecutor();
      const engine = await makeRuntime().open({ blocks: [askExecutor.executor] });
      const definition = workflow(
        [
          parallel(
            'P',
            { parallelType: 'count', count: 2 },
            loop('L', { loopType: 'for', count: 2 }, askBlock('A')),
          ),
          fn('Z', 'return <p.results>.map(b => b[0].results.map(t => t[0].answers[0].answer))'),
        ],
        ['Start -> P -> L -> A', 'P -> Z'],
      );
      const run = await engine.start({ workflow: definition });
      await run.result();
      for (const iteration of [0, 1]) {
        const { pauses } = await engine.getRun(run.runId);
        expect(pauses.map(({ scope }) => scope.join('.')).toSorted()).toEqual([
          `0.${iteration}`,
          `1.${iteration}`,
        ]);
        for (const { token, scope } of pauses)
          await engine.resume(run.runId, { token, input: { answer: scope.join('.') } });
      }
      expect(await run.result()).toMatchObject({
        status: 'completed',
        output: {
          result: [
            ['0.0', '0.1'],
            ['1.0', '1.1'],
          ],
        },
      });
    });

    it('are aborted if a sibling fails or the run is cancelled while they wait (R46)', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({
        blocks: [new AskExecutor().executor, scriptedExecutor.executor],
      });
      const definition = workflow([askBlock('A'), work('F')], ['Start -> A', 'Start -> F']);
      const [failedRun, cancelledRun] = [
        await engine.start({ workflow: definition }),
        await engine.start({ workflow: definition }),
      ];
      const calls = [await scriptedExecutor.nextCall('F'), await scriptedExecutor.nextCall('F')];
      for (const { runId } of [failedRun, cancelledRun])
        await expect.poll(async () => (await engine.getRun(runId)).pauses.length).toBe(1);
      const tokens = await Promise.all(
        [failedRun, cancelledRun].map(({ runId }) => getSinglePause(engine, runId)),
      );
      await engine.cancel(cancelledRun.runId);
      for (const call of calls) if (!call.context.signal.aborted) call.fail(new Error('no'));
      expect(await failedRun.result()).toMatchObject({ status: 'failed' });
      expect(await cancelledRun.result()).toMatchObject({ status: 'cancelled' });
      for (const [index, { runId }] of [failedRun, cancelledRun].entries()) {
        expect((await engine.getRun(runId)).pauses).toEqual([]);
        const logs = (await engine.getLogs(runId)).filter(({ blockName }) => blockName === 'A');
        expect(logs).toMatchObject([{ status: 'cancelled' }]);
        const token = tokens[index]?.token ?? '';
        await expect(engine.resume(runId, { token, input: { answer: 1 } })).rejects.toMatchObject({
          code: 'RUN_ENDED',
        });
      }
    });
  });
}

async function getSinglePause(engine: Engine, runId: string) {
  const { pauses } = await engine.getRun(runId);
  expect(pauses).toHaveLength(1);
  return pauses[0] as (typeof pauses)[number];
}
