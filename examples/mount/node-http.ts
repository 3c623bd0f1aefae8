// The HTTP API of Heddle in node:http, next to a route of the host.
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Api } from '@heddle/api';

export function createNodeServer(api: Pick<Api, 'fetch'>): Server {
  const heddleListener = getRequestListener(api.fetch, { overrideGlobalObjects: false });
  return createServer((request, response) => {
    if (request.url === '/hello') {
      response.end('a route of the host');
      return;
    }
    void heddleListener(request, response);
  });
}
