import { expect, it } from 'vitest';
import { Script, work } from '../../../support/scripted.ts';
import { block, workflow } from '../../../support/workflow.ts';
import type { Engine } from '@heddle/engine';
import type { Succession } from './succession.ts';

/** Defines the tests of runs that no engine executes: they stay unchanged, and can be cancelled. */
export function describeStanding(engines: () => Succession): void {
  it('a cancel requested while no engine runs is completed at the next start', async () => {
    const place = engines();
    const { before, runId } = await stopAtA(place);
    await before.close({ graceMs: 0 });
    await place.runtime.askForCancel?.(runId);
    const second = new Script();
    const after = await place.next({ blocks: [second.executor] });
    await expect.poll(() => after.getRun(runId), { timeout: 20_000 }).toMatchObject({ status: 'cancelled' });
    expect(second.calls).toEqual([]);
  });

  it('an engine without automatic recovery changes no run until the run is attached', async () => {
    const place = engines();
    const { runId } = await stopAtA(place);
    const { second, after } = await idle(place);
    expect(await after.getRun(runId)).toMatchObject({ status: 'running' });
    await expect(after.runFromBlock(runId, 'A')).rejects.toMatchObject({ code: 'RUN_NOT_SETTLED' });
    expect(second.calls).toEqual([]);
    const run = await after.attach(runId);
    (await second.called('A')).done({ n: 1 });
    expect(await run.result()).toMatchObject({ status: 'completed', output: { n: 1 } });
  });

  it('a cancel of a run that no engine executes runs none of its blocks', async () => {
    const place = engines();
    const { runId } = await stopAtA(place);
    const { second, after } = await idle(place);
    expect(await after.cancel(runId)).toBe(true);
    expect(await after.cancel(runId)).toBe(false);
    expect(await after.getRun(runId)).toMatchObject({ status: 'cancelled' });
    expect(second.calls).toEqual([]);
  });

  it('cancelling a parent that is not running cancels its child, and neither runs again', async () => {
    const place = engines();
    const call = block('W', 'workflow_input', { workflowId: 'child', inputMapping: '{}' });
    const first = new Script();
    const before = await place.next({ blocks: [first.executor] });
    await before.deploy(workflow([work('A')], ['Start -> A'], { id: 'child' }));
    const { runId } = await before.start({ workflow: workflow([call], ['Start -> W']) });
    await first.called('A');
    const { second, after } = await idle(place);
    expect(await after.cancel(runId)).toBe(true);
    expect((await after.listRuns({ status: ['cancelled'] })).runs).toHaveLength(2);
    expect(second.calls).toEqual([]);
  });
}

/** Starts a run that has reached block A. */
async function stopAtA(place: Succession): Promise<{ before: Engine; runId: string }> {
  const script = new Script();
  const before = await place.next({ blocks: [script.executor] });
  const { runId } = await before.start({ workflow: workflow([work('A')], ['Start -> A']) });
  await script.called('A');
  return { before, runId };
}

/** Opens the next engine, which recovers no runs. */
async function idle(place: Succession): Promise<{ second: Script; after: Engine }> {
  const second = new Script();
  return { second, after: await place.next({ blocks: [second.executor], recover: false }) };
}
