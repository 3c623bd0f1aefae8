import { expect, it } from 'vitest';
import { Script, work } from '../../../support/script.ts';
import { block, workflow } from '../../../support/workflow.ts';
import type { Engine } from '@heddle/engine';
import type { EngineSequence } from './engine-sequence.ts';

/** Defines the tests of runs that no engine executes: they stay unchanged, and can be cancelled. */
export function describeUnexecutedRuns(makeEngines: () => EngineSequence): void {
  it('a cancellation that is requested while no engine runs takes effect at the next start', async () => {
    const engines = makeEngines();
    const { before, runId } = await startUntilA(engines);
    await before.close({ graceMs: 0 });
    await engines.runtime.requestCancel?.(runId);
    const second = new Script();
    const after = await engines.next({ blocks: [second.executor] });
    await expect.poll(() => after.getRun(runId), { timeout: 20_000 }).toMatchObject({ status: 'cancelled' });
    expect(second.calls).toEqual([]);
  });

  it('an engine without automatic recovery changes no run until the run is attached', async () => {
    const engines = makeEngines();
    const { runId } = await startUntilA(engines);
    const { second, after } = await openWithoutRecovery(engines);
    expect(await after.getRun(runId)).toMatchObject({ status: 'running' });
    await expect(after.runFromBlock(runId, 'A')).rejects.toMatchObject({ code: 'RUN_NOT_SETTLED' });
    expect(second.calls).toEqual([]);
    const run = await after.attach(runId);
    (await second.nextCall('A')).done({ n: 1 });
    expect(await run.result()).toMatchObject({ status: 'completed', output: { n: 1 } });
  });

  it('cancelling a run that no engine executes runs none of its blocks', async () => {
    const engines = makeEngines();
    const { runId } = await startUntilA(engines);
    const { second, after } = await openWithoutRecovery(engines);
    expect(await after.cancel(runId)).toBe(true);
    expect(await after.cancel(runId)).toBe(false);
    expect(await after.getRun(runId)).toMatchObject({ status: 'cancelled' });
    expect(second.calls).toEqual([]);
  });

  it('cancelling a parent that is not running cancels its child, and neither runs again', async () => {
    const engines = makeEngines();
    const call = block('W', 'workflow_input', { workflowId: 'child', inputMapping: '{}' });
    const first = new Script();
    const before = await engines.next({ blocks: [first.executor] });
    await before.deploy(workflow([work('A')], ['Start -> A'], { id: 'child' }));
    const { runId } = await before.start({ workflow: workflow([call], ['Start -> W']) });
    await first.nextCall('A');
    const { second, after } = await openWithoutRecovery(engines);
    expect(await after.cancel(runId)).toBe(true);
    expect((await after.listRuns({ status: ['cancelled'] })).runs).toHaveLength(2);
    expect(second.calls).toEqual([]);
  });
}

/** Starts a run, and returns when its block A runs. */
async function startUntilA(engines: EngineSequence): Promise<{ before: Engine; runId: string }> {
  const script = new Script();
  const before = await engines.next({ blocks: [script.executor] });
  const { runId } = await before.start({ workflow: workflow([work('A')], ['Start -> A']) });
  await script.nextCall('A');
  return { before, runId };
}

/** Opens the next engine, which recovers no runs. */
async function openWithoutRecovery(engines: EngineSequence): Promise<{ second: Script; after: Engine }> {
  const second = new Script();
  return { second, after: await engines.next({ blocks: [second.executor], recover: false }) };
}
