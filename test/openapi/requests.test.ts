import { blocks, importOpenApi } from '@heddle/blocks';
import type { ToolFile } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { EngineOptions } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TestClock } from '../support/test-clock.ts';
import { block, workflow } from '../support/workflow.ts';
import { SHOP, startShop } from './shop.ts';
import type { ReceivedRequest, ShopResponse } from './shop.ts';

const { file } = await importOpenApi(SHOP, { name: 'shop' });
const KEY = 'key-of-the-shop';

interface CallOptions {
  respond?: (request: ReceivedRequest) => ShopResponse;
  engineOptions?: EngineOptions;
  toolFile?: ToolFile;
  input?: JsonObject;
}

async function startToolRun(
  fields: JsonObject,
  { respond, engineOptions, toolFile = file, input = {} }: CallOptions,
) {
  const shop = await startShop(respond);
  onTestFinished(() => shop.close());
  const engine = await createEngine({
    blocks: blocks({ toolFiles: [toolFile] }),
    services: { shop: `${shop.url}/v1`, 'shop:files.shop.test': shop.url },
    credentials: { shop: KEY },
    ...engineOptions,
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const source = { workflow: workflow([block('T', 'tool', fields)], ['Start -> T']) };
  const run = await engine.start(source, await engine.storeFiles(source, input));
  return { shop, run };
}

/** Calls a tool in a workflow. Returns the result of the run, and the received requests. */
async function call(toolId: string, args: JsonObject, options: CallOptions = {}) {
  const { shop, run } = await startToolRun({ toolId: `shop_${toolId}`, arguments: args }, options);
  const result = await run.result();
  return { result, receivedRequests: shop.requests };
}

/** Returns the only request of a call that completes. */
async function requestOf(
  toolId: string,
  args: JsonObject,
  options: CallOptions = {},
): Promise<ReceivedRequest> {
  const { result, receivedRequests } = await call(toolId, args, options);
  expect(result).toMatchObject({ status: 'completed' });
  expect(receivedRequests).toHaveLength(1);
  return receivedRequests[0] as ReceivedRequest;
}

const VALUES: { [kind: string]: Json } = { text: 'a b/ü', list: ['x,1', 'y'], pair: { g: 2, r: 1 } };

const valuesFor = (names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, VALUES[name.split('_')[1] ?? ''] ?? null]));

describe('parameters of imported operations', () => {
  const kinds = ['text', 'list', 'pair'].flatMap((kind) => [`${kind}_e`, kind]);

  it('are sent in the path in each style, percent-encoded', async () => {
    const names = ['simple', 'label', 'matrix'].flatMap((style) => kinds.map((kind) => `${style}_${kind}`));
    const { url } = await requestOf('paths', valuesFor(names));
    const segments = Object.fromEntries(
      url
        .slice('/v1/paths/'.length)
        .split('/')
        .map((segment, index) => [PATH_ORDER[index], segment]),
    );
    expect(segments).toEqual({
      simple_text_e: 'a%20b%2F%C3%BC',
      simple_list_e: 'x%2C1,y',
      simple_pair_e: 'g=2,r=1',
      simple_text: 'a%20b%2F%C3%BC',
      simple_list: 'x%2C1,y',
      simple_pair: 'g,2,r,1',
      label_text_e: '.a%20b%2F%C3%BC',
      label_list_e: '.x%2C1.y',
      label_pair_e: '.g=2.r=1',
      label_text: '.a%20b%2F%C3%BC',
      label_list: '.x%2C1,y',
      label_pair: '.g,2,r,1',
      matrix_text_e: ';matrix_text_e=a%20b%2F%C3%BC',
      matrix_list_e: ';matrix_list_e=x%2C1;matrix_list_e=y',
      matrix_pair_e: ';g=2;r=1',
      matrix_text: ';matrix_text=a%20b%2F%C3%BC',
      matrix_list: ';matrix_list=x%2C1,y',
      matrix_pair: ';matrix_pair=g,2,r,1',
    });
  });

  it('are sent in the query in each style', async () => {
    const sendQuery = async (args: JsonObject): Promise<string> =>
      (await requestOf('query', args)).url.replace('/v1/query?', '');
    const { text = null, list = null, pair = null } = VALUES;
    expect(await sendQuery({ form_text_e: text, form_list_e: list })).toBe(
      'form_text_e=a%20b%2F%C3%BC&form_list_e=x%2C1&form_list_e=y',
    );
    expect(await sendQuery({ form_pair_e: pair, form_list: list, form_pair: pair })).toBe(
      'g=2&r=1&form_list=x%2C1,y&form_pair=g,2,r,1',
    );
    expect(await sendQuery({ spaceDelimited_list: list, pipeDelimited_list: list })).toBe(
      'spaceDelimited_list=x%2C1%20y&pipeDelimited_list=x%2C1%7Cy',
    );
    expect(await sendQuery({ deepObject_pair_e: { g: { a: ['x', 'y'] }, r: 1 } })).toBe(
      'deepObject_pair_e[g][a][0]=x&deepObject_pair_e[g][a][1]=y&deepObject_pair_e[r]=1',
    );
    expect(await sendQuery({ reserved: 'a/b?c:d&e=f#g' })).toBe('reserved=a/b?c:d%26e%3Df%23g');
    expect(await sendQuery({ filter_name: 'x', json: { r: 1 } })).toBe(
      'filter[name]=x&json=%7B%22r%22%3A1%7D',
    );
    expect(await sendQuery({})).toBe('/v1/query');
  });

  it('are sent as headers and cookies', async () => {
    const { headers } = await requestOf('headers', {
      'X-Text': 'a b',
      'X-List': ['x', 'y'],
      'X-Pair': { g: 2, r: 1 },
      session: 'a;b',
    });
    expect(headers).toMatchObject({
      'x-text': 'a b',
      'x-list': 'x,y',
      'x-pair': 'g=2,r=1',
      cookie: 'session=a%3Bb',
      authorization: `Bearer ${KEY}`,
      accept: 'application/json, */*;q=0.1',
    });
  });

  it('may be references to data of the workflow', async () => {
    const options = { input: { id: '../admin?x=1' } };
    const { shop, run } = await startToolRun(
      { toolId: 'shop_getOrder', arguments: '{"id": "<start.id>"}' },
      options,
    );
    expect(await run.result()).toMatchObject({
      status: 'completed',
      output: { data: { ok: true }, status: 200, headers: { 'content-type': 'application/json' } },
    });
    expect(shop.requests[0]?.url).toBe('/v1/orders/..%2Fadmin%3Fx%3D1');
  });
});

const PATH_ORDER = ['simple', 'label', 'matrix'].flatMap((style) =>
  ['text_e', 'list_e', 'pair_e', 'text', 'list', 'pair'].map((kind) => `${style}_${kind}`),
);

describe('bodies of imported operations', () => {
  it('are JSON, and must match the schema', async () => {
    const { body, headers } = await requestOf('createOrder', {
      body: { article: null, parts: [{ article: 'b' }] },
    });
    expect(JSON.parse(body)).toEqual({ article: null, parts: [{ article: 'b' }] });
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'idempotency-key': expect.any(String) as string,
    });
    const { result, receivedRequests } = await call('createOrder', { body: { article: 'a', count: 0 } });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'TOOL_ARGUMENTS_INVALID' } });
    expect(receivedRequests).toHaveLength(0);
  });

  it('are URL-encoded forms, with the encodings of the document', async () => {
    const { body, headers } = await requestOf('form', {
      body: { name: 'a b&c', tags: ['x', 'y'], deep: { r: 1, g: 2 }, plain: { r: 3 } },
    });
    expect(headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(body).toBe('deep[g]=2&deep[r]=1&name=a+b%26c&plain=%7B%22r%22%3A3%7D&tags=x&tags=y');
  });

  it('are multipart forms with files', async () => {
    const { body, headers } = await requestOf('upload', {
      body: {
        title: 'A\r\nB',
        meta: { r: 1 },
        file: { name: '../a"b.png', type: 'image/png', base64: Buffer.from([1, 255]).toString('base64') },
        more: ['one', 'two'],
      },
    });
    const boundary = /^multipart\/form-data; boundary=(\S+)$/.exec(headers['content-type'] ?? '')?.[1] ?? '';
    const parts = body
      .split(`--${boundary}`)
      .slice(1, -1)
      .map((part) => part.slice(2, -2).split('\r\n\r\n'));
    expect(parts).toEqual([
      [
        'Content-Disposition: form-data; name="file"; filename="a%22b.png"\r\nContent-Type: image/png',
        '\u0001\u00FF',
      ],
      [
        'Content-Disposition: form-data; name="meta"; filename="blob"\r\nContent-Type: application/json',
        '{"r":1}',
      ],
      ['Content-Disposition: form-data; name="more"; filename="file.txt"\r\nContent-Type: text/plain', 'one'],
      ['Content-Disposition: form-data; name="more"; filename="file.txt"\r\nContent-Type: text/plain', 'two'],
      ['Content-Disposition: form-data; name="title"', 'A\r\nB'],
    ]);
  });

  it('may contain run files', async () => {
    const bytes = Buffer.from([0x89, 0x50, 0, 255]);
    const data = `data:image/png;base64,${bytes.toString('base64')}`;
    const input = { files: [{ type: 'file', name: 'loom.png', data }] };
    for (const [toolId, args] of [
      ['shop_upload', '{"body": {"file": <start.files[0]>}}'],
      ['shop_bytes', '{"body": <start.files[0]>}'],
    ] as const) {
      const { shop, run } = await startToolRun({ toolId, arguments: args }, { input });
      expect(await run.result()).toMatchObject({ status: 'completed' });
      expect(shop.requests[0]?.body).toContain(bytes.toString('latin1'));
      if (toolId === 'shop_upload')
        expect(shop.requests[0]?.body).toContain(
          'name="file"; filename="loom.png"\r\nContent-Type: image/png',
        );
    }
  });

  it('are plain text or bytes', async () => {
    const textRequest = await requestOf('text', { body: 'grüße' });
    expect([textRequest.headers['content-type'], Buffer.from(textRequest.body, 'latin1').toString()]).toEqual(
      ['text/plain', 'grüße'],
    );
    const bytesRequest = await requestOf('bytes', { body: { base64: 'AP8=' } });
    expect([bytesRequest.headers['content-type'], bytesRequest.body]).toEqual([
      'application/octet-stream',
      '\u0000\u00FF',
    ]);
  });
});

describe('credentials of imported operations', () => {
  it.each<[string, (request: ReceivedRequest) => unknown, unknown]>([
    ['keyHeader', ({ headers }) => headers['x-api-key'], KEY],
    ['keyQuery', ({ url }) => url, `/v1/keys/query?api_key=${KEY}`],
    ['keyCookie', ({ headers }) => headers.cookie, `sid=${KEY}`],
    [
      'keyBasic',
      ({ headers }) => headers.authorization,
      `Basic ${Buffer.from(`${KEY}:`).toString('base64')}`,
    ],
    ['keyOauth', ({ headers }) => headers.authorization, `Bearer ${KEY}`],
    ['keyNone', ({ headers }) => headers.authorization, undefined],
    ['keyOptional', ({ headers }) => headers.authorization, `Bearer ${KEY}`],
  ])('are sent as described in the document: %s', async (toolId, readCredential, expected) => {
    expect(readCredential(await requestOf(toolId, {}))).toEqual(expected);
  });

  it('with two keys are a JSON object that contains both', async () => {
    const credentials = { shop: '{"header": "first-key", "query": "second-key"}' };
    const { url, headers } = await requestOf('keyBoth', {}, { engineOptions: { credentials } });
    expect([url, headers['x-api-key']]).toEqual(['/v1/keys/both?api_key=second-key', 'first-key']);
    const { result, receivedRequests } = await call('keyBoth', {});
    expect(result.error?.message).toContain('must be a JSON object with 2 strings, one of them "header"');
    expect(JSON.stringify(result)).not.toContain(KEY);
    expect(receivedRequests).toHaveLength(0);
  });

  it('can be stored credentials of the tenant, by id or by service', async () => {
    const tenantCredentials: EngineOptions['tenantCredentials'] = {
      find: (_tenant, query) => {
        const isMatch =
          'id' in query ? query.id === 'c1' : query.provider === 'shop' && query.type === 'api_key';
        const secret = 'id' in query ? 'key-by-id' : 'key-by-service';
        return isMatch ? { id: 'c1', type: 'api_key', provider: 'shop', name: 'Ours', secret } : undefined;
      },
    };
    const engineOptions = { credentials: {}, tenantCredentials };
    expect((await requestOf('keyOauth', {}, { engineOptions })).headers.authorization).toBe(
      'Bearer key-by-service',
    );
    const { shop, run } = await startToolRun(
      { toolId: 'shop_keyOauth', credential: 'c1' },
      { engineOptions },
    );
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(shop.requests[0]?.headers.authorization).toBe('Bearer key-by-id');
    const otherRun = await startToolRun({ toolId: 'shop_keyOauth', credential: 'c2' }, { engineOptions });
    expect(await otherRun.run.result()).toMatchObject({
      status: 'failed',
      error: { code: 'CREDENTIAL_UNKNOWN' },
    });
    expect(otherRun.shop.requests).toHaveLength(0);
  });

  it('are required unless the document makes them optional', async () => {
    const engineOptions = { credentials: {} };
    const { result } = await call('keyOauth', {}, { engineOptions });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'CREDENTIAL_UNKNOWN' } });
    expect(result.error?.message).toContain('--credential shop=VALUE');
    expect((await requestOf('keyOptional', {}, { engineOptions })).headers.authorization).toBeUndefined();
  });

  it('are not sent to another server of the same service', async () => {
    const { result, receivedRequests } = await call('files', {});
    expect(result).toMatchObject({ status: 'failed', error: { code: 'CREDENTIAL_UNKNOWN' } });
    expect(result.error?.message).toContain('--credential shop:files.shop.test=VALUE');
    expect(receivedRequests).toHaveLength(0);
    const credentials = { 'shop:files.shop.test': 'key-of-the-files' };
    const { url, headers } = await requestOf('files', {}, { engineOptions: { credentials } });
    expect([url, headers.authorization]).toEqual(['/files', 'Bearer key-of-the-files']);
  });

  it('are redacted in responses that repeat them, and in errors', async () => {
    const respond = ({ headers, url }: ReceivedRequest): ShopResponse => ({
      status: url.includes('basic') ? 403 : 200,
      body: JSON.stringify({ headers, url }),
    });
    for (const toolId of ['keyHeader', 'keyQuery', 'keyBasic']) {
      const { result, receivedRequests } = await call(toolId, {}, { respond });
      expect(receivedRequests).toHaveLength(1);
      expect(JSON.stringify(result)).not.toContain(KEY);
      expect(JSON.stringify(result)).not.toContain(Buffer.from(`${KEY}:`).toString('base64'));
      expect(JSON.stringify(result)).toContain('redacted');
    }
  });
});

describe('responses of services', () => {
  it('are output as JSON, text or bytes', async () => {
    const dataFor = async (response: ShopResponse): Promise<unknown> =>
      ((await call('keyNone', {}, { respond: () => response })).result.output as JsonObject)['data'];
    expect(await dataFor({ body: '[1, {"a": null}]' })).toEqual([1, { a: null }]);
    expect(await dataFor({ body: '{broken' })).toBe('{broken');
    expect(await dataFor({ headers: { 'content-type': 'text/plain' }, body: '12' })).toBe('12');
    expect(await dataFor({ status: 204, body: '' })).toBeNull();
    expect(
      await dataFor({ headers: { 'content-type': 'image/png' }, body: new Uint8Array([0, 255]) }),
    ).toEqual({
      type: 'image/png',
      size: 2,
      base64: 'AP8=',
    });
  });

  it('with an error status fail the block; the error contains the status and the reason, but not the query', async () => {
    const { result, receivedRequests } = await call(
      'keyQuery',
      {},
      { respond: () => ({ status: 422, body: '{"why": "no"}' }) },
    );
    expect(result).toMatchObject({ status: 'failed', error: { code: 'HTTP_FAILED' } });
    expect(result.error?.message).toMatch(
      /GET http:\/\/127\.0\.0\.1:\d+\/v1\/keys\/query responded with 422: \{"why":"no"\}/,
    );
    expect(receivedRequests).toHaveLength(1);
  });

  it('with Retry-After are followed by a retry, unless the retry could repeat an effect', async () => {
    const clock = new TestClock();
    const respondBusyOnce = (status: number) => {
      let count = 0;
      return (): ShopResponse => (count++ === 0 ? { status, headers: { 'retry-after': '7' } } : {});
    };
    for (const [toolId, status] of [
      ['keyNone', 503],
      ['form', 429],
      ['createOrder', 503],
    ] as const) {
      const { shop, run } = await startToolRun(
        {
          toolId: `shop_${toolId}`,
          arguments: toolId === 'createOrder' ? { body: { article: 'lamp' } } : {},
        },
        { respond: respondBusyOnce(status), engineOptions: { clock, credentials: { shop: KEY } } },
      );
      await clock.waitForTimer(7000);
      clock.advance(7000);
      expect(await run.result()).toMatchObject({ status: 'completed' });
      expect(shop.requests).toHaveLength(2);
      const [firstKey, secondKey] = shop.requests.map(({ headers }) => headers['idempotency-key']);
      expect(secondKey).toBe(firstKey);
    }
    const { result, receivedRequests } = await call('form', {}, { respond: respondBusyOnce(503) });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'HTTP_FAILED' } });
    expect(receivedRequests).toHaveLength(1);
  });
});

describe('a tool block', () => {
  it('fails if the tool is unknown, the arguments are invalid, or the base URL is missing', async () => {
    const { result } = await call('nothing', {});
    expect(result.error).toMatchObject({ code: 'TOOL_UNKNOWN' });
    const { run } = await startToolRun({ toolId: 'shop_getOrder', arguments: {} }, {});
    expect((await run.result()).error).toMatchObject({ code: 'TOOL_ARGUMENTS_INVALID' });
    const fileWithoutUrl = { ...file, services: { ...file.services, shop: { title: 'Shop' } } };
    const { result: resultWithoutUrl } = await call(
      'keyNone',
      {},
      { toolFile: fileWithoutUrl, engineOptions: { services: {} } },
    );
    expect(resultWithoutUrl.error).toMatchObject({ code: 'TOOL_ADDRESS_MISSING' });
    expect(resultWithoutUrl.error?.message).toContain('--service shop=URL');
  });

  it('refuses a base URL of the document that the egress policy does not allow', async () => {
    const fileWithLocalUrl = {
      ...file,
      services: { ...file.services, shop: { title: 'Shop', address: 'http://127.0.0.1:80' } },
    };
    const { result, receivedRequests } = await call(
      'keyNone',
      {},
      { toolFile: fileWithLocalUrl, engineOptions: { services: {} } },
    );
    expect(result.error).toMatchObject({ code: 'HTTP_FAILED' });
    expect(result.error?.message).toContain('is a private address');
    expect(receivedRequests).toHaveLength(0);
    expect(file.services['shop']?.address).toBe('https://eu.shop.test/v1');
  });
});
