import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '@heddle/core/blocks';
import { createEgress } from '@heddle/sandbox/egress';
import type { Egress } from '@heddle/sandbox/egress';
import { contextOf, failureOf } from '../../../../../test/support/block.ts';
import { apiExecutor } from './api.ts';

const call = (params: JsonObject, egress: Egress): unknown =>
  apiExecutor.execute(contextOf({ type: 'api', params, services: { httpClient: async () => egress } }));

describe('an api block with the egress policy', () => {
  const startServer = async (): Promise<string> => {
    const server = createServer((request, response) =>
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ method: request.method, url: request.url })),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
  };

  it('reaches a real server only if the policy allows its address', async () => {
    const url = await startServer();
    const permissiveEgress = createEgress({ allowPrivate: true, ports: 'any' });
    const restrictiveEgress = createEgress({ ports: 'any' });
    onTestFinished(async () => {
      await Promise.all([permissiveEgress.close(), restrictiveEgress.close()]);
    });
    expect(await call({ url, params: { q: 1 } }, permissiveEgress)).toMatchObject({
      output: { data: { method: 'GET', url: '/x?q=1' }, status: 200 },
    });
    expect(await failureOf(() => call({ url }, restrictiveEgress))).toMatchObject({
      code: 'HTTP_FAILED',
      details: { reason: 'EGRESS_DENIED' },
    });
  });
});
