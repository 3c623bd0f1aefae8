import { openServiceStore } from '@heddle/service';
import { createEngine } from '@heddle/engine';
import { beforeAll, describe, expect, it } from 'vitest';
import type { AnyOperation } from '../../packages/api/src/operation.ts';
import { SERVED_OPERATIONS } from '../support/served-operations.ts';
import { tenantOptionsOf, createTestApi } from '../support/api.ts';
import type { ParsedResponse, TestApi } from '../support/api.ts';
import { waitForStatus } from '../support/api-workflows.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';
import { block, workflow } from '../support/workflow.ts';
import { createAcceptedCalls } from './accepted-calls.ts';
import type { AcceptedCall } from './accepted-calls.ts';

/** Strings with NUL or with a lone surrogate, which not every database can store. */
const HOSTILE_STRINGS = ['a\0b', 'a\uD800b', '\uDC00'];
/** Words that appear only in messages of a driver or a database. */
const INTERNAL_WORDS = /postgres|sqlite|sqlstate|invalid byte|out of range for|constraint|127\.0\.0\.1|utf8/i;

/** A workflow that responds with its input. */
const ECHO = workflow(
  [block('Reply', 'response', { dataMode: 'json', data: '<start.text>' })],
  ['Start -> Reply'],
  { inputFormat: [{ name: 'text', type: 'string', value: '' }] },
);

async function openMemoryApi(): Promise<TestApi> {
  return createTestApi();
}

async function openPostgresApi(): Promise<TestApi> {
  const url = await createPostgresDatabase();
  const store = await openServiceStore({ postgres: { url }, secret: 'a secret for the tests of this file' });
  const engine = await createEngine({ postgres: { url }, ...tenantOptionsOf(store) });
  return createTestApi({ engine, store });
}

describe.each(storesToTest('hostile input'))('hostile input on %s', (storeName) => {
  defineTests(storeName === 'sqlite' ? openMemoryApi : openPostgresApi);
});

function defineTests(open: () => Promise<TestApi>): void {
  let api: TestApi;
  let calls: { [call: string]: AcceptedCall };

  beforeAll(async () => {
    api = await open();
    calls = await createAcceptedCalls(api);
  }, 60_000);

  function expectRefused({ status, body }: ParsedResponse<unknown>): void {
    expect([status, body]).toEqual([expect.toSatisfy((code: number) => code === 400 || code === 404), body]);
    expect(JSON.stringify(body)).not.toMatch(INTERNAL_WORDS);
    expect(api.reportedErrors).toEqual([]);
  }

  function acceptedCallOf({ method, path }: AnyOperation): AcceptedCall {
    const acceptedCall = calls[`${method} ${path}`];
    if (!acceptedCall) throw new Error(`There is no accepted request for ${method} ${path}.`);
    return acceptedCall;
  }

  it.each(SERVED_OPERATIONS.map((operation) => [operation.id, operation] as const))(
    'the path of %s refuses NUL and invalid UTF-8, and the query refuses NUL',
    async (_id, operation) => {
      const { body, ...acceptedParameters } = acceptedCallOf(operation);
      const send = (
        path: AcceptedCall['path'],
        query: { [name: string]: string },
      ): Promise<ParsedResponse<unknown>> => {
        const filledPath = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => path[name] ?? '');
        const search = Object.entries(query).map(([name, value]) => `${name}=${value}`);
        return api.call(operation.method, `${filledPath}?${search.join('&')}`, { body });
      };
      for (const hostileText of ['a%00b', '%ED%A0%80', '%FF']) {
        for (const name of Object.keys(operation.params.shape))
          expectRefused(
            await send({ ...acceptedParameters.path, [name]: hostileText }, acceptedParameters.query ?? {}),
          );
        for (const name of Object.keys(operation.query.shape)) {
          const response = await send(acceptedParameters.path, {
            ...acceptedParameters.query,
            [name]: hostileText,
          });
          // Invalid UTF-8 is read as the replacement character, which is valid.
          if (hostileText === 'a%00b') expectRefused(response);
          else expect(response.status).toBeLessThan(500);
        }
      }
    },
  );

  it.each([
    ['POST /api/v2/workflows', (text: string) => ({ workspaceId: api.workspaceId, name: text })],
    ['POST /api/v2/workflows', (text: string) => ({ workspaceId: text, name: 'n' })],
    [
      'POST /api/v2/workflows',
      (text: string) => ({ workspaceId: api.workspaceId, name: 'n', description: text }),
    ],
    ['POST /api/v2/workflows/{workflowId}/deploy', (text: string) => ({ name: text })],
    ['POST /api/v2/workflows/{workflowId}/deploy', (text: string) => ({ description: text })],
    ['POST /api/v2/workflows/{workflowId}/execute', (text: string) => ({ selectedOutputs: [text] })],
    ['POST /api/v2/workflows/{workflowId}/execute', (text: string) => ({ stopAfterBlockId: text })],
    [
      'POST /api/v2/workflows/{workflowId}/execute',
      (text: string) => ({ run: { source: 'deployment', entry: { type: 'trigger', blockId: text } } }),
    ],
    [
      'POST /api/v2/workflows/{workflowId}/execute',
      (text: string) => ({
        run: { source: 'manual', entry: { type: 'block', blockId: 'x', sourceRunId: text } },
      }),
    ],
    ['POST /api/v2/workflows/{workflowId}/runs/{runId}/resume', (text: string) => ({ contextId: text })],
    [
      'PUT /api/v2/workflows/{workflowId}/state',
      (text: string) => ({ blocks: { [text]: { type: 'function', name: 'F' } }, edges: [] }),
    ],
    [
      'PUT /api/v2/workflows/{workflowId}/state',
      (text: string) => ({ blocks: { f: { type: 'function', name: text } }, edges: [] }),
    ],
    [
      'PUT /api/v2/workflows/{workflowId}/state',
      (text: string) => ({ blocks: {}, edges: [{ id: text, source: 'a', target: 'b' }] }),
    ],
    [
      'PUT /api/v2/workflows/{workflowId}/state',
      (text: string) => ({
        blocks: {},
        edges: [],
        variables: { v: { name: text, type: 'string', value: 1 } },
      }),
    ],
  ])('a name or id with NUL or a lone surrogate is refused in the body of %s', async (title, bodyOf) => {
    const [method = '', path = ''] = title.split(' ');
    const acceptedCall = calls[title];
    const filledPath = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => acceptedCall?.path[name] ?? '');
    for (const text of HOSTILE_STRINGS) {
      const response = await api.call(method, filledPath, { body: bodyOf(text) });
      expectRefused(response);
      expect(response.status).toBe(400);
      expect(response.body).toMatchObject({
        error: { message: expect.stringMatching(/ must not contain NUL or a lone surrogate$/) },
      });
    }
  });

  it('forged cursors are refused', async () => {
    const id = calls['POST /api/v2/workflows/{workflowId}/execute']?.path['workflowId'] ?? '';
    const listPaths = [
      ...['position', 'name', 'createdAt', 'runCount'].map(
        (sortBy) => `/api/v2/workflows?workspaceId=${api.workspaceId}&sortBy=${sortBy}&limit=1`,
      ),
      `/api/v2/workflows/${id}/versions?limit=1`,
      `/api/v2/workflows/${id}/runs?limit=1`,
    ];
    await api.call('POST', `/api/v2/workflows/${id}/deploy`);
    await api.call('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
    for (const listPath of listPaths) {
      const { nextCursor } = (await api.call('GET', listPath)).body as { nextCursor: string };
      const { of } = JSON.parse(Buffer.from(nextCursor, 'base64url').toString()) as { of: string };
      const encodeEngineCursor = (value: unknown): string =>
        Buffer.from(JSON.stringify(value)).toString('base64url');
      const positions = [
        ...[[], ['a\0'], [null, null], [1e300, 'x'], [1.5, 'x'], [4e9, 'x'], [-4e9], [4e9], ['x'], [{}], 7],
        ...[
          [encodeEngineCursor([1e300, 'x'])],
          [encodeEngineCursor([1, 'a\0'])],
          [encodeEngineCursor([1.5, 'a'])],
        ],
        ...[
          [null, 'x'],
          ['a\0', 'x'],
          ['a', 'x\0'],
        ],
      ];
      for (const position of positions) {
        const cursor = Buffer.from(JSON.stringify({ at: position, of })).toString('base64url');
        const response = await api.call('GET', `${listPath}&cursor=${cursor}`);
        expectRefused(response);
      }
    }
  });

  it('NUL and lone surrogates are accepted in values of drafts and inputs, and do not change', async () => {
    const id = await api.deploy(ECHO);
    const path = `/api/v2/workflows/${id}`;
    for (const text of HOSTILE_STRINGS) {
      const { data } = await api.call<{ blocks: { [id: string]: { subBlocks: object } } }>(
        'GET',
        `${path}/state`,
      );
      const variables = { v: { id: 'v', name: 'v', type: 'string', value: text } };
      const [firstBlock] = Object.values(data.blocks);
      if (firstBlock)
        firstBlock.subBlocks = {
          ...firstBlock.subBlocks,
          note: { id: 'note', type: 'long-input', value: text },
        };
      expect(await api.call('PUT', `${path}/state`, { body: { ...data, variables } })).toMatchObject({
        status: 200,
      });
      expect((await api.call('GET', `${path}/state`)).data).toEqual({ ...data, variables });
      expect(await api.call('POST', `${path}/deploy`)).toMatchObject({ status: 200 });
      const body = { input: { text } };
      const response = await api.call<{ runId: string }>('POST', `${path}/execute`, { body });
      expect(response).toMatchObject({ status: 200, data: { status: 'completed', output: { data: text } } });
      const asyncResponse = await api.call<{ runId: string }>('POST', `${path}/execute`, {
        body: { ...body, async: true },
      });
      await waitForStatus(api, `${path}/runs/${asyncResponse.data.runId}`, 'completed');
      for (const { runId } of [response.data, asyncResponse.data])
        expect(await api.call('GET', `${path}/runs/${runId}?includeOutput=true`)).toMatchObject({
          data: { output: { data: text } },
        });
    }
    expect(api.reportedErrors).toEqual([]);
  });

  it('numbers out of range are refused: they would be stored as null', async () => {
    const id = calls['POST /api/v2/workflows/{workflowId}/execute']?.path['workflowId'] ?? '';
    for (const number of ['1e999', '-1e999', `${'9'.repeat(300)}e99`]) {
      const json = `{"input": {"n": [${number}]}}`;
      expect(await api.call('POST', `/api/v2/workflows/${id}/execute`, { rawBody: json })).toMatchObject({
        status: 400,
        body: { error: { message: 'Request body has a number that is out of range' } },
      });
    }
    const json = '{"input": {"n": 1e308, "text": "1e999"}}';
    expect(await api.call('POST', `/api/v2/workflows/${id}/execute`, { rawBody: json })).toMatchObject({
      status: 200,
    });
  });

  it('deep nesting is refused without an internal error', async () => {
    const id = calls['PUT /api/v2/workflows/{workflowId}/state']?.path['workflowId'] ?? '';
    const deepJson = '['.repeat(200_000) + ']'.repeat(200_000);
    const drafts = [
      `{"blocks": {"f": {"type": "function", "name": "F", "subBlocks": {"x": ${deepJson}}}}, "edges": []}`,
      `{"blocks": {}, "edges": [], "metadata": {"x": ${deepJson}}}`,
    ];
    for (const draftJson of drafts)
      expectRefused(await api.call('PUT', `/api/v2/workflows/${id}/state`, { rawBody: draftJson }));
    for (const path of ['/api/v2/workflows', '/api/workflows'])
      expectRefused(
        await api.call('POST', `${path}/${id}/execute`, { rawBody: `{"input": {"x": ${deepJson}}}` }),
      );
  });
}
