import { describe, expect, it, onTestFinished } from 'vitest';
import { block, fn, workflow } from '../../../test/support/workflow.ts';
import { createEngine } from './create.ts';

async function open() {
  const engine = await createEngine();
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const ask = block('Ask', 'human_in_the_loop', {});
  await engine.deploy(workflow([ask], ['Start -> Ask'], { id: 'asks', name: 'asks' }));
  await engine.deploy(workflow([fn('F', 'return 1')], ['Start -> F'], { id: 'child', name: 'child' }));
  const call = block('W', 'workflow_input', { workflowId: 'child', inputMapping: '{}' });
  await engine.deploy(workflow([call], ['Start -> W'], { id: 'calls', name: 'calls' }));
  return engine;
}

describe('deleting a run', () => {
  it('deletes everything stored for the run and its child runs', async () => {
    const engine = await open();
    const { runId } = await engine.execute('calls');
    const kept = await engine.execute('child');
    expect((await engine.listRuns()).runs).toHaveLength(3);
    await engine.deleteRun(runId);
    expect((await engine.listRuns()).runs.map((run) => run.runId)).toEqual([kept.runId]);
    await expect(engine.getRun(runId)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(engine.deleteRun(runId)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(engine.getLogs(runId)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it('is rejected for a run that has not ended', async () => {
    const engine = await open();
    const { runId } = await engine.execute('asks');
    await expect(engine.deleteRun(runId)).rejects.toMatchObject({ code: 'RUN_NOT_SETTLED' });
    expect(await engine.getRun(runId)).toMatchObject({ status: 'paused' });
    await engine.cancel(runId);
    await engine.deleteRun(runId);
    expect((await engine.listRuns()).runs).toEqual([]);
  });
});
