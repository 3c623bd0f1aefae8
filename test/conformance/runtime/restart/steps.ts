import { expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../../../support/scripted-executor.ts';
import { workflow } from '../../../support/workflow.ts';
import type { EngineSequence } from './engine-sequence.ts';

/** Defines the tests of steps of a block across a restart. */
export function describeInterruptedSteps(makeEngineSequence: () => EngineSequence): void {
  it('a block continues after its finished steps, and repeats an interrupted step only if it is idempotent', async () => {
    const engines = makeEngineSequence();
    const firstScriptedExecutor = new ScriptedExecutor();
    const firstEngine = await engines.openNext({ blocks: [firstScriptedExecutor.executor] });
    const { runId } = await firstEngine.start({ workflow: workflow([work('A')], ['Start -> A']) });
    const { context } = await firstScriptedExecutor.nextCall('A');
    for (const key of ['one', 'two', 'three']) await context.step(key, () => key);
    const startPromises = ['post', 'put'].map((key) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const waitForever = (): Promise<null> => {
        resolve();
        return new Promise(() => undefined);
      };
      void context.step(key, waitForever, { idempotent: key === 'put' });
      return promise;
    });
    await Promise.all(startPromises);
    const secondScriptedExecutor = new ScriptedExecutor();
    const secondEngine = await engines.openNext({ blocks: [secondScriptedExecutor.executor] });
    const run = await secondEngine.attach(runId);
    const repeatedCall = await secondScriptedExecutor.nextCall('A');
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
    repeatedCall.complete({ ok: true });
    expect(await run.result()).toMatchObject({ status: 'completed', output: { ok: true } });
  });
}
