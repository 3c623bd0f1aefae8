import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@heddle/core/blocks';
import type { EgressRequest } from '@heddle/sandbox/egress';
import { contextOf, failureOf } from '../../../../../test/support/block.ts';
import type { BlockFixture } from '../../../../../test/support/block.ts';
import { TestClock } from '../../../../../test/support/test-clock.ts';
import { webhookExecutor } from './webhook.ts';

/** Runs the block against a server that answers with this status. Returns the request and the output. */
async function send(params: JsonObject, fixture: BlockFixture = {}, status = 200) {
  const requests: EgressRequest[] = [];
  const fetch = async (request: EgressRequest) => {
    requests.push(request);
    const headers: [string, string][] = [['content-type', 'application/json']];
    const body = new TextEncoder().encode('{"ok":true}');
    return { status, statusText: '', url: '', redirected: false, headers, body };
  };
  const context = contextOf({
    type: 'webhook_request',
    params: { url: 'https://x.test/hook', ...params },
    services: {
      httpClient: async () => ({
        fetch,
        checkServer: () => Promise.reject(new Error('not used')),
        open: () => Promise.reject(new Error('not used')),
      }),
    },
    clock: new TestClock(1_700_000_000_000),
    ...fixture,
  });
  const result = await webhookExecutor.execute(context);
  const [request] = requests;
  return { result, request: request!, headers: Object.fromEntries(request!.headers as [string, string][]) };
}

describe('a webhook', () => {
  it('is a POST request with JSON, a time and a delivery id', async () => {
    const fixture = { outputs: { A: { v: 'x"}' } } };
    const { result, request, headers } = await send({ body: '{"note": "<a.v>"}' }, fixture);
    expect(request).toMatchObject({
      url: 'https://x.test/hook',
      method: 'POST',
      body: '{"note": "x\\"}"}',
    });
    expect(headers).toEqual({
      'Content-Type': 'application/json',
      'X-Webhook-Timestamp': '1700000000000',
      'X-Delivery-ID': expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    });
    expect(result).toMatchObject({ output: { data: { ok: true }, status: 200 } });
  });

  it('has the same delivery id each time it is sent', async () => {
    const [first, second] = [await send({}), await send({}, { clock: new TestClock(5) })];
    expect(first.headers['X-Delivery-ID']).toBe(second.headers['X-Delivery-ID']);
  });

  it('is signed over its time and body if it has a secret', async () => {
    const { headers } = await send({ body: { a: 1 }, secret: '{{S}}' }, { env: { S: 'hush' } });
    const mac = createHmac('sha256', 'hush').update('1700000000000.{"a":1}').digest('hex');
    expect(headers['X-Webhook-Signature']).toBe(`t=1700000000000,v1=${mac}`);
  });

  it('has the authored headers, which replace its own headers', async () => {
    const { headers } = await send({ headers: { 'content-type': 'text/plain', 'X-A': 'b' } });
    expect(headers).toMatchObject({ 'content-type': 'text/plain', 'X-A': 'b' });
    expect(headers).not.toHaveProperty('Content-Type');
  });

  it('needs a URL', async () => {
    const failure = await failureOf(() => send({ url: ' ' }));
    expect(failure).toMatchObject({ code: 'BLOCK_CONFIG_INVALID', retryable: false });
  });

  it('encodes values in its URL', async () => {
    const { request } = await send({ url: 'https://x.test/<a.v>' }, { outputs: { A: { v: '../b' } } });
    expect(request.url).toBe('https://x.test/..%2Fb');
  });

  it('fails for a status of 400 or more, and can be retried', async () => {
    const failure = await failureOf(() => send({}, {}, 503));
    expect(failure).toMatchObject({ code: 'HTTP_FAILED', retryable: true });
  });
});
