import type { Api } from '@heddle/api';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import type { Express } from 'express';

export function expressApp(api: Api): Express {
  const app = express();
  const heddle = getRequestListener(api.fetch, { overrideGlobalObjects: false });
  // Before express.json(), which would read the body; and not with app.use(path), which takes the path off.
  app.all(['/api/v2/{*path}', '/openapi.json', '/docs{/*path}'], (request, response) =>
    heddle(request, response),
  );
  app.use(express.json());
  app.get('/hello', (_request, response) => void response.send('a route of the host'));
  return app;
}
