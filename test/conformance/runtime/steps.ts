import type { BlockError } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import { TestClock } from '../../support/test-clock.ts';
import { loop, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

const RETRY = { enabled: true, maxTries: 2, waitBetweenTriesMs: 0 };

/** Defines the tests of steps within a block. `restart/steps.ts` tests steps that a process leaves unfinished. */
export function describeSteps(makeRuntime: MakeRuntime): void {
  describe('steps of a block', () => {
    it('are not repeated by the next attempt, which gets their results', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
      const run = await engine.start({ workflow: workflow([work('A', { retry: RETRY })], ['Start -> A']) });
      const idempotencyKeys: string[] = [];
      const firstCall = await scriptedExecutor.nextCall('A');
      const largeText = 'ä'.repeat(10_000);
      const results = [
        await firstCall.context.step('one', ({ idempotencyKey }) => {
          idempotencyKeys.push(idempotencyKey);
          return { large: largeText };
        }),
        await firstCall.context.step('two', () => null, { idempotent: true }),
      ];
      expect(idempotencyKeys).toEqual([`${firstCall.context.idempotencyKey}/one`]);
      await expect(
        firstCall.context.step('three', () => Promise.reject(new Error('refused'))),
      ).rejects.toThrow('refused');
      firstCall.fail(new Error('once more'));
      const secondCall = await scriptedExecutor.nextCall('A');
      const failIfExecuted = (): never => {
        throw new Error('This step has already been executed.');
      };
      expect([
        await secondCall.context.step('one', failIfExecuted),
        await secondCall.context.step('two', failIfExecuted),
      ]).toEqual(results);
      expect(await secondCall.context.step('three', () => 3)).toBe(3);
      expect(await secondCall.context.step('three', failIfExecuted)).toBe(3);
      secondCall.complete({ ok: true });
      expect(await run.result()).toMatchObject({ status: 'completed', output: { ok: true } });
    });

    it('are separate in each iteration', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
      const definition = workflow([loop('L', { loopType: 'for', count: 2 }, work('A'))], ['Start -> L -> A']);
      const run = await engine.start({ workflow: definition });
      for (const iteration of [0, 1]) {
        const call = await scriptedExecutor.nextCall(`A.${iteration}`);
        expect(await call.context.step('one', () => iteration)).toBe(iteration);
        call.complete();
      }
      expect(await run.result()).toMatchObject({ status: 'completed' });
    });

    it('that a timeout interrupts are repeated only if they are idempotent', async () => {
      const clock = new TestClock();
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ clock, blocks: [scriptedExecutor.executor] });
      const policy = { retry: RETRY, timeoutMs: 100 };
      const run = await engine.start({ workflow: workflow([work('A', policy)], ['Start -> A']) });
      const firstCall = await scriptedExecutor.nextCall('A');
      const deferredStarts = { post: Promise.withResolvers<void>(), put: Promise.withResolvers<void>() };
      const startInterruptedStep = (key: 'post' | 'put', idempotent: boolean): Promise<unknown> => {
        const waitForAbort = (): Promise<null> => {
          deferredStarts[key].resolve();
          return new Promise((_, reject) => {
            firstCall.context.signal.addEventListener('abort', () => reject(new Error('interrupted')));
          });
        };
        return firstCall.context
          .step(key, waitForAbort, { idempotent })
          .catch((error: Error) => error.message);
      };
      const stepsPromise = Promise.all([
        startInterruptedStep('post', false),
        startInterruptedStep('put', true),
      ]);
      await Promise.all([deferredStarts.post.promise, deferredStarts.put.promise]);
      await clock.waitForTimer(100);
      clock.advance(100);
      expect(await stepsPromise).toEqual(['interrupted', 'interrupted']);
      const secondCall = await scriptedExecutor.nextCall('A');
      expect(await secondCall.context.step('put', () => 1, { idempotent: true })).toBe(1);
      const postStep = secondCall.context.step('post', () => 1);
      await expect(postStep).rejects.toMatchObject({
        code: 'STEP_OUTCOME_UNKNOWN',
        details: { step: 'post' },
      });
      secondCall.fail((await postStep.catch((error: unknown) => error)) as BlockError);
      expect(await run.result()).toMatchObject({ status: 'failed', error: { code: 'STEP_OUTCOME_UNKNOWN' } });
    });

    it('have redacted results, even in the next attempt', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const env = { TOKEN: 'very-secret-token' };
      const engine = await makeRuntime().open({ env, blocks: [scriptedExecutor.executor] });
      const definition = workflow(
        [{ ...work('A', { retry: RETRY }), fields: { key: '{{TOKEN}}' } }],
        ['Start -> A'],
      );
      const run = await engine.start({ workflow: definition });
      const firstCall = await scriptedExecutor.nextCall('A');
      const result = await firstCall.context.step('one', () => [
        'answer',
        firstCall.context.field('key') ?? null,
      ]);
      expect(JSON.stringify(result)).not.toContain(env.TOKEN);
      firstCall.fail(new Error('once more'));
      const secondCall = await scriptedExecutor.nextCall('A');
      expect(await secondCall.context.step('one', () => [])).toEqual(result);
      secondCall.complete();
      expect(await run.result()).toMatchObject({ status: 'completed' });
    });
  });
}
