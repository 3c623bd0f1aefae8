import { registerSearchAttributes, temporal } from '@heddle/temporal';
import { createEngine } from '@heddle/engine';
import { expect, it, onTestFinished } from 'vitest';
import { startDevServer } from '../../packages/temporal/src/server/index.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { clientOf, eventsOf } from './history.ts';
import { placeOn } from './worker-place.ts';

const POLL = { timeout: 30_000 };
const drawn = workflow(
  [fn('A', 'return 1'), block('H', 'human_in_the_loop', {}), fn('Z', 'return 2')],
  ['Start -> A -> H -> Z'],
  { id: 'loom', name: 'Loom' },
);

describeTemporal('search attributes', (server) => {
  it.skipIf(!server.binary)('are registered once, and find runs by their current values', async () => {
    // A separate server: the shared server has no attributes, and other tests count events.
    const started = await startDevServer({ binary: server.binary ?? '', namespace: 'named' });
    if (started.kind === 'failed') throw new Error(started.reason);
    onTestFinished(() => started.server.stop());
    const own = started.server;
    expect(await registerSearchAttributes(own)).toEqual([
      'HeddleWorkflowId',
      'HeddleWorkflowName',
      'HeddleRunStatus',
    ]);
    expect(await registerSearchAttributes(own)).toEqual([]);

    const engine = await placeOn(own).engine({}, { worker: true });
    const client = await clientOf(own);
    const found = async (query: string): Promise<string[]> => {
      const ids: string[] = [];
      for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId);
      return ids;
    };
    const { runId } = await engine.execute({ workflow: drawn });
    const paused = 'HeddleWorkflowName = "Loom" AND HeddleRunStatus = "paused"';
    await expect.poll(() => found(paused), POLL).toEqual([runId]);
    await engine.resume(runId, { input: {} });
    const ended = 'HeddleWorkflowId = "loom" AND HeddleRunStatus = "completed"';
    await expect.poll(() => found(ended), POLL).toEqual([runId]);
    expect(await found(paused)).toEqual([]);
    // One for the pause, the resume and the end.
    const { upsertWorkflowSearchAttributes: upserts } = await eventsOf(client, runId);
    expect(upserts).toBe(3);
    expect((await client.workflow.getHandle(runId).describe()).memo).toEqual({});
  });

  it('are replaced by a memo if the namespace does not have them, without events', async () => {
    const engine = await placeOn(server).engine({}, { worker: true, attributes: false });
    const { runId } = await engine.execute({ workflow: drawn });
    await engine.resume(runId, { input: {} });
    const client = await clientOf(server);
    expect(await eventsOf(client, runId)).not.toHaveProperty('upsertWorkflowSearchAttributes');
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

  it('that the deployment requires but the server does not have prevent the start of runs, with the reason', async () => {
    const { address, namespace } = server;
    const { queue, data } = placeOn(server);
    const runtime = temporal({ address, namespace, queue, data, worker: false, attributes: true });
    const engine = await createEngine({ runtime, onError: () => undefined });
    onTestFinished(() => engine.close());
    await expect(engine.start({ workflow: drawn })).rejects.toMatchObject({
      code: 'RUNTIME_UNREACHABLE',
      message: expect.stringMatching(/no mapping .* Heddle\w+/) as string,
    });
  });
});
