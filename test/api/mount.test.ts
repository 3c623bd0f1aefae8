import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Api } from '@heddle/api';
import { afterAll, describe, expect, it } from 'vitest';
import { expressApp } from '../../examples/mount/express.ts';
import { fastifyApp } from '../../examples/mount/fastify.ts';
import { honoApp } from '../../examples/mount/hono.ts';
import * as operations from '../../examples/mount/next/app/api/v2/[...path]/route.ts';
import * as description from '../../examples/mount/next/app/openapi.json/route.ts';
import { nodeServer } from '../../examples/mount/node-http.ts';
import { testApi } from '../support/api.ts';
import { GREETING, LONG, untilStatus } from '../support/api-workflows.ts';

const api = await testApi();
const greeting = await api.deployed(GREETING);
const long = await api.deployed(LONG);

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

const serving = (fetch: (request: Request) => Response | Promise<Response>): Server => {
  const listener = getRequestListener(fetch, { overrideGlobalObjects: false });
  return createServer((request, response) => void listener(request, response));
};

/** Returns a server like that of Next.js, which calls the export of a route file with the name of the HTTP method. */
function nextServer(own: Api): Server {
  (globalThis as { heddleApi?: Promise<Api> }).heddleApi = Promise.resolve(own);
  return serving((request) => {
    const { pathname } = new URL(request.url);
    if (pathname === '/hello') return new Response('a route of the host');
    const route: { [method: string]: unknown } = pathname.startsWith('/api/') ? operations : description;
    return (route[request.method] as typeof operations.GET)(request);
  });
}

async function fastifyServer(own: Api): Promise<Server> {
  const app = fastifyApp(own);
  await app.ready();
  return app.server;
}

const HOSTS: [string, (own: Api) => Server | Promise<Server>][] = [
  ['node:http', nodeServer],
  ['Hono', (own) => serving(honoApp(own).fetch)],
  ['Express', (own) => createServer((request, response) => void expressApp(own)(request, response))],
  ['Fastify', fastifyServer],
  ['Next.js', nextServer],
];

describe.each(HOSTS)('the API mounted in %s', (_, server) => {
  const headers = { 'X-API-Key': api.key, 'Content-Type': 'application/json' };
  const started = start();

  async function start(): Promise<string> {
    return listen(await server(api.api));
  }

  async function execute(id: string, body: object, more: RequestInit = {}): Promise<Response> {
    const url = `${await started}/api/v2/workflows/${id}/execute`;
    return fetch(url, { method: 'POST', body: JSON.stringify(body), headers, ...more });
  }

  it('serves the API next to the routes of the host', async () => {
    const answer = await execute(greeting, { input: { name: 'Ada' } });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ data: { output: { data: { hello: 'Ada' } } } });
    expect(await (await fetch(`${await started}/hello`)).text()).toBe('a route of the host');
  });

  it('refuses a body that is too large, and an unknown path', async () => {
    const large = await execute(greeting, { input: { name: 'x'.repeat(11 * 1024 * 1024) } });
    expect([large.status, await large.json()]).toMatchObject([413, { error: { code: 'PAYLOAD_TOO_LARGE' } }]);
    const unknown = await fetch(`${await started}/api/v2/nothing`, { headers });
    expect([unknown.status, await unknown.json()]).toMatchObject([404, { error: { code: 'NOT_FOUND' } }]);
  });

  it('serves its OpenAPI document with the origin of the host', async () => {
    const document = (await (await fetch(`${await started}/openapi.json`)).json()) as object;
    expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: await started }] });
  });

  it('serves the reference page', async () => {
    const page = await fetch(`${await started}/docs`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const style = await fetch(`${await started}/docs/swagger-ui.css`);
    expect([style.status, style.headers.get('content-type')]).toEqual([200, 'text/css; charset=utf-8']);
    expect((await fetch(`${await started}/docs/other.js`)).status).toBe(404);
  });

  it('streams events and JSON lines during the run', async () => {
    const events = await execute(greeting, { stream: true, input: { name: 'Ada' } });
    expect(events.headers.get('content-type')).toBe('text/event-stream');
    expect(await events.text()).toMatch(/"hello":"Ada"[\s\S]*data: "\[DONE\]"\n\n$/);
    const gone = new AbortController();
    const lines = await execute(
      long,
      {},
      { headers: { ...headers, Accept: 'application/x-ndjson' }, signal: gone.signal },
    );
    const first = await lines.body!.getReader().read();
    expect(JSON.parse(new TextDecoder().decode(first.value))).toMatchObject({ type: 'heartbeat' });
    gone.abort();
    const runId = lines.headers.get('x-run-id');
    await untilStatus(api, `/api/v2/workflows/${long}/runs/${runId}`, 'cancelled');
  });

  it('detects clients that disconnect', async () => {
    const gone = new AbortController();
    const runId = crypto.randomUUID();
    const waiting = execute(long, {}, { headers: { ...headers, 'X-Run-Id': runId }, signal: gone.signal });
    await untilStatus(api, `/api/v2/workflows/${long}/runs/${runId}`, 'paused');
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    await untilStatus(api, `/api/v2/workflows/${long}/runs/${runId}`, 'cancelled');
  });
});
