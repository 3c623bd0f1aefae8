// The HTTP API of Heddle in Express, next to a route of the host.
import type { Api } from '@heddle/api';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import type { Express } from 'express';

export function createExpressApp(api: Pick<Api, 'fetch'>): Express {
  const app = express();
  const heddleListener = getRequestListener(api.fetch, { overrideGlobalObjects: false });
  // Register Heddle before express.json(), which consumes bodies. Use app.all: app.use(path) strips the path.
  app.all(['/api/v2/{*path}', '/openapi.json', '/docs{/*path}'], (request, response) =>
    heddleListener(request, response),
  );
  app.use(express.json());
  app.get('/hello', (_request, response) => void response.send('a route of the host'));
  return app;
}
