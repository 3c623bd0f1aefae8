import { expect, it } from 'vitest';
import { Script, work } from '../../../support/script.ts';
import { block, fn, workflow } from '../../../support/workflow.ts';
import type { EngineSequence } from './engine-sequence.ts';

const human = (name: string) => block(name, 'human_in_the_loop', {});

/** Defines the tests of parents and children across a restart. */
export function describeChildren(makeEngines: () => EngineSequence): void {
  const call = block('W', 'workflow_input', { workflowId: 'child', inputMapping: '{}' });
  const parent = { workflow: workflow([call, fn('Z', 'return <w.result>')], ['Start -> W -> Z']) };

  it('a child is recovered and continues from its journal', async () => {
    const engines = makeEngines();
    const first = new Script({ A: () => ({ output: {} }) });
    const before = await engines.next({ blocks: [first.executor] });
    await before.deploy(workflow([work('A'), work('B')], ['Start -> A -> B'], { id: 'child' }));
    const { runId } = await before.start(parent);
    await first.nextCall('B');
    const second = new Script();
    const after = await engines.next({ blocks: [second.executor] });
    const run = await after.attach(runId);
    (await second.nextCall('B')).done({ n: 5 });
    expect(await run.result()).toMatchObject({ status: 'completed', output: { result: { n: 5 } } });
    expect(second.calls).toEqual(['B']);
    expect((await after.listRuns()).runs).toHaveLength(2);
  });

  it('a paused child stays open after the engine of its parent closes, and its resume continues both', async () => {
    const engines = makeEngines();
    const before = await engines.next();
    await before.deploy(
      workflow([human('H'), fn('F', 'return <h.n>')], ['Start -> H -> F'], { id: 'child' }),
    );
    const run = await before.start(parent);
    expect(await run.result()).toMatchObject({ status: 'paused' });
    const after = await engines.next();
    const attachedRun = await after.attach(run.runId);
    expect(await attachedRun.result()).toMatchObject({ status: 'paused' });
    const { runs } = await after.listRuns({ status: ['paused'] });
    const child = runs.find(({ parentRunId }) => parentRunId === run.runId);
    expect(await after.resume(child?.runId ?? '', { input: { n: 7 } })).toMatchObject({
      status: 'completed',
    });
    expect(await attachedRun.result()).toMatchObject({
      status: 'completed',
      output: { result: { result: 7 } },
    });
  });

  it('a parent continues after its child was resumed separately', async () => {
    const engines = makeEngines();
    const before = await engines.next();
    await before.deploy(
      workflow([human('H'), fn('F', 'return <h.n>')], ['Start -> H -> F'], { id: 'child' }),
    );
    const run = await before.start(parent);
    await run.result();
    const { runs } = await before.listRuns({ status: ['paused'] });
    const child = runs.find(({ parentRunId }) => parentRunId === run.runId)?.runId ?? '';
    const engineWithoutRecovery = await engines.next({ recover: false });
    expect(await engineWithoutRecovery.resume(child, { input: { n: 7 } })).toMatchObject({
      status: 'completed',
    });
    const after = await engines.next();
    // In its journal the parent is paused, but it may still have to process the result of its child.
    const attachedRun = await after.attach(run.runId).catch(() => undefined);
    if (attachedRun) expect(await attachedRun.result()).toMatchObject({ status: 'completed' });
    expect(await after.getRun(run.runId)).toMatchObject({ status: 'completed' });
  });
}
