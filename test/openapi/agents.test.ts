import { blocks, importOpenApi } from '@heddle/blocks';
import type { ToolFile } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import type { ModelResponse } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';
import { SHOP, startShop } from './shop.ts';
import type { ReceivedRequest, ShopResponse } from './shop.ts';

const { file } = await importOpenApi(SHOP, { name: 'shop' });
const KEY = 'key-of-the-shop';

/** A tool call in the output of the agent. */
interface ToolCallRecord {
  name: string;
  arguments: JsonObject;
  result: JsonObject | string;
  success: boolean;
}

/** A tool in the request to the model. */
interface ToolDefinition {
  name: string;
  description: string;
  parameters: JsonObject;
}

/** A tool call in a response of the model. */
type ModelToolCall = NonNullable<ModelResponse['toolCalls']>[number];

/** Runs an agent with these tools. Each response of the model calls the tools of one round; the last one is text. */
async function runAgent(
  tools: JsonObject[],
  rounds: readonly ModelToolCall[][],
  {
    respond,
    toolFile = file,
  }: { respond?: (request: ReceivedRequest) => ShopResponse; toolFile?: ToolFile } = {},
) {
  const shop = await startShop(respond);
  const modelServer = await startModelServer(({ number }) => {
    const calls = rounds[number - 1];
    return calls ? { toolCalls: calls } : { text: 'Done.' };
  });
  onTestFinished(async () => {
    await Promise.all([shop.close(), modelServer.close()]);
  });
  const engine = await createEngine({
    blocks: blocks({ toolFiles: [toolFile] }),
    services: { ...modelServer.services, shop: shop.url },
    credentials: { openai: 'key-of-openai', shop: KEY },
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const agent = block('A', 'agent', {
    messages: [{ role: 'user', content: 'Order a lamp.' }],
    model: 'gpt-4o',
    tools,
  });
  const result = await engine.execute({ workflow: workflow([agent], ['Start -> A']) });
  const { toolCalls } = (result.output ?? {}) as { toolCalls?: { list: ToolCallRecord[] } };
  const offeredTools = (modelServer.requests[0]?.body['tools'] ?? []) as unknown as ToolDefinition[];
  return { result, calls: toolCalls?.list ?? [], receivedRequests: shop.requests, offeredTools, modelServer };
}

/** Returns the operations in the result of a search. */
function operationsFoundBy(search: ToolCallRecord | undefined): JsonObject[] {
  return ((search?.result ?? {}) as { operations?: JsonObject[] }).operations ?? [];
}

const SERVICE_TOOL = { type: 'service', toolId: 'shop' };

describe('an agent with single operations of a service as tools', () => {
  it('calls an operation with arguments of the model and of the author', async () => {
    const tool = { type: 'shop', toolId: 'shop_listOrders', params: { state: 'open' } };
    const { calls, receivedRequests, offeredTools } = await runAgent(
      [tool],
      [[{ name: 'shop_listOrders', args: { query_id: '7' } }]],
    );
    expect(offeredTools).toMatchObject([{ name: 'shop_listOrders', description: 'List orders' }]);
    // The model cannot set arguments that the author has set.
    expect(Object.keys(offeredTools[0]?.parameters['properties'] as JsonObject)).toEqual(['id']);
    expect(calls).toMatchObject([{ success: false }]);
    expect(receivedRequests).toHaveLength(0);
    const secondRun = await runAgent([tool], [[{ name: 'shop_listOrders', args: { id: '7' } }]]);
    expect(secondRun.calls).toMatchObject([{ result: { ok: true }, success: true }]);
    expect(secondRun.receivedRequests[0]?.url).toBe('/orders?state=open&id=7');
  });

  it('omits optional arguments that are null, and refuses null for required arguments', async () => {
    const toolNames = { list: 'shop_listOrders', get: 'shop_getOrder' };
    const { calls, receivedRequests } = await runAgent(
      [{ type: toolNames.list }, { type: toolNames.get }],
      [
        [
          { name: toolNames.list, args: { state: null, query_id: null, id: 'a' } },
          { name: toolNames.list, args: { state: null, id: 'a' } },
          { name: toolNames.get, args: { id: null } },
        ],
      ],
    );
    expect(calls.map(({ success }) => success)).toEqual([false, true, false]);
    expect(receivedRequests.map(({ url }) => url)).toEqual(['/orders?id=a']);
  });

  it('refuses a value of the model for an argument that the author has set', async () => {
    const tool = { type: 'shop_getOrder', params: { id: 'mine' } };
    const { calls, receivedRequests } = await runAgent(
      [tool],
      [[{ name: 'shop_getOrder', args: { id: 'other' } }]],
    );
    expect(calls).toMatchObject([{ success: false }]);
    expect(receivedRequests).toHaveLength(0);
    const secondRun = await runAgent([tool], [[{ name: 'shop_getOrder', args: {} }]]);
    expect(secondRun.receivedRequests[0]?.url).toBe('/orders/mine');
  });

  it('gets the reason of a failed call, without the API key', async () => {
    const respond = ({ headers }: ReceivedRequest): ShopResponse => ({
      status: 409,
      body: JSON.stringify({ error: 'sold out', authorization: headers.authorization ?? null }),
    });
    const { result, calls, modelServer } = await runAgent(
      [{ type: 'shop_createOrder' }],
      [[{ name: 'shop_createOrder', args: { body: { article: 'lamp' } } }]],
      { respond },
    );
    expect(result).toMatchObject({ status: 'completed', output: { content: 'Done.' } });
    expect(calls[0]?.result).toContain('sold out');
    expect(JSON.stringify(result)).not.toContain(KEY);
    expect(JSON.stringify(modelServer.requests.map(({ body }) => body))).not.toContain(KEY);
  });
});

describe('an agent with a whole service as a tool', () => {
  it('has tool definitions of less than 1,500 characters, even for 1,000 operations', async () => {
    const paths = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index): [string, JsonObject] => [
        `/things/${index}/{id}`,
        {
          post: {
            operationId: `changeThing${index}`,
            summary: `Change the thing number ${index}`,
            description: 'x'.repeat(300),
            requestBody: {
              content: { 'application/json': { schema: { $ref: '#/components/schemas/Order' } } },
            },
            security: [],
            responses: {},
          },
        },
      ]),
    );
    const largeFile = (await importOpenApi({ ...SHOP, paths }, { name: 'shop' })).file;
    expect(largeFile.tools).toHaveLength(1000);
    const { offeredTools, calls, receivedRequests } = await runAgent(
      [SERVICE_TOOL],
      [
        [{ name: 'shop_search', args: { query: 'change thing 777' } }],
        [{ name: 'shop_call', args: { operation: 'shop_changeThing777', arguments: { id: 'a' } } }],
      ],
      { toolFile: largeFile },
    );
    expect(JSON.stringify(offeredTools).length).toBeLessThan(1500);
    const [search, call] = calls;
    expect(operationsFoundBy(search)).toHaveLength(10);
    expect(operationsFoundBy(search)[0]).toMatchObject({ name: 'shop_changeThing777' });
    expect((search?.result ?? {}) as JsonObject).toHaveProperty(
      'note',
      expect.stringMatching(/^\d+ more match/),
    );
    expect(JSON.stringify(search?.result).length).toBeLessThan(25_000);
    expect(call).toMatchObject({ success: true });
    expect(receivedRequests).toMatchObject([{ method: 'POST', url: '/things/777/a' }]);
  });

  it('has two tools: one searches operations, one calls them', async () => {
    const { offeredTools } = await runAgent([SERVICE_TOOL], []);
    expect(offeredTools.map(({ name }) => name)).toEqual(['shop_search', 'shop_call']);
    expect(JSON.stringify(offeredTools).length).toBeLessThan(1500);
  });

  it('finds an operation by keywords, and calls it', async () => {
    const { calls, receivedRequests } = await runAgent(
      [SERVICE_TOOL],
      [
        [{ name: 'shop_search', args: { query: 'place an order' } }],
        [
          {
            name: 'shop_call',
            args: { operation: 'shop_createOrder', arguments: { body: { article: 'lamp' } } },
          },
        ],
      ],
    );
    const [search, call] = calls;
    const operations = operationsFoundBy(search);
    expect(operations[0]).toMatchObject({
      name: 'shop_createOrder',
      description: 'Create an order\nPlaces an order for articles.',
      arguments: { properties: { body: { $ref: '#/$defs/Order' } }, required: ['body'] },
    });
    expect(operations.length).toBeLessThanOrEqual(10);
    expect(call).toMatchObject({ result: { ok: true }, success: true });
    expect(receivedRequests).toMatchObject([{ method: 'POST', url: '/orders', body: '{"article":"lamp"}' }]);
  });

  it('can be restricted to operations with given tags or names, or to read-only operations', async () => {
    const createCalls = (operation: string, args: JsonObject = {}): ModelToolCall[] => [
      { name: 'shop_call', args: { operation, arguments: args } },
    ];
    const readOnlyOrdersTool = { ...SERVICE_TOOL, params: { tags: ['orders'], readOnly: true } };
    const firstRun = await runAgent(
      [readOnlyOrdersTool],
      [
        [{ name: 'shop_search', args: { query: 'order' } }],
        createCalls('shop_deleteOrder', { id: '1' }),
        createCalls('shop_keyNone'),
        createCalls('shop_getOrder', { id: '1' }),
      ],
    );
    const foundNames = operationsFoundBy(firstRun.calls[0]).map(({ name }) => name);
    expect(new Set(foundNames)).toEqual(new Set(['shop_getOrder', 'shop_listOrders']));
    expect(firstRun.calls.map(({ success }) => success)).toEqual([true, false, false, true]);
    expect(firstRun.calls[1]?.result).toBe(
      'There is no operation "shop_deleteOrder" here. Find one with shop_search.',
    );
    expect(firstRun.receivedRequests).toMatchObject([{ method: 'GET', url: '/orders/1' }]);
    const keyOperationsTool = { ...SERVICE_TOOL, params: { operations: 'shop_key*' } };
    const secondRun = await runAgent(
      [keyOperationsTool],
      [createCalls('shop_getOrder', { id: '1' }), createCalls('shop_keyNone')],
    );
    expect(secondRun.calls.map(({ success }) => success)).toEqual([false, true]);
    const thirdRun = await runAgent([{ ...SERVICE_TOOL, params: { tags: ['nothing'] } }], []);
    expect(thirdRun.result).toMatchObject({ status: 'failed', error: { code: 'BLOCK_CONFIG_INVALID' } });
  });

  it('checks arguments against the schema of the operation', async () => {
    const args = { operation: 'shop_createOrder', arguments: { body: { count: 1 } } };
    const { calls, receivedRequests } = await runAgent([SERVICE_TOOL], [[{ name: 'shop_call', args }]]);
    expect(calls[0]?.result).toMatch(/^The arguments do not match the schema: .*article/);
    expect(receivedRequests).toHaveLength(0);
  });
});

/** Hostile arguments of a model, for which no request may be sent. */
const ATTACKS: [title: string, operation: string, args: JsonObject][] = [
  ['a path with ..', 'getOrder', { id: '..' }],
  ['a path with .', 'getOrder', { id: '.' }],
  ['an empty segment', 'getOrder', { id: '' }],
  ['a list in a path', 'getOrder', { id: ['..', '..'] }],
  ['an unknown argument', 'getOrder', { id: '1', url: 'http://169.254.169.254/' }],
  ['another host', 'getOrder', { id: '1', host: 'evil.test', address: 'http://evil.test' }],
  ['a header that is not an argument', 'headers', { Authorization: 'Bearer mine', Host: 'evil.test' }],
  ['a line break in a header', 'headers', { 'X-Text': 'a\r\nAuthorization: Bearer mine' }],
  ['a line break in a list of a header', 'headers', { 'X-List': ['a', 'b\nHost: evil.test'] }],
  ['a credential of another tenant', 'getOrder', { id: '1', credential: 'c2' }],
  ['the key of the service', 'keyQuery', { api_key: 'mine' }],
  ['the key in a spread object', 'keyQuery', { free: { api_key: 'mine' } }],
  ['prototype keys', 'getOrder', JSON.parse('{"__proto__": {"id": "1"}}') as JsonObject],
];

describe('hostile arguments of a model', () => {
  it.each(ATTACKS)('are refused before a request is sent: %s', async (_title, operation, args) => {
    const { calls, receivedRequests } = await runAgent(
      [SERVICE_TOOL],
      [[{ name: 'shop_call', args: { operation: `shop_${operation}`, arguments: args } }]],
    );
    expect(calls).toMatchObject([{ success: false }]);
    expect(receivedRequests).toHaveLength(0);
  });

  it.each<[title: string, operation: string, args: JsonObject, url: string]>([
    ['slashes', 'getOrder', { id: '../../admin' }, '/orders/..%2F..%2Fadmin'],
    ['a query', 'getOrder', { id: '1?admin=1#x' }, '/orders/1%3Fadmin%3D1%23x'],
    ['an encoded dot', 'getOrder', { id: '%2e%2e' }, '/orders/%252e%252e'],
    ['backslashes', 'getOrder', { id: '..\\..\\admin' }, '/orders/..%5C..%5Cadmin'],
    ['another host', 'getOrder', { id: '@evil.test' }, '/orders/%40evil.test'],
    ['more parameters', 'listOrders', { id: '1&state=sent' }, '/orders?id=1%26state%3Dsent'],
    ['more cookies', 'headers', { session: 'a; sid=mine' }, '/headers'],
  ])('are encoded, and change no other part of the request: %s', async (_title, operation, args, url) => {
    const { calls, receivedRequests } = await runAgent(
      [SERVICE_TOOL],
      [[{ name: 'shop_call', args: { operation: `shop_${operation}`, arguments: args } }]],
    );
    expect(calls).toMatchObject([{ success: true }]);
    expect(receivedRequests).toMatchObject([{ url }]);
    expect(receivedRequests[0]?.headers.cookie ?? 'session=a%3B%20sid%3Dmine').toBe(
      'session=a%3B%20sid%3Dmine',
    );
    expect(receivedRequests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  });

  it('give no access to a file that does not belong to the run', async () => {
    const record = { id: 'f1', name: 'a.png', size: 1, type: 'image/png', key: `sha256:${'0'.repeat(64)}` };
    const { calls, receivedRequests } = await runAgent(
      [SERVICE_TOOL],
      [[{ name: 'shop_call', args: { operation: 'shop_bytes', arguments: { body: record } } }]],
    );
    expect(calls[0]?.result).toContain('is not a file of this run');
    expect(receivedRequests).toHaveLength(0);
  });
});
