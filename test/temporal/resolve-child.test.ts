import { parseKeys, openWorkerStore, openServiceStore, Sealer } from '@heddle/service';
import { expect, it, onTestFinished } from 'vitest';
import { tenantOptionsOf, createTestApi } from '../support/api.ts';
import type { RunResponse } from '../support/api-workflows.ts';
import { GREETING_WORKFLOW } from '../support/api-workflows.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, workflow } from '../support/workflow.ts';
import { createCluster } from './cluster.ts';

const sealer = new Sealer(parseKeys(Buffer.alloc(32, 1).toString('base64')));

describeTemporal('workers that look up child workflows in workspaces', (server) => {
  it('run the version of a child that the service has deployed, not the newest one of the engine', async () => {
    const cluster = createCluster(server);
    const store = await openServiceStore({ data: cluster.data });
    const engine = await cluster.openEngine(tenantOptionsOf(store));
    const api = await createTestApi({ engine, store });
    const workerStore = await openWorkerStore({ data: cluster.data }, sealer);
    onTestFinished(() => workerStore.close());
    await cluster.startWorker({ resolveChild: workerStore.resolveChild, tenant: workerStore.tenant });
    const childId = await api.deploy(GREETING_WORKFLOW);
    // Simulates a deployment that was interrupted before the service recorded it.
    await engine.deploy(workflow([], [], { id: childId, name: 'Never recorded' }));
    const callingWorkflow = workflow([block('Call', 'workflow', { workflowId: childId })], ['Start -> Call']);
    const id = await api.deploy(callingWorkflow);
    const { data } = await api.call('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
    expect(data).toMatchObject({
      status: 'completed',
      output: { result: { data: { hello: 'nobody' } } },
    });
  });

  it('run as children only workflows of their parent’s workspace', async () => {
    const cluster = createCluster(server);
    const store = await openServiceStore({ data: cluster.data });
    const engine = await cluster.openEngine(tenantOptionsOf(store));
    const ownApi = await createTestApi({ engine, store });
    const otherApi = await createTestApi({ engine, store });
    const workerStore = await openWorkerStore({ data: cluster.data }, sealer);
    onTestFinished(() => workerStore.close());
    await cluster.startWorker({ resolveChild: workerStore.resolveChild });
    const runChild = async (childId: string) => {
      const callingWorkflow = workflow(
        [block('Call', 'workflow', { workflowId: childId })],
        ['Start -> Call'],
      );
      const id = await ownApi.deploy(callingWorkflow);
      return (await ownApi.call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body: {} })).data;
    };
    expect(await runChild(await ownApi.deploy(GREETING_WORKFLOW))).toMatchObject({ status: 'completed' });
    expect(await runChild(await otherApi.deploy(GREETING_WORKFLOW))).toMatchObject({
      status: 'failed',
      error: { code: 'CHILD_WORKFLOW_FAILED', details: { reason: 'CHILD_NOT_FOUND' } },
    });
  });
});
