// The HTTP API of Heddle in Hono, next to a route of the host.
import type { Api } from '@heddle/api';
import { Hono } from 'hono';

export function createHonoApp(api: Pick<Api, 'fetch'>): Hono {
  const app = new Hono();
  app.get('/hello', (c) => c.text('a route of the host'));
  app.all('/api/v2/*', (c) => api.fetch(c.req.raw));
  app.get('/openapi.json', (c) => api.fetch(c.req.raw));
  app.get('/docs/*', (c) => api.fetch(c.req.raw));
  return app;
}
