import { webhookReceiver } from '@heddle/api/webhooks';
import type {
  FoundWebhook,
  WebhookEvent,
  WebhookReceiverOptions,
  WebhookStore,
  WebhookType,
} from '@heddle/api/webhooks';
import { triggerTypes } from '@heddle/blocks/triggers';
import type { JsonObject } from '@heddle/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pickByScale } from '../support/scale.ts';
import { CIRCLEBACK, JSON_HEADERS, PROVIDERS, START_TIME_MS } from './webhook-setup.ts';

const webhookTypes = new Map(
  triggerTypes
    .filter((type): type is WebhookType & (typeof triggerTypes)[number] => type.kind === 'webhook')
    .map((type) => [type.type, type as WebhookType]),
);

/** A receiver, and the calls of its store. */
interface TestReceiver {
  receive: (path: string, init?: RequestInit, address?: string) => Promise<Response>;
  events: WebhookEvent[];
  refusals: string[];
  errors: unknown[];
  getLookupCount: () => number;
}

/**
 * Opens a receiver with an in-memory store that stands in for the store of a host. `fields` are the fields of the block
 * at the path `hook-path`.
 */
function openReceiver(
  fields: JsonObject = {},
  { type = 'generic_webhook', ...options }: Partial<WebhookReceiverOptions> & { type?: string } = {},
): TestReceiver {
  const webhookType = webhookTypes.get(type) as WebhookType;
  const parseResult = webhookType.parseConfig(fields);
  if (!('config' in parseResult)) throw new Error(JSON.stringify(parseResult.problems));
  const webhook: FoundWebhook = {
    key: 'hook',
    workspaceId: 'looms',
    type: webhookType,
    config: parseResult.config,
  };
  const [events, refusals, errors]: [WebhookEvent[], string[], unknown[]] = [[], [], []];
  const runIdsByDeliveryId = new Map<string, string>();
  let lookupCount = 0;
  const store: WebhookStore = {
    find(path) {
      lookupCount += 1;
      return Promise.resolve(path === 'hook-path' ? webhook : undefined);
    },
    secretsOf: () => Promise.resolve([webhookType.secretOf(parseResult.config) ?? '']),
    accept(_found, event) {
      const knownRunId = runIdsByDeliveryId.get(event.deliveryId ?? '');
      const runId = knownRunId ?? `run-${events.length}`;
      if (knownRunId === undefined) events.push(event);
      if (event.deliveryId !== undefined) runIdsByDeliveryId.set(event.deliveryId, runId);
      return Promise.resolve({
        ...{ runId, isDuplicate: knownRunId !== undefined },
        waitForResponse: () => Promise.resolve(Response.json({ answer: 42 }, { status: 201 })),
      });
    },
    recordRefusal: (_found, reason) => void refusals.push(reason),
  };
  const fetch = webhookReceiver({
    ...{
      store,
      now: () => START_TIME_MS,
      onError: (error) => void errors.push(error),
      repeat: () => () => undefined,
    },
    ...options,
  });
  return {
    ...{ events, refusals, errors, getLookupCount: () => lookupCount },
    receive: (path, init = {}, address) =>
      fetch(new Request(`http://host/api/webhooks/trigger/${path}`, init), { address }),
  };
}

const createPostInit = (body: NonNullable<RequestInit['body']>, type?: string): RequestInit => ({
  method: 'POST',
  body,
  ...(type !== undefined && { headers: { 'Content-Type': type } }),
});

/** Returns the input of the run that a request to a webhook starts, without headers and query. */
async function receiveInput(init: RequestInit, fields: JsonObject = {}): Promise<JsonObject> {
  const receiver = openReceiver(fields);
  const response = await receiver.receive('hook-path', init);
  expect(response.status).toBe(200);
  const { headers: _headers, query: _query, ...input } = receiver.events[0]?.input ?? {};
  return input;
}

describe('the body of a delivery becomes the input of the run', () => {
  it.each([
    ['JSON', createPostInit('{"a":1}', 'application/json'), { a: 1 }],
    ['JSON of another media type', createPostInit('{"a":1}', 'application/cloudevents+json'), { a: 1 }],
    ['JSON without a media type', createPostInit(Buffer.from('{"a":1}')), { a: 1 }],
    ['JSON that is not an object', createPostInit('[1]', 'application/json'), { input: [1] }],
    ['text', createPostInit('hello', 'text/plain'), { input: 'hello' }],
    ['text that looks like JSON', createPostInit('{not json', 'text/plain'), { input: '{not json' }],
    ['XML', createPostInit('<a/>', 'application/xml'), { input: '<a/>' }],
    [
      'a form',
      createPostInit('a=1&b=x%20y&a=2', 'application/x-www-form-urlencoded'),
      { a: ['1', '2'], b: 'x y' },
    ],
    [
      'JSON in a form',
      createPostInit('payload=%7B%22a%22%3A1%7D', 'application/x-www-form-urlencoded'),
      { a: 1 },
    ],
    ['an empty body', { method: 'POST' }, {}],
    ['a GET request without a body', { method: 'GET' }, {}],
  ])('%s', async (_name, init, input) => {
    expect(await receiveInput(init)).toEqual(input);
  });

  it('a form with files: the input has the files of declared fields, and only the names of other files', async () => {
    const form = new FormData();
    form.set('title', 'Two files');
    form.append('docs', new File(['one'], 'one.txt', { type: 'text/plain' }));
    form.append('docs', new File(['two'], 'two.txt', { type: 'text/plain' }));
    form.set('other', new File(['three'], 'three.bin'));
    const inputFormat = [{ name: 'docs', type: 'file[]' }];
    expect(await receiveInput({ method: 'POST', body: form }, { inputFormat })).toEqual({
      title: 'Two files',
      docs: [
        { type: 'file', name: 'one.txt', data: `data:text/plain;base64,${btoa('one')}` },
        { type: 'file', name: 'two.txt', data: `data:text/plain;base64,${btoa('two')}` },
      ],
      other: [{ name: 'three.bin', mime: 'application/octet-stream', size: 5 }],
    });
  });

  it('with headers and query, but without credentials', async () => {
    const receiver = openReceiver({ token: 's3cret', secretHeaderName: 'X-Pass' });
    const headers = {
      ...JSON_HEADERS,
      'X-Pass': 's3cret',
      Cookie: 'a=b',
      Authorization: 'Bearer x',
      'X-Event': 'e',
    };
    const init = { method: 'POST', headers: { ...headers, 'X-Api-Key': 'k' }, body: '{"query":"own"}' };
    await receiver.receive('hook-path?a=1&a=2&b=3', init);
    const [event] = receiver.events;
    expect(event?.input).toEqual({
      headers: { 'content-type': 'application/json', 'x-event': 'e' },
      query: 'own',
    });
    await receiver.receive('hook-path?a=1&a=2&b=3', { ...init, body: '{}' });
    expect(receiver.events[1]?.input['query']).toEqual({ a: ['1', '2'], b: '3' });
  });
});

describe('the sender gets', () => {
  it('the JSON and the status that the block configures', async () => {
    const fields = { responseMode: 'custom', responseStatusCode: '202', responseBody: '{"ok":true}' };
    const response = await openReceiver(fields).receive('hook-path', createPostInit('{}'));
    expect([response.status, await response.json()]).toEqual([202, { ok: true }]);
    const emptyResponse = await openReceiver({ responseMode: 'custom' }).receive(
      'hook-path',
      createPostInit('{}'),
    );
    expect([emptyResponse.status, await emptyResponse.text()]).toEqual([200, '']);
  });

  it('the response of the run', async () => {
    const response = await openReceiver({ responseMode: 'wait' }).receive('hook-path', createPostInit('{}'));
    expect([response.status, await response.json()]).toEqual([201, { answer: 42 }]);
    expect(response.headers.get('x-run-id')).toBe('run-0');
  });
});

describe('a request is refused', () => {
  const limits = { bytes: 100, values: 10, parts: 3 };
  const statusOf = async (init: RequestInit, fields: JsonObject = {}): Promise<number> => {
    const receiver = openReceiver(fields, { limits });
    const response = await receiver.receive('hook-path', init);
    expect(receiver.events).toEqual([]);
    expect(receiver.errors).toEqual([]);
    return response.status;
  };

  it('with 413 for a body with too many bytes, values, fields or parts', async () => {
    expect(await statusOf(createPostInit('x'.repeat(101), 'text/plain'))).toBe(413);
    const chunks = ReadableStream.from([Buffer.alloc(60, 32), Buffer.alloc(60, 32)]);
    expect(await statusOf({ ...createPostInit(chunks as never), duplex: 'half' } as RequestInit)).toBe(413);
    expect(await statusOf(createPostInit(`[${'1,'.repeat(10)}1]`, 'application/json'))).toBe(413);
    expect(await statusOf(createPostInit('a&'.repeat(12), 'application/x-www-form-urlencoded'))).toBe(413);
    const parts = '--b\r\n'.repeat(6);
    expect(await statusOf(createPostInit(parts, 'multipart/form-data; boundary=b'))).toBe(413);
  });

  it('with 400 and 415 for a body that cannot be read', async () => {
    expect(await statusOf(createPostInit('{', 'application/json'))).toBe(400);
    expect(await statusOf(createPostInit('[1e999]', 'application/json'))).toBe(400);
    expect(await statusOf(createPostInit('--b', 'multipart/form-data'))).toBe(400);
    expect(await statusOf(createPostInit('--x', 'multipart/form-data; boundary=b'))).toBe(400);
    expect(await statusOf(createPostInit('PK', 'application/zip'))).toBe(415);
  });

  it('with 401, before its body is parsed, if its signature is missing', async () => {
    const receiver = openReceiver({ token: 's3cret' });
    expect((await receiver.receive('hook-path', createPostInit('{', 'application/json'))).status).toBe(401);
    expect(receiver.refusals).toEqual(['SIGNATURE_MISSING']);
  });

  it('with 429 above the rate limit of its trigger, which accepts requests again later', async () => {
    let nowMs = START_TIME_MS;
    const receiver = openReceiver({}, { rate: { capacity: 2, perMinute: 60 }, now: () => nowMs });
    const send = async () => (await receiver.receive('hook-path', createPostInit('{}'))).status;
    expect([await send(), await send(), await send()]).toEqual([200, 200, 429]);
    nowMs += 1000;
    expect(await send()).toBe(200);
  });

  it('with 429 and without a lookup after many requests from its address to unknown paths', async () => {
    const receiver = openReceiver({}, { unknownPathRate: { capacity: 3, perMinute: 1 } });
    const statuses: number[] = [];
    for (let index = 0; index < 5; index += 1)
      statuses.push((await receiver.receive(`path-${index}`, createPostInit('{}'), '203.0.113.9')).status);
    expect(statuses).toEqual([404, 404, 404, 429, 429]);
    expect(receiver.getLookupCount()).toBe(3);
    expect((await receiver.receive('hook-path', createPostInit('{}'), '203.0.113.7')).status).toBe(200);
  });

  it('with 429 before its body is read when too many requests of its workspace are in progress', async () => {
    const concurrency = { perTrigger: 2, perWorkspace: 2, total: 10 };
    const receiver = openReceiver({}, { concurrency });
    const bodyReady = Promise.withResolvers<void>();
    async function* createSlowBody() {
      await bodyReady.promise;
      yield Buffer.from('{}');
    }
    const responses = [1, 2].map(() =>
      receiver.receive('hook-path', {
        ...createPostInit(ReadableStream.from(createSlowBody()) as never),
        duplex: 'half',
      } as RequestInit),
    );
    await expect
      .poll(async () => (await receiver.receive('hook-path', createPostInit('{}'))).status)
      .toBe(429);
    bodyReady.resolve();
    expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await receiver.receive('hook-path', createPostInit('{}'))).status).toBe(200);
  });
});

describe('any request', () => {
  const headerValueArbitrary = fc.string({ unit: 'grapheme-ascii', maxLength: 80 }).filter((text) => {
    try {
      new Headers({ x: text });
      return true;
    } catch {
      return false;
    }
  });
  const HEADER_NAMES = [
    ...[
      'content-type',
      'authorization',
      'x-hub-signature-256',
      'x-slack-signature',
      'x-slack-request-timestamp',
    ],
    ...['stripe-signature', 'linear-signature', 'webhook-signature', 'webhook-id', 'webhook-timestamp'],
    ...[
      'x-signature',
      'idempotency-key',
      'x-github-event',
      'x-telegram-bot-api-secret-token',
      'content-length',
    ],
  ];
  const MEDIA_TYPES = [
    ...[
      'application/json',
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=b',
    ],
    ...['multipart/form-data; boundary="', 'application/x+json; charset=latin1', '', ';;'],
  ];
  const bodyArbitrary = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.json({ maxDepth: 4 }).map((text) => new Uint8Array(Buffer.from(text))),
    fc
      .constantFrom('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--', 'a=%zz&=&b', '[[[[')
      .map((text) => new Uint8Array(Buffer.from(text))),
  );
  const requestArbitrary = fc.record({
    method: fc.constantFrom('POST', 'GET', 'PUT', 'HEAD', 'DELETE'),
    path: fc.oneof(
      fc.constant('hook-path'),
      fc.webPath(),
      fc.webQueryParameters().map((text) => `hook-path?${text}`),
    ),
    headers: fc.dictionary(fc.constantFrom(...HEADER_NAMES), headerValueArbitrary),
    type: fc.constantFrom(...MEDIA_TYPES),
    body: bodyArbitrary,
  });
  const HOOK_CASES = [
    { fields: {}, options: {}, acceptsUnsigned: true },
    { fields: { responseMode: 'wait', idempotencyField: 'a.b.0' }, options: {}, acceptsUnsigned: true },
    ...[...Object.values(PROVIDERS), CIRCLEBACK].map(({ type, fields }) => ({
      fields,
      options: { type },
      acceptsUnsigned: false,
    })),
  ];

  it('gets a response with a known status, and starts a run only at a webhook without a secret', async () => {
    await fc.assert(
      fc.asyncProperty(
        requestArbitrary,
        fc.nat({ max: HOOK_CASES.length - 1 }),
        async (generatedRequest, index) => {
          const { fields, options, acceptsUnsigned } = HOOK_CASES[index]!;
          const receiver = openReceiver(fields as JsonObject, {
            ...options,
            limits: { bytes: 150, values: 20, parts: 3 },
          });
          const hasBody = generatedRequest.method !== 'GET' && generatedRequest.method !== 'HEAD';
          const response = await receiver.receive(generatedRequest.path.replace(/^\//, ''), {
            method: generatedRequest.method,
            headers: { 'Content-Type': generatedRequest.type, ...generatedRequest.headers },
            ...(hasBody && { body: generatedRequest.body }),
          });
          expect(receiver.errors).toEqual([]);
          expect([200, 201, 400, 401, 404, 413, 415, 429]).toContain(response.status);
          expect(receiver.events.length).toBeLessThanOrEqual(acceptsUnsigned ? 1 : 0);
          for (const { deliveryId } of receiver.events)
            expect(deliveryId ?? 'none').toMatch(/^[\x21-\x7e]{1,200}$/);
        },
      ),
      { numRuns: pickByScale(200, 20_000) },
    );
  });
});
