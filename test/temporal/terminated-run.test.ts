import { expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../support/scripted-executor.ts';
import { describeTemporal } from '../support/temporal.ts';
import { fn, workflow } from '../support/workflow.ts';
import { openClient } from './history.ts';
import { createCluster } from './cluster.ts';

describeTemporal('a run that was terminated directly on the server', (server) => {
  it('can be cancelled, and its logs can be read', async () => {
    const cluster = createCluster(server);
    const scriptedExecutor = new ScriptedExecutor();
    const engine = await cluster.openEngine({ blocks: [scriptedExecutor.executor] });
    await cluster.startWorker({ blocks: [scriptedExecutor.executor] });
    const definition = workflow([fn('First', 'return 1'), work('A')], ['Start -> First -> A']);
    const { runId } = await engine.start({ workflow: definition });
    await scriptedExecutor.nextCall('A');
    const client = await openClient(server);
    await client.workflow.getHandle(runId).terminate('by hand');
    expect(await engine.cancel(runId, 'never mind')).toBe(true);
    expect(await engine.getRun(runId)).toMatchObject({ status: 'cancelled' });
    const logs = await engine.getLogs(runId);
    expect(logs.map(({ blockName }) => blockName)).toEqual(expect.arrayContaining(['Start', 'First', 'A']));
    expect(await engine.cancel(runId)).toBe(false);
  });
});
