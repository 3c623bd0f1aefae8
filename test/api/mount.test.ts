import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Api } from '@heddle/api';
import { afterAll, describe, expect, it } from 'vitest';
import { createExpressApp } from '../../examples/mount/express.ts';
import { createFastifyApp } from '../../examples/mount/fastify.ts';
import { createHonoApp } from '../../examples/mount/hono.ts';
import * as apiRoute from '../../examples/mount/next/app/api/v2/[...path]/route.ts';
import * as openApiRoute from '../../examples/mount/next/app/openapi.json/route.ts';
import { createNodeServer } from '../../examples/mount/node-http.ts';
import { createTestApi } from '../support/api.ts';
import { GREETING_WORKFLOW, LONG_WORKFLOW, waitForStatus } from '../support/api-workflows.ts';

const api = await createTestApi();
const greetingId = await api.deploy(GREETING_WORKFLOW);
const longId = await api.deploy(LONG_WORKFLOW);

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close().closeAllConnections();
  delete (globalThis as { heddleApi?: unknown }).heddleApi;
});

async function listen(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const createFetchServer = (fetch: (request: Request) => Response | Promise<Response>): Server => {
  const listener = getRequestListener(fetch, { overrideGlobalObjects: false });
  return createServer((request, response) => void listener(request, response));
};

/** Returns a server that calls route files as Next.js does: the export named after the HTTP method gets the request. */
function createNextServer(hostedApi: Api): Server {
  (globalThis as { heddleApi?: Promise<Api> }).heddleApi = Promise.resolve(hostedApi);
  return createFetchServer((request) => {
    const { pathname } = new URL(request.url);
    if (pathname === '/hello') return new Response('a route of the host');
    const route: { [method: string]: unknown } = pathname.startsWith('/api/') ? apiRoute : openApiRoute;
    return (route[request.method] as typeof apiRoute.GET)(request);
  });
}

async function createFastifyServer(hostedApi: Api): Promise<Server> {
  const app = createFastifyApp(hostedApi);
  await app.ready();
  return app.server;
}

const HOSTS: [string, (hostedApi: Api) => Server | Promise<Server>][] = [
  ['node:http', createNodeServer],
  ['Hono', (hostedApi) => createFetchServer(createHonoApp(hostedApi).fetch)],
  [
    'Express',
    (hostedApi) => createServer((request, response) => void createExpressApp(hostedApi)(request, response)),
  ],
  ['Fastify', createFastifyServer],
  ['Next.js', createNextServer],
];

describe.each(HOSTS)('the API mounted in %s', (_, createHost) => {
  const headers = { 'X-API-Key': api.key, 'Content-Type': 'application/json' };
  const origin = startHost();

  async function startHost(): Promise<string> {
    return listen(await createHost(api.api));
  }

  async function execute(id: string, body: object, init: RequestInit = {}): Promise<Response> {
    const url = `${await origin}/api/v2/workflows/${id}/execute`;
    return fetch(url, { method: 'POST', body: JSON.stringify(body), headers, ...init });
  }

  it('serves the API next to the routes of the host', async () => {
    const response = await execute(greetingId, { input: { name: 'Ada' } });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ data: { output: { data: { hello: 'Ada' } } } });
    expect(await (await fetch(`${await origin}/hello`)).text()).toBe('a route of the host');
  });

  it('refuses a body that is too large, and an unknown path', async () => {
    const tooLargeResponse = await execute(greetingId, { input: { name: 'x'.repeat(11 * 1024 * 1024) } });
    expect([tooLargeResponse.status, await tooLargeResponse.json()]).toMatchObject([
      413,
      { error: { code: 'PAYLOAD_TOO_LARGE' } },
    ]);
    const unknownPathResponse = await fetch(`${await origin}/api/v2/nothing`, { headers });
    expect([unknownPathResponse.status, await unknownPathResponse.json()]).toMatchObject([
      404,
      { error: { code: 'NOT_FOUND' } },
    ]);
  });

  it('serves its OpenAPI document with the origin of the host', async () => {
    const document = (await (await fetch(`${await origin}/openapi.json`)).json()) as object;
    expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: await origin }] });
  });

  it('serves the reference page', async () => {
    const page = await fetch(`${await origin}/docs`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const stylesheet = await fetch(`${await origin}/docs/swagger-ui.css`);
    expect([stylesheet.status, stylesheet.headers.get('content-type')]).toEqual([
      200,
      'text/css; charset=utf-8',
    ]);
    expect((await fetch(`${await origin}/docs/other.js`)).status).toBe(404);
  });

  it('streams events and JSON lines during the run', async () => {
    const eventResponse = await execute(greetingId, { stream: true, input: { name: 'Ada' } });
    expect(eventResponse.headers.get('content-type')).toBe('text/event-stream');
    expect(await eventResponse.text()).toMatch(/"hello":"Ada"[\s\S]*data: "\[DONE\]"\n\n$/);
    const controller = new AbortController();
    const lineResponse = await execute(
      longId,
      {},
      { headers: { ...headers, Accept: 'application/x-ndjson' }, signal: controller.signal },
    );
    const firstChunk = await lineResponse.body!.getReader().read();
    expect(JSON.parse(new TextDecoder().decode(firstChunk.value))).toMatchObject({ type: 'heartbeat' });
    controller.abort();
    const runId = lineResponse.headers.get('x-run-id');
    await waitForStatus(api, `/api/v2/workflows/${longId}/runs/${runId}`, 'cancelled');
  });

  it('detects clients that disconnect', async () => {
    const controller = new AbortController();
    const runId = crypto.randomUUID();
    const options = { headers: { ...headers, 'X-Run-Id': runId }, signal: controller.signal };
    const response = execute(longId, {}, options);
    await waitForStatus(api, `/api/v2/workflows/${longId}/runs/${runId}`, 'paused');
    controller.abort();
    await expect(response).rejects.toMatchObject({ name: 'AbortError' });
    await waitForStatus(api, `/api/v2/workflows/${longId}/runs/${runId}`, 'cancelled');
  });
});
