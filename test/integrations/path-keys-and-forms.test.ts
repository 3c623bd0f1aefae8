import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { blocks } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { integration as telegram } from '../../packages/blocks/src/integrations/telegram.ts';
import { toolFileOf } from '../../packages/blocks/src/integrations/integration.ts';
import { readToolFile } from '../../packages/blocks/src/openapi/file.ts';
import { block, workflow } from '../support/workflow.ts';

interface ReceivedRequest {
  url: string;
  headers: { readonly [name: string]: unknown };
  body: string;
}
type Responder = (request: ReceivedRequest) => { status?: number; body: Json } | 'disconnect';

/** Runs a block against a server with these responses. Returns the result and the requests. */
async function run(type: string, fields: JsonObject, respond: Responder) {
  const requests: ReceivedRequest[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const receivedRequest = { url: request.url ?? '', headers: request.headers, body };
      requests.push(receivedRequest);
      const serviceResponse = respond(receivedRequest);
      if (serviceResponse === 'disconnect') return void request.socket.destroy();
      response.writeHead(serviceResponse.status ?? 200, { 'content-type': 'application/json' });
      return void response.end(JSON.stringify(serviceResponse.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const engine = await createEngine({ blocks: blocks(), services: { [type]: baseUrl } });
  onTestFinished(async () => {
    await engine.close({ graceMs: 0 });
    server.close();
  });
  const result = await engine.execute({ workflow: workflow([block('A', type, fields)], ['Start -> A']) });
  return { result, requests };
}

/** A key that is not in the options of the engine, so that only the call itself can redact it. */
const TOKEN = '12345:AbC-dEf/g_h';
const MESSAGE_FIELDS = { operation: 'telegram_message', chatId: '7', text: 'Hello', botToken: TOKEN };

describe('an API key in the path of a URL', () => {
  it('is one encoded segment of the path, and in no other part of the request', async () => {
    const { result, requests } = await run('telegram', MESSAGE_FIELDS, () => ({
      body: { ok: true, result: { message_id: 1, chat: { id: 7 } } },
    }));
    expect(result).toMatchObject({ status: 'completed', output: { message_id: 1 } });
    expect(requests.map(({ url }) => url)).toEqual(['/bot12345:AbC-dEf%2Fg_h/sendMessage']);
    expect(JSON.stringify(requests[0]?.headers) + requests[0]?.body).not.toContain('12345');
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual({ chat_id: '7', text: 'Hello' });
  });

  it.each<[string, Responder]>([
    [
      'the service repeats the path',
      ({ url }) => ({ status: 404, body: { ok: false, description: `Nothing at ${url}` } }),
    ],
    [
      'the service repeats the key',
      () => ({ status: 401, body: { ok: false, description: `No bot ${TOKEN}` } }),
    ],
    ['the response has an unexpected structure', ({ url }) => ({ status: 400, body: [url, TOKEN] })],
    ['the connection breaks', () => 'disconnect'],
  ])('is not in the error if %s', async (_title, respond) => {
    const { result } = await run('telegram', MESSAGE_FIELDS, respond);
    expect(result.error).toMatchObject({ code: 'HTTP_FAILED' });
    expect(result.error?.message).toContain('/bot{token}/sendMessage');
    expect(JSON.stringify(result.error)).not.toMatch(/12345|AbC-dEf/);
  });

  it.each(['', '.', '..', ' '])('that would lead to another path is refused: "%s"', async (botToken) => {
    const { result, requests } = await run('telegram', { ...MESSAGE_FIELDS, botToken }, () => ({
      body: { ok: true },
    }));
    expect(result.error?.code).toMatch(/^(?:TOOL_ARGUMENTS_INVALID|CREDENTIAL_UNKNOWN)$/);
    expect(requests).toEqual([]);
  });

  it('needs a placeholder that no argument fills', () => {
    const file = toolFileOf(telegram);
    const [tool] = file.tools;
    const readWithChange = (change: object) => () =>
      readToolFile({ ...file, tools: [{ ...tool, ...change }] });
    const parameter = { argument: 'text', in: 'path', name: 'token', style: 'simple', explode: false };
    expect(readWithChange({})).not.toThrow();
    expect(readWithChange({ path: '/sendMessage' })).toThrow(/has a key in its path/);
    expect(readWithChange({ parameters: [parameter] })).toThrow(/has a key in its path/);
  });
});

describe('Stripe blocks', () => {
  it('send a form with nested fields, and an idempotency key', async () => {
    const fields = {
      ...{ operation: 'create_payment_intent', apiKey: 'sk_test_1', amount: '1250', currency: 'eur' },
      ...{ metadata: '{"order": "a&amount=1"}', payment_method_types: '["card", "ideal"]' },
    };
    const { result, requests } = await run('stripe', fields, () => ({ body: { id: 'pi_1' } }));
    expect(result).toMatchObject({ status: 'completed', output: { id: 'pi_1' } });
    expect(requests[0]?.headers).toMatchObject({
      'content-type': 'application/x-www-form-urlencoded',
      authorization: 'Bearer sk_test_1',
      'idempotency-key': expect.stringMatching(/.{8,}/) as string,
    });
    expect([...new URLSearchParams(requests[0]?.body)]).toEqual([
      ['amount', '1250'],
      ['currency', 'eur'],
      ['payment_method_types[0]', 'card'],
      ['payment_method_types[1]', 'ideal'],
      ['metadata[order]', 'a&amount=1'],
    ]);
  });

  it('leave path arguments out of the form', async () => {
    const fields = { operation: 'update_customer', apiKey: 'k', id: 'cus_1', name: 'Ada' };
    const { requests } = await run('stripe', fields, () => ({ body: { id: 'cus_1' } }));
    expect(requests.map(({ url, body }) => [url, body])).toEqual([['/v1/customers/cus_1', 'name=Ada']]);
  });

  it('request pages after the last object until there are no more', async () => {
    const ids = ['cus_3', 'cus_2', 'cus_1'];
    const { result, requests } = await run(
      'stripe',
      { operation: 'list_customers', apiKey: 'k', limit: 2 },
      ({ url }) => {
        const query = new URL(url, 'http://x').searchParams;
        const startIndex = ids.indexOf(query.get('starting_after') ?? '') + 1;
        const page = ids.slice(startIndex, startIndex + 2).map((id) => ({ id }));
        return { body: { object: 'list', data: page, has_more: startIndex + 2 < ids.length } };
      },
    );
    expect(result.output).toEqual({ customers: ids.map((id) => ({ id })) });
    expect(requests.map(({ url }) => url)).toEqual([
      '/v1/customers?limit=2',
      '/v1/customers?limit=2&starting_after=cus_2',
    ]);
  });

  it('fail with the message of the service', async () => {
    const { result } = await run(
      'stripe',
      { operation: 'retrieve_invoice', apiKey: 'k', id: 'in_9' },
      () => ({
        status: 404,
        body: { error: { type: 'invalid_request_error', message: 'No such invoice: in_9' } },
      }),
    );
    expect(result.error?.message).toMatch(/responded with 404: No such invoice: in_9/);
  });
});
