import { expect, it } from 'vitest';
import { Script, work } from '../../../support/script.ts';
import { block, fn, workflow } from '../../../support/workflow.ts';
import type { EngineSequence } from './engine-sequence.ts';

const human = (name: string) => block(name, 'human_in_the_loop', {});

/** Defines the tests of runs that lack an environment value: they are suspended and do not fail. */
export function describeMissingEnvironment(makeEngines: () => EngineSequence): void {
  it('a run without a required environment value is suspended with the name of the value, and continues once it is available', async () => {
    const engines = makeEngines();
    const env = { API_KEY: { value: 'k-1', secret: false as const } };
    const definition = workflow([human('H'), fn('Z', 'return {{API_KEY}}')], ['Start -> H -> Z']);
    const run = await (await engines.next({ env })).start({ workflow: definition });
    await run.result();
    const engineWithoutKey = await engines.next();
    expect(await engineWithoutKey.getRun(run.runId)).toMatchObject({
      status: 'paused',
      suspended: expect.stringContaining('{{API_KEY}}') as string,
    });
    await expect(engineWithoutKey.resume(run.runId, { input: {} })).rejects.toMatchObject({
      code: 'ENV_MISSING',
      message: expect.stringContaining('{{API_KEY}}') as string,
    });
    const after = await engines.next({ env });
    expect(await after.getRun(run.runId)).toMatchObject({ status: 'paused', suspended: null });
    expect(await after.resume(run.runId, { input: {} })).toMatchObject({
      status: 'completed',
      output: { result: 'k-1' },
    });
  });

  it('a running block whose environment value is missing waits for it and does not fail', async () => {
    const engines = makeEngines();
    const env = { API_KEY: 'very secret value' };
    const first = new Script();
    const before = await engines.next({ env, blocks: [first.executor] });
    const definition = workflow([work('A'), fn('Z', 'return {{API_KEY}}.length')], ['Start -> A -> Z']);
    const { runId } = await before.start({ workflow: definition });
    await first.nextCall('A');
    const second = new Script();
    const engineWithoutKey = await engines.next({ blocks: [second.executor] });
    const waitingRun = await engineWithoutKey.attach(runId);
    expect(await waitingRun.result()).toMatchObject({ status: 'running', error: null });
    expect((await engineWithoutKey.getRun(runId)).suspended).toContain('{{API_KEY}}');
    expect(second.calls).toEqual([]);
    const third = new Script({ A: () => ({ output: {} }) });
    const after = await engines.next({ env, blocks: [third.executor] });
    await expect
      .poll(() => after.getRun(runId))
      .toMatchObject({ status: 'completed', output: { result: 17 } });
  });

  it('a suspended run can be cancelled', async () => {
    const engines = makeEngines();
    const definition = workflow([human('H'), fn('Z', 'return {{API_KEY}}')], ['Start -> H -> Z']);
    const run = await (
      await engines.next({ env: { API_KEY: 'very secret value' } })
    ).start({ workflow: definition });
    await run.result();
    const engineWithoutKey = await engines.next();
    expect(await engineWithoutKey.cancel(run.runId)).toBe(true);
    expect(await engineWithoutKey.getRun(run.runId)).toMatchObject({ status: 'cancelled', suspended: null });
  });
}
