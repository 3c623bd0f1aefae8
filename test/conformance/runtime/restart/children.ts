import { expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../../../support/scripted-executor.ts';
import { block, fn, workflow } from '../../../support/workflow.ts';
import type { EngineSequence } from './engine-sequence.ts';

const humanBlock = (name: string) => block(name, 'human_in_the_loop', {});

/** Defines the tests of parents and children across a restart. */
export function describeChildren(makeEngineSequence: () => EngineSequence): void {
  const workflowBlock = block('W', 'workflow_input', { workflowId: 'child', inputMapping: '{}' });
  const parent = { workflow: workflow([workflowBlock, fn('Z', 'return <w.result>')], ['Start -> W -> Z']) };

  it('a child is recovered and continues from its journal', async () => {
    const engines = makeEngineSequence();
    const firstScriptedExecutor = new ScriptedExecutor({ A: () => ({ output: {} }) });
    const firstEngine = await engines.openNext({ blocks: [firstScriptedExecutor.executor] });
    await firstEngine.deploy(workflow([work('A'), work('B')], ['Start -> A -> B'], { id: 'child' }));
    const { runId } = await firstEngine.start(parent);
    await firstScriptedExecutor.nextCall('B');
    const secondScriptedExecutor = new ScriptedExecutor();
    const secondEngine = await engines.openNext({ blocks: [secondScriptedExecutor.executor] });
    const run = await secondEngine.attach(runId);
    (await secondScriptedExecutor.nextCall('B')).complete({ n: 5 });
    expect(await run.result()).toMatchObject({ status: 'completed', output: { result: { n: 5 } } });
    expect(secondScriptedExecutor.calls).toEqual(['B']);
    expect((await secondEngine.listRuns()).runs).toHaveLength(2);
  });

  it('a paused child stays open after the engine of its parent closes, and its resume continues both', async () => {
    const engines = makeEngineSequence();
    const firstEngine = await engines.openNext();
    await firstEngine.deploy(
      workflow([humanBlock('H'), fn('F', 'return <h.n>')], ['Start -> H -> F'], { id: 'child' }),
    );
    const run = await firstEngine.start(parent);
    expect(await run.result()).toMatchObject({ status: 'paused' });
    const secondEngine = await engines.openNext();
    const attachedRun = await secondEngine.attach(run.runId);
    expect(await attachedRun.result()).toMatchObject({ status: 'paused' });
    const { runs } = await secondEngine.listRuns({ status: ['paused'] });
    const child = runs.find(({ parentRunId }) => parentRunId === run.runId);
    expect(await secondEngine.resume(child?.runId ?? '', { input: { n: 7 } })).toMatchObject({
      status: 'completed',
    });
    expect(await attachedRun.result()).toMatchObject({
      status: 'completed',
      output: { result: { result: 7 } },
    });
  });

  it('a parent continues after its child was resumed separately', async () => {
    const engines = makeEngineSequence();
    const firstEngine = await engines.openNext();
    await firstEngine.deploy(
      workflow([humanBlock('H'), fn('F', 'return <h.n>')], ['Start -> H -> F'], { id: 'child' }),
    );
    const run = await firstEngine.start(parent);
    await run.result();
    const { runs } = await firstEngine.listRuns({ status: ['paused'] });
    const childRunId = runs.find(({ parentRunId }) => parentRunId === run.runId)?.runId ?? '';
    const engineWithoutRecovery = await engines.openNext({ recover: false });
    expect(await engineWithoutRecovery.resume(childRunId, { input: { n: 7 } })).toMatchObject({
      status: 'completed',
    });
    const lastEngine = await engines.openNext();
    // In its journal the parent is paused, but it may still have to process the result of its child.
    const attachedRun = await lastEngine.attach(run.runId).catch(() => undefined);
    if (attachedRun) expect(await attachedRun.result()).toMatchObject({ status: 'completed' });
    expect(await lastEngine.getRun(run.runId)).toMatchObject({ status: 'completed' });
  });
}
