import { expect, it } from 'vitest';
import { Script, work } from '../../../support/script.ts';
import { workflow } from '../../../support/workflow.ts';
import type { EngineSequence } from './engine-sequence.ts';

/** Defines the tests of steps of a block across a restart. */
export function describeInterruptedSteps(makeEngines: () => EngineSequence): void {
  it('a block continues after its finished steps, and repeats an interrupted step only if it is idempotent', async () => {
    const engines = makeEngines();
    const first = new Script();
    const before = await engines.next({ blocks: [first.executor] });
    const { runId } = await before.start({ workflow: workflow([work('A')], ['Start -> A']) });
    const { context } = await first.nextCall('A');
    for (const key of ['one', 'two', 'three']) await context.step(key, () => key);
    const stepsBegun = ['post', 'put'].map((key) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const endless = (): Promise<null> => {
        resolve();
        return new Promise(() => undefined);
      };
      void context.step(key, endless, { idempotent: key === 'put' });
      return promise;
    });
    await Promise.all(stepsBegun);
    const second = new Script();
    const after = await engines.next({ blocks: [second.executor] });
    const run = await after.attach(runId);
    const repeatedCall = await second.nextCall('A');
    const calls: string[] = [];
    const step = (key: string, idempotent = false) =>
      repeatedCall.context.step(
        key,
        () => {
          calls.push(key);
          return `${key} again`;
        },
        { idempotent },
      );
    expect([await step('one'), await step('two'), await step('three')]).toEqual(['one', 'two', 'three']);
    await expect(step('post')).rejects.toMatchObject({ code: 'STEP_OUTCOME_UNKNOWN' });
    expect(await step('put', true)).toBe('put again');
    expect(calls).toEqual(['put']);
    repeatedCall.done({ ok: true });
    expect(await run.result()).toMatchObject({ status: 'completed', output: { ok: true } });
  });
}
