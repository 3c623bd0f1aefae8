import { keysInText, openWorkerStore, openServiceStore, Sealer } from '@heddle/service';
import { expect, it, onTestFinished } from 'vitest';
import { tenantIsolation, testApi } from '../support/api.ts';
import type { RunResponse } from '../support/api-workflows.ts';
import { GREETING } from '../support/api-workflows.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, workflow } from '../support/workflow.ts';
import { createCluster } from './cluster.ts';

const sealer = new Sealer(keysInText(Buffer.alloc(32, 1).toString('base64')));

describeTemporal('workers that look up child workflows in workspaces', (server) => {
  it('run the version of a child that the service has deployed, not the newest one of the engine', async () => {
    const cluster = createCluster(server);
    const store = await openServiceStore({ data: cluster.data });
    const engine = await cluster.engine(tenantIsolation(store));
    const api = await testApi({ engine, store });
    const serviceOwnership = await openWorkerStore({ data: cluster.data }, sealer);
    onTestFinished(() => serviceOwnership.close());
    await cluster.worker({ resolveChild: serviceOwnership.resolveChild, tenant: serviceOwnership.tenant });
    const child = await api.deploy(GREETING);
    // Simulates a deployment that was interrupted before the service recorded it.
    await engine.deploy(workflow([], [], { id: child, name: 'Never recorded' }));
    const call = workflow([block('Call', 'workflow', { workflowId: child })], ['Start -> Call']);
    const id = await api.deploy(call);
    const { data } = await api.call('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
    expect(data).toMatchObject({
      status: 'completed',
      output: { result: { data: { hello: 'nobody' } } },
    });
  });

  it('run as children only workflows of their parent’s workspace', async () => {
    const cluster = createCluster(server);
    const store = await openServiceStore({ data: cluster.data });
    const engine = await cluster.engine(tenantIsolation(store));
    const ownApi = await testApi({ engine, store });
    const otherApi = await testApi({ engine, store });
    const serviceOwnership = await openWorkerStore({ data: cluster.data }, sealer);
    onTestFinished(() => serviceOwnership.close());
    await cluster.worker({ resolveChild: serviceOwnership.resolveChild });
    const runChild = async (child: string) => {
      const call = workflow([block('Call', 'workflow', { workflowId: child })], ['Start -> Call']);
      const id = await ownApi.deploy(call);
      return (await ownApi.call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body: {} })).data;
    };
    expect(await runChild(await ownApi.deploy(GREETING))).toMatchObject({ status: 'completed' });
    expect(await runChild(await otherApi.deploy(GREETING))).toMatchObject({
      status: 'failed',
      error: { code: 'CHILD_WORKFLOW_FAILED', details: { reason: 'CHILD_NOT_FOUND' } },
    });
  });
});
