import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { afterAll, describe, expect, it } from 'vitest';
import { createTestApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import type { RunResponse } from '../support/api-workflows.ts';
import { startChainServer, egressTo, expectChainPassedOn, listenOnFreePort } from '../support/call-chain.ts';
import { block, workflow } from '../support/workflow.ts';

describe('the call chain', () => {
  it('continues from a request through the run and its children to the requests of their blocks', async () => {
    const server = await startChainServer();
    const api = await createTestApi({ engineOptions: { egress: egressTo(server.url) } });
    await expectChainPassedOn(api, server);
  });

  it('stops a workflow that calls itself over HTTP', async () => {
    const { promise: apiPromise, resolve } = Promise.withResolvers<TestApi>();
    const handle = async (request: Request): Promise<Response> => (await apiPromise).api.fetch(request);
    const listener = getRequestListener(handle, { overrideGlobalObjects: false });
    const server = createServer((request, response) => void listener(request, response));
    afterAll(() => server.close().closeAllConnections());
    const origin = await listenOnFreePort(server);
    const api = await createTestApi({ engineOptions: { egress: egressTo(origin) } });
    resolve(api);
    const headers = [{ id: 'key', cells: { Key: 'X-API-Key', Value: api.key } }];
    const id = await api.deploy(
      workflow(
        [
          block('Again', 'api', {
            url: '<start.url>',
            method: 'POST',
            headers,
            body: '{"input": {"url": "<start.url>"}}',
          }),
        ],
        ['Start -> Again'],
        { inputFormat: [{ name: 'url', type: 'string' }] },
      ),
    );
    const path = `/api/v2/workflows/${id}`;
    const input = { url: `${origin}${path}/execute` };
    expect(await api.call('POST', `${path}/execute`, { body: { input } })).toMatchObject({ status: 200 });
    const runs = await api.call<RunResponse[]>('GET', `${path}/runs?limit=100`);
    expect(runs.data).toHaveLength(25);
    expect(runs.data.filter(({ status }) => status === 'failed')).toHaveLength(1);
  });

  it('includes child runs', async () => {
    const api = await createTestApi();
    const childId = await api.deploy(workflow([block('Words', 'variables', {})], ['Start -> Words']));
    const parentId = await api.deploy(
      workflow([block('Call', 'workflow', { workflowId: childId })], ['Start -> Call']),
    );
    const grandparentId = await api.deploy(
      workflow([block('Call', 'workflow', { workflowId: parentId })], ['Start -> Call']),
    );
    const headers = { 'X-Sim-Via': Array<string>(24).fill('w').join(',') };
    const run = (id: string): Promise<{ data: RunResponse }> =>
      api.call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body: {}, headers });
    expect((await run(parentId)).data).toMatchObject({ status: 'completed' });
    expect((await run(grandparentId)).data).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('more than 25 levels deep') },
    });
  });

  it('limits the length of ids', async () => {
    const api = await createTestApi();
    const headers = { 'X-Sim-Via': 'w'.repeat(1025) };
    expect(await api.call('POST', '/api/v2/workflows/w/execute', { body: {}, headers })).toMatchObject({
      status: 400,
      body: { error: { message: 'An id in X-Sim-Via must have at most 1024 characters' } },
    });
  });
});
