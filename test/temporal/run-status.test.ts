import { expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../support/scripted-executor.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, workflow } from '../support/workflow.ts';
import { openClient } from './history.ts';
import { createCluster } from './cluster.ts';

describeTemporal('the server’s status of a run that the engine cancelled', (server) => {
  const statusOf = async (runId: string): Promise<string> => {
    const handle = (await openClient(server)).workflow.getHandle(runId);
    // The run's record is written before its workflow ends on the server.
    await handle.result().catch(() => undefined);
    return (await handle.describe()).status.name;
  };

  it('is cancelled', async () => {
    const scriptedExecutor = new ScriptedExecutor();
    const cluster = createCluster(server);
    const engine = await cluster.openEngine({ blocks: [scriptedExecutor.executor] });
    await cluster.startWorker({ blocks: [scriptedExecutor.executor] });
    const { runId } = await engine.start({ workflow: workflow([work('A')], ['Start -> A']) });
    await scriptedExecutor.nextCall('A');
    expect(await engine.cancel(runId)).toBe(true);
    expect(await statusOf(runId)).toBe('CANCELLED');
    expect(await engine.getRun(runId)).toMatchObject({ status: 'cancelled' });
  });

  it('is cancelled for a paused run, and for a run whose caller disconnected before the run started', async () => {
    const cluster = createCluster(server);
    const engine = await cluster.openEngine();
    await cluster.startWorker();
    const source = { workflow: workflow([block('H', 'human_in_the_loop')], ['Start -> H']) };
    const pausedRun = await engine.start(source);
    await pausedRun.result();
    expect(await engine.cancel(pausedRun.runId)).toBe(true);
    const disconnectedRun = await engine.start(source, {}, { signal: AbortSignal.abort() });
    await disconnectedRun.result();
    expect([await statusOf(pausedRun.runId), await statusOf(disconnectedRun.runId)]).toEqual([
      'CANCELLED',
      'CANCELLED',
    ]);
  });
});
