import type { BlockError } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { Script, work } from '../../support/script.ts';
import { TestClock } from '../../support/test-clock.ts';
import { loop, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './suite.ts';

const RETRY = { enabled: true, maxTries: 2, waitBetweenTriesMs: 0 };

/** Defines the tests of steps within a block. `restart/steps.ts` tests steps that a process leaves unfinished. */
export function describeSteps(make: MakeRuntime): void {
  describe('steps of a block', () => {
    it('are not repeated by the next attempt, which gets their results', async () => {
      const script = new Script();
      const engine = await make().open({ blocks: [script.executor] });
      const run = await engine.start({ workflow: workflow([work('A', { retry: RETRY })], ['Start -> A']) });
      const calls: string[] = [];
      const first = await script.nextCall('A');
      const large = 'ä'.repeat(10_000);
      const results = [
        await first.context.step('one', ({ idempotencyKey }) => {
          calls.push(idempotencyKey);
          return { large };
        }),
        await first.context.step('two', () => null, { idempotent: true }),
      ];
      expect(calls).toEqual([`${first.context.idempotencyKey}/one`]);
      await expect(first.context.step('three', () => Promise.reject(new Error('refused')))).rejects.toThrow(
        'refused',
      );
      first.fail(new Error('once more'));
      const second = await script.nextCall('A');
      const never = (): never => {
        throw new Error('This step was done already.');
      };
      expect([await second.context.step('one', never), await second.context.step('two', never)]).toEqual(
        results,
      );
      expect(await second.context.step('three', () => 3)).toBe(3);
      expect(await second.context.step('three', never)).toBe(3);
      second.done({ ok: true });
      expect(await run.result()).toMatchObject({ status: 'completed', output: { ok: true } });
    });

    it('are separate in each iteration', async () => {
      const script = new Script();
      const engine = await make().open({ blocks: [script.executor] });
      const definition = workflow([loop('L', { loopType: 'for', count: 2 }, work('A'))], ['Start -> L -> A']);
      const run = await engine.start({ workflow: definition });
      for (const iteration of [0, 1]) {
        const call = await script.nextCall(`A.${iteration}`);
        expect(await call.context.step('one', () => iteration)).toBe(iteration);
        call.done();
      }
      expect(await run.result()).toMatchObject({ status: 'completed' });
    });

    it('that a timeout interrupts are repeated only if they are idempotent', async () => {
      const clock = new TestClock();
      const script = new Script();
      const engine = await make().open({ clock, blocks: [script.executor] });
      const policy = { retry: RETRY, timeoutMs: 100 };
      const run = await engine.start({ workflow: workflow([work('A', policy)], ['Start -> A']) });
      const first = await script.nextCall('A');
      const starts = { post: Promise.withResolvers<void>(), put: Promise.withResolvers<void>() };
      const startInterrupted = (key: 'post' | 'put', idempotent: boolean): Promise<unknown> => {
        const waitForAbort = (): Promise<null> => {
          starts[key].resolve();
          return new Promise((_, reject) => {
            first.context.signal.addEventListener('abort', () => reject(new Error('interrupted')));
          });
        };
        return first.context.step(key, waitForAbort, { idempotent }).catch((error: Error) => error.message);
      };
      const both = Promise.all([startInterrupted('post', false), startInterrupted('put', true)]);
      await Promise.all([starts.post.promise, starts.put.promise]);
      await clock.waitForTimer(100);
      clock.advance(100);
      expect(await both).toEqual(['interrupted', 'interrupted']);
      const second = await script.nextCall('A');
      expect(await second.context.step('put', () => 1, { idempotent: true })).toBe(1);
      const post = second.context.step('post', () => 1);
      await expect(post).rejects.toMatchObject({ code: 'STEP_OUTCOME_UNKNOWN', details: { step: 'post' } });
      second.fail((await post.catch((error: unknown) => error)) as BlockError);
      expect(await run.result()).toMatchObject({ status: 'failed', error: { code: 'STEP_OUTCOME_UNKNOWN' } });
    });

    it('have redacted results, even in the next attempt', async () => {
      const script = new Script();
      const env = { TOKEN: 'very-secret-token' };
      const engine = await make().open({ env, blocks: [script.executor] });
      const definition = workflow(
        [{ ...work('A', { retry: RETRY }), fields: { key: '{{TOKEN}}' } }],
        ['Start -> A'],
      );
      const run = await engine.start({ workflow: definition });
      const first = await script.nextCall('A');
      const result = await first.context.step('one', () => ['answer', first.context.field('key') ?? null]);
      expect(JSON.stringify(result)).not.toContain(env.TOKEN);
      first.fail(new Error('once more'));
      const second = await script.nextCall('A');
      expect(await second.context.step('one', () => [])).toEqual(result);
      second.done();
      expect(await run.result()).toMatchObject({ status: 'completed' });
    });
  });
}
