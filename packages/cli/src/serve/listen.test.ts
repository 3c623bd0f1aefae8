import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createTestApi } from '../../../../test/support/api.ts';
import { GREETING_WORKFLOW } from '../../../../test/support/api-workflows.ts';
import { listen } from './listen.ts';

it('500 connections that never send their bodies do not block an execution', async () => {
  const api = await createTestApi({ capacity: 2 });
  const path = `/api/v2/workflows/${await api.deploy(GREETING_WORKFLOW)}/execute`;
  const server = await listen((request) => api.api.fetch(request), { host: '127.0.0.1', port: 0 });
  const sockets: Socket[] = [];
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await server.waitUntilClosed();
  });
  const { port } = new URL(server.url);
  const requestLines = [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    `X-API-Key: ${api.key}`,
    'Content-Length: 100',
    '',
    '{',
  ];
  for (let n = 0; n < 500; n += 1) sockets.push(connect(Number(port), '127.0.0.1'));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  await Promise.all(
    sockets.map((socket) => new Promise((resolve) => socket.write(requestLines.join('\r\n'), resolve))),
  );
  const headers = { 'X-API-Key': api.key, 'Content-Type': 'application/json' };
  const response = await fetch(server.url + path, { method: 'POST', headers, body: '{}' });
  expect(response.status).toBe(200);
});

it.each([
  ['headers', ['POST / HTTP/1.1', 'Host: x']],
  ['the body', ['POST / HTTP/1.1', 'Host: x', 'Content-Length: 100', '', '{']],
])('a connection that does not send %s in time gets 408 and is closed', async (_part, lines) => {
  const timeouts = { headersTimeout: 50, requestTimeout: 100, connectionsCheckingInterval: 20 };
  const echo = async (request: Request) => new Response(await request.text());
  const server = await listen(echo, { host: '127.0.0.1', port: 0 }, timeouts);
  onTestFinished(async () => {
    server.close();
    await server.waitUntilClosed();
  });
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.write(lines.join('\r\n'));
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(socket, 'close');
  expect(text).toMatch(/^HTTP\/1\.1 408 /);
});
