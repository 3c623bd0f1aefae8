import { openSandboxes, openServiceStore } from '@heddle/service';
import { expect, it, onTestFinished } from 'vitest';
import { tenantOptionsOf, createTestApi } from '../support/api.ts';
import { startHeddle } from '../support/heddle.ts';
import { openImages } from '../support/images.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, workflow } from '../support/workflow.ts';
import { createCluster } from './cluster.ts';

describeTemporal('heddle worker', (server) => {
  it('runs a function block only in a sandbox of the workspace of its run', async () => {
    const cluster = createCluster(server);
    const store = await openServiceStore({ data: cluster.data });
    const sandboxes = openSandboxes({
      store,
      openImageStore: async () => images,
      onError: (error) => api.reportedErrors.push(error),
    });
    const images = openImages({});
    onTestFinished(() => sandboxes.close());
    const engine = await cluster.openEngine(tenantOptionsOf(store));
    const api = await createTestApi({ engine, store, sandboxes });
    const { address, namespace } = server;
    const serverArgs = ['--address', address, '--namespace', namespace, '--queue', cluster.queue];
    const worker = startHeddle(['worker', '--json', '--data', cluster.data, ...serverArgs]);
    await worker.readFirstLine();

    const createSandbox = async (name: string, workspaceId = api.workspaceId): Promise<string> => {
      const body = { workspaceId, name, language: 'javascript' };
      return (await api.call<{ id: string }>('POST', '/api/v2/sandboxes', { body })).data.id;
    };
    const executeInSandbox = async (sandboxId: string): Promise<string> => {
      const code = block('Code', 'function', { code: 'return 1', sandboxId });
      const id = await api.deploy(workflow([code], ['Start -> Code']));
      const { body } = await api.call('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
      return JSON.stringify(body);
    };
    const ownSandboxId = await createSandbox('tools');
    expect(await executeInSandbox(ownSandboxId)).toContain('The sandbox \\"tools\\" has no packages');
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Other', api.userId);
    expect(await executeInSandbox(await createSandbox('theirs', otherWorkspaceId))).toContain(
      'There is no sandbox',
    );
    worker.child.kill('SIGTERM');
    expect(await worker.result).toMatchObject({ exitCode: 0 });
  });
});
