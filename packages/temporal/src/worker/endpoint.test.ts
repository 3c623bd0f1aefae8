import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { openEndpoint } from './endpoint.ts';
import type { WorkerStatus } from './status.ts';

const STATUS: WorkerStatus = {
  state: 'polling',
  roles: ['engine'],
  activityCount: 0,
  workflowTaskCount: 0,
  cachedWorkflowCount: 0,
  taskCounters: [],
  sandbox: null,
};

it('the endpoint still responds after errors of its server, such as a lack of file descriptors', async () => {
  const endpoint = await openEndpoint({ port: 0 }, () => STATUS);
  onTestFinished(() => endpoint.close());
  const servers: Server[] = [];
  const collectServer = (message: unknown): void => void servers.push((message as { server: Server }).server);
  subscribe('http.server.request.start', collectServer);
  onTestFinished(() => void unsubscribe('http.server.request.start', collectServer));
  const readStatusCode = async (): Promise<number> => (await fetch(`${endpoint.url}/healthz`)).status;
  expect(await readStatusCode()).toBe(200);
  for (const code of ['EMFILE', 'EMFILE'])
    servers[0]!.emit('error', Object.assign(new Error(code), { code }));
  expect(await readStatusCode()).toBe(200);
});
