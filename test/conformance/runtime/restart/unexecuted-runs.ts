import { expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../../../support/scripted-executor.ts';
import { block, workflow } from '../../../support/workflow.ts';
import type { Engine } from '@heddle/engine';
import type { EngineSequence } from './engine-sequence.ts';

/** Defines the tests of runs that no engine executes: they stay unchanged, and can be cancelled. */
export function describeUnexecutedRuns(makeEngineSequence: () => EngineSequence): void {
  it('a cancellation that is requested while no engine runs takes effect at the next start', async () => {
    const engines = makeEngineSequence();
    const { firstEngine, runId } = await startAndWaitForA(engines);
    await firstEngine.close({ graceMs: 0 });
    await engines.runtime.requestCancel?.(runId);
    const secondScriptedExecutor = new ScriptedExecutor();
    const secondEngine = await engines.openNext({ blocks: [secondScriptedExecutor.executor] });
    await expect
      .poll(() => secondEngine.getRun(runId), { timeout: 20_000 })
      .toMatchObject({ status: 'cancelled' });
    expect(secondScriptedExecutor.calls).toEqual([]);
  });

  it('an engine without automatic recovery changes no run until the run is attached', async () => {
    const engines = makeEngineSequence();
    const { runId } = await startAndWaitForA(engines);
    const { secondScriptedExecutor, secondEngine } = await openWithoutRecovery(engines);
    expect(await secondEngine.getRun(runId)).toMatchObject({ status: 'running' });
    await expect(secondEngine.runFromBlock(runId, 'A')).rejects.toMatchObject({ code: 'RUN_NOT_SETTLED' });
    expect(secondScriptedExecutor.calls).toEqual([]);
    const run = await secondEngine.attach(runId);
    (await secondScriptedExecutor.nextCall('A')).complete({ n: 1 });
    expect(await run.result()).toMatchObject({ status: 'completed', output: { n: 1 } });
  });

  it('cancelling a run that no engine executes runs none of its blocks', async () => {
    const engines = makeEngineSequence();
    const { runId } = await startAndWaitForA(engines);
    const { secondScriptedExecutor, secondEngine } = await openWithoutRecovery(engines);
    expect(await secondEngine.cancel(runId)).toBe(true);
    expect(await secondEngine.cancel(runId)).toBe(false);
    expect(await secondEngine.getRun(runId)).toMatchObject({ status: 'cancelled' });
    expect(secondScriptedExecutor.calls).toEqual([]);
  });

  it('cancelling a parent that is not running cancels its child, and neither runs again', async () => {
    const engines = makeEngineSequence();
    const workflowBlock = block('W', 'workflow_input', { workflowId: 'child', inputMapping: '{}' });
    const firstScriptedExecutor = new ScriptedExecutor();
    const firstEngine = await engines.openNext({ blocks: [firstScriptedExecutor.executor] });
    await firstEngine.deploy(workflow([work('A')], ['Start -> A'], { id: 'child' }));
    const { runId } = await firstEngine.start({ workflow: workflow([workflowBlock], ['Start -> W']) });
    await firstScriptedExecutor.nextCall('A');
    const { secondScriptedExecutor, secondEngine } = await openWithoutRecovery(engines);
    expect(await secondEngine.cancel(runId)).toBe(true);
    expect((await secondEngine.listRuns({ status: ['cancelled'] })).runs).toHaveLength(2);
    expect(secondScriptedExecutor.calls).toEqual([]);
  });
}

/** Starts a run, and returns when its block A runs. */
async function startAndWaitForA(engines: EngineSequence): Promise<{ firstEngine: Engine; runId: string }> {
  const scriptedExecutor = new ScriptedExecutor();
  const firstEngine = await engines.openNext({ blocks: [scriptedExecutor.executor] });
  const { runId } = await firstEngine.start({ workflow: workflow([work('A')], ['Start -> A']) });
  await scriptedExecutor.nextCall('A');
  return { firstEngine, runId };
}

/** Opens the next engine, which recovers no runs. */
async function openWithoutRecovery(
  engines: EngineSequence,
): Promise<{ secondScriptedExecutor: ScriptedExecutor; secondEngine: Engine }> {
  const secondScriptedExecutor = new ScriptedExecutor();
  return {
    secondScriptedExecutor,
    secondEngine: await engines.openNext({ blocks: [secondScriptedExecutor.executor], recover: false }),
  };
}
