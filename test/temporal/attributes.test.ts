import { registerSearchAttributes, temporal } from '@heddle/temporal';
import { createEngine } from '@heddle/engine';
import { expect, it, onTestFinished } from 'vitest';
import { startDevServer } from '../../packages/temporal/src/server/index.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { openClient, countEvents } from './history.ts';
import { createCluster } from './cluster.ts';

const POLL_OPTIONS = { timeout: 30_000 };
const definition = workflow(
  [fn('A', 'return 1'), block('H', 'human_in_the_loop', {}), fn('Z', 'return 2')],
  ['Start -> A -> H -> Z'],
  { id: 'loom', name: 'Loom' },
);

describeTemporal('search attributes', (server) => {
  it.skipIf(!server.binary)('are registered once, and find runs by their current values', async () => {
    // A separate server: the shared server has no attributes, and other tests count events.
    const startResult = await startDevServer({ binary: server.binary ?? '', namespace: 'named' });
    if (startResult.kind === 'failed') throw new Error(startResult.reason);
    onTestFinished(() => startResult.server.stop());
    const separateServer = startResult.server;
    expect(await registerSearchAttributes(separateServer)).toEqual([
      'HeddleWorkflowId',
      'HeddleWorkflowName',
      'HeddleRunStatus',
    ]);
    expect(await registerSearchAttributes(separateServer)).toEqual([]);

    const engine = await createCluster(separateServer).openEngine({}, { worker: true });
    const client = await openClient(separateServer);
    const runsMatching = async (query: string): Promise<string[]> => {
      const ids: string[] = [];
      for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId);
      return ids;
    };
    const { runId } = await engine.execute({ workflow: definition });
    const pausedQuery = 'HeddleWorkflowName = "Loom" AND HeddleRunStatus = "paused"';
    await expect.poll(() => runsMatching(pausedQuery), POLL_OPTIONS).toEqual([runId]);
    await engine.resume(runId, { input: {} });
    const endedQuery = 'HeddleWorkflowId = "loom" AND HeddleRunStatus = "completed"';
    await expect.poll(() => runsMatching(endedQuery), POLL_OPTIONS).toEqual([runId]);
    expect(await runsMatching(pausedQuery)).toEqual([]);
    // One each for the pause, the resume and the end.
    const { upsertWorkflowSearchAttributes: upsertCount } = await countEvents(client, runId);
    expect(upsertCount).toBe(3);
    expect((await client.workflow.getHandle(runId).describe()).memo).toEqual({});
  });

  it('are replaced by a memo, without additional events, if the deployment does not use them', async () => {
    const engine = await createCluster(server).openEngine({}, { worker: true, searchAttributes: false });
    const { runId } = await engine.execute({ workflow: definition });
    await engine.resume(runId, { input: {} });
    const client = await openClient(server);
    expect(await countEvents(client, runId)).not.toHaveProperty('upsertWorkflowSearchAttributes');
    expect((await client.workflow.getHandle(runId).describe()).memo).toEqual({
      HeddleWorkflowId: 'loom',
      HeddleWorkflowName: 'Loom',
    });
  });

  it('cannot be registered in an unknown namespace', async () => {
    const { address } = server;
    await expect(registerSearchAttributes({ address, namespace: 'nowhere' })).rejects.toMatchObject({
      code: 'RUNTIME_UNREACHABLE',
      message: expect.stringContaining('"nowhere"') as string,
    });
  });

  it('make the start of a run fail, with the reason, if the deployment requires them but the server does not have them', async () => {
    const { address, namespace } = server;
    const { queue, data } = createCluster(server);
    const runtime = temporal({
      address,
      namespace,
      taskQueue: queue,
      data,
      worker: false,
      searchAttributes: true,
    });
    const engine = await createEngine({ runtime, onError: () => undefined });
    onTestFinished(() => engine.close());
    await expect(engine.start({ workflow: definition })).rejects.toMatchObject({
      code: 'RUNTIME_UNREACHABLE',
      message: expect.stringMatching(/no mapping .* Heddle\w+/) as string,
    });
  });
});
