import { expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../../../support/scripted-executor.ts';
import { block, fn, workflow } from '../../../support/workflow.ts';
import type { EngineSequence } from './engine-sequence.ts';

const humanBlock = (name: string) => block(name, 'human_in_the_loop', {});

/** Defines the tests of runs that lack an environment value: they are suspended and do not fail. */
export function describeMissingEnvironment(makeEngineSequence: () => EngineSequence): void {
  it('a run without a required environment value is suspended with the name of the value, and continues once it is available', async () => {
    const engines = makeEngineSequence();
    const env = { API_KEY: { value: 'k-1', secret: false as const } };
    const definition = workflow([humanBlock('H'), fn('Z', 'return {{API_KEY}}')], ['Start -> H -> Z']);
    const run = await (await engines.openNext({ env })).start({ workflow: definition });
    await run.result();
    const engineWithoutKey = await engines.openNext();
    expect(await engineWithoutKey.getRun(run.runId)).toMatchObject({
      status: 'paused',
      suspended: expect.stringContaining('{{API_KEY}}') as string,
    });
    await expect(engineWithoutKey.resume(run.runId, { input: {} })).rejects.toMatchObject({
      code: 'ENV_MISSING',
      message: expect.stringContaining('{{API_KEY}}') as string,
    });
    const lastEngine = await engines.openNext({ env });
    expect(await lastEngine.getRun(run.runId)).toMatchObject({ status: 'paused', suspended: null });
    expect(await lastEngine.resume(run.runId, { input: {} })).toMatchObject({
      status: 'completed',
      output: { result: 'k-1' },
    });
  });

  it('a running block whose environment value is missing waits for it and does not fail', async () => {
    const engines = makeEngineSequence();
    const env = { API_KEY: 'very secret value' };
    const firstScriptedExecutor = new ScriptedExecutor();
    const firstEngine = await engines.openNext({ env, blocks: [firstScriptedExecutor.executor] });
    const definition = workflow([work('A'), fn('Z', 'return {{API_KEY}}.length')], ['Start -> A -> Z']);
    const { runId } = await firstEngine.start({ workflow: definition });
    await firstScriptedExecutor.nextCall('A');
    const secondScriptedExecutor = new ScriptedExecutor();
    const engineWithoutKey = await engines.openNext({ blocks: [secondScriptedExecutor.executor] });
    const waitingRun = await engineWithoutKey.attach(runId);
    expect(await waitingRun.result()).toMatchObject({ status: 'running', error: null });
    expect((await engineWithoutKey.getRun(runId)).suspended).toContain('{{API_KEY}}');
    expect(secondScriptedExecutor.calls).toEqual([]);
    const thirdScriptedExecutor = new ScriptedExecutor({ A: () => ({ output: {} }) });
    const lastEngine = await engines.openNext({ env, blocks: [thirdScriptedExecutor.executor] });
    await expect
      .poll(() => lastEngine.getRun(runId))
      .toMatchObject({ status: 'completed', output: { result: 17 } });
  });

  it('a suspended run can be cancelled', async () => {
    const engines = makeEngineSequence();
    const definition = workflow([humanBlock('H'), fn('Z', 'return {{API_KEY}}')], ['Start -> H -> Z']);
    const run = await (
      await engines.openNext({ env: { API_KEY: 'very secret value' } })
    ).start({ workflow: definition });
    await run.result();
    const engineWithoutKey = await engines.openNext();
    expect(await engineWithoutKey.cancel(run.runId)).toBe(true);
    expect(await engineWithoutKey.getRun(run.runId)).toMatchObject({ status: 'cancelled', suspended: null });
  });
}
