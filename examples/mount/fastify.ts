// The HTTP API of Heddle in Fastify, next to a route of the host.
import type { Api } from '@heddle/api';
import { getRequestListener } from '@hono/node-server';
import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';

export function createFastifyApp(api: Pick<Api, 'fetch'>): FastifyInstance {
  const app = Fastify();
  app.get('/hello', () => 'a route of the host');
  const heddleListener = getRequestListener(api.fetch, { overrideGlobalObjects: false });
  void app.register((scope, _options, done) => {
    // Heddle parses bodies itself.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _body, callback) => callback(null));
    for (const path of ['/api/v2/*', '/openapi.json', '/docs', '/docs/*']) {
      scope.all(path, (request, reply) => {
        reply.hijack();
        return heddleListener(request.raw, reply.raw);
      });
    }
    done();
  });
  return app;
}
