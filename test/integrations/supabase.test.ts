import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { blocks } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { block, workflow } from '../support/workflow.ts';

type Row = { [column: string]: string | number };
interface ReceivedRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  prefer: string;
}

/**
 * Starts a simulated PostgREST with the table `orders` that supports only the condition `eq`. Returns its rows and
 * requests, and a function that runs a block.
 */
async function startPostgrest(host = '127.0.0.1') {
  const requests: ReceivedRequest[] = [];
  const state = { rows: [1, 2, 3, 4, 5].map((id): Row => ({ id, status: id < 4 ? 'open' : 'done' })) };
  const applyChange = (
    { method, query }: Pick<ReceivedRequest, 'method' | 'query'>,
    body: unknown,
    matches: (row: Row) => boolean,
  ): [number, unknown] => {
    const matchingRows = state.rows.filter(matches);
    if (method === 'PATCH') for (const row of matchingRows) Object.assign(row, body);
    if (method === 'DELETE') state.rows = state.rows.filter((row) => !matches(row));
    if (method !== 'POST') return [200, matchingRows];
    const newRows = [body].flat() as Row[];
    const otherRows = state.rows.filter((row) => !newRows.some(({ id }) => id === row['id']));
    if (otherRows.length < state.rows.length && !query.has('on_conflict'))
      return [409, { code: '23505', message: 'duplicate key value violates unique constraint' }];
    state.rows = [...otherRows, ...newRows];
    return [201, newRows];
  };
  const respond = ({ method, path, query }: ReceivedRequest, body: unknown): [number, unknown] => {
    if (path !== '/rest/v1/orders')
      return [404, { code: 'PGRST205', message: `Could not find the table '${path.slice(9)}'` }];
    const conditions = [...query].filter(([name]) => !['limit', 'offset', 'on_conflict'].includes(name));
    const unknownCondition = conditions.find(([name]) => !['id', 'status'].includes(name));
    if (unknownCondition)
      return [400, { code: '42703', message: `column orders.${unknownCondition[0]} does not exist` }];
    const matches = (row: Row) => conditions.every(([name, value]) => value === `eq.${row[name]}`);
    const matchingRows = state.rows.filter(matches);
    if (method !== 'GET') return applyChange({ method, query }, body, matches);
    const offset = Number(query.get('offset') ?? 0);
    return [200, matchingRows.slice(offset, offset + Number(query.get('limit') ?? 1000))];
  };
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x');
      const prefer = String(request.headers['prefer'] ?? '');
      const receivedRequest = { method: request.method ?? '', path: pathname, query: searchParams, prefer };
      requests.push(receivedRequest);
      const { apikey, authorization } = request.headers;
      const isAuthorized = apikey === 'service-key' && authorization === 'Bearer service-key';
      const [status, body] = isAuthorized
        ? respond(receivedRequest, text === '' ? undefined : JSON.parse(text))
        : [401, { message: 'Invalid API key' }];
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://${host}:${(server.address() as AddressInfo).port}`;
  const engine = await createEngine({ blocks: blocks(), services: { supabase: baseUrl } });
  onTestFinished(async () => {
    await engine.close({ graceMs: 0 });
    server.close();
  });
  const run = (fields: JsonObject) =>
    engine.execute({
      workflow: workflow(
        [block('A', 'supabase', { apiKey: 'service-key', table: 'orders', ...fields })],
        ['Start -> A'],
      ),
    });
  return { state, requests, run };
}

describe('a Supabase block', () => {
  it('reads rows by conditions and page by page', async () => {
    const { run } = await startPostgrest();
    const queryFields = { operation: 'query', filter: 'status=eq.open', limit: '2' };
    expect((await run(queryFields)).output).toEqual({
      data: [
        { id: 1, status: 'open' },
        { id: 2, status: 'open' },
      ],
    });
    expect((await run({ ...queryFields, offset: '2' })).output).toEqual({
      data: [{ id: 3, status: 'open' }],
    });
    expect((await run({ operation: 'get_row', filter: 'id=eq.4' })).output).toEqual({
      data: [{ id: 4, status: 'done' }],
    });
  });

  it('inserts, replaces, changes and deletes rows', async () => {
    const { run, state, requests } = await startPostgrest();
    expect(await run({ operation: 'insert', data: '{"id": 6, "status": "new"}' })).toMatchObject({
      output: { data: [{ id: 6, status: 'new' }] },
    });
    await run({ operation: 'upsert', data: '[{"id": 6, "status": "open"}]', onConflict: 'id' });
    await run({ operation: 'update', filter: 'id=eq.1', data: '{"status": "done"}' });
    await run({ operation: 'delete', filter: 'id=eq.2&status=eq.open' });
    expect(state.rows).toEqual([
      { id: 1, status: 'done' },
      { id: 3, status: 'open' },
      { id: 4, status: 'done' },
      { id: 5, status: 'done' },
      { id: 6, status: 'open' },
    ]);
    expect(requests.map(({ method, prefer }) => `${method} ${prefer}`)).toEqual([
      'POST return=representation',
      'POST resolution=merge-duplicates,return=representation',
      'PATCH return=representation',
      'DELETE return=representation',
    ]);
  });

  it.each(['', ' ', '&', 'select=eq.1', 'limit=eq.1', 'id', 'id=5', 'id=eq.1&id=eq.2', '=eq.1'])(
    'deletes and changes no rows for the invalid filter "%s"',
    async (filter) => {
      const { run, state, requests } = await startPostgrest();
      for (const operation of ['delete', 'update']) {
        const { error } = await run({ operation, filter, data: '{"status": "x"}' });
        expect(error?.code).toMatch(/^(?:BLOCK_CONFIG_INVALID|TOOL_ARGUMENTS_INVALID)$/);
        expect(error?.message).toContain('filter');
      }
      expect([requests.length, state.rows.length]).toEqual([0, 5]);
    },
  );

  it.each<[JsonObject, RegExp]>([
    [{ operation: 'query', table: 'absent' }, /404: Could not find the table 'absent'/],
    [{ operation: 'query', filter: 'colour=eq.red' }, /400: column orders\.colour does not exist/],
    [{ operation: 'insert', data: '{"id": 1}' }, /409: duplicate key value/],
    [{ operation: 'query', apiKey: 'other-key' }, /401: Invalid API key .*does not accept the credential/],
  ])('fails with the message of the service: %j', async (fields, message) => {
    const { run } = await startPostgrest();
    const { error } = await run(fields);
    expect(error?.code).toBe('HTTP_FAILED');
    expect(error?.message).toMatch(message);
  });

  it('is refused without a request if its project is not that of the base URL', async () => {
    const { run, requests } = await startPostgrest();
    for (const projectId of ['other', '127', 'localhost.other', 'http://other/127.0.0.1']) {
      const { error } = await run({ operation: 'query', projectId });
      expect(error?.code).toBe('BLOCK_CONFIG_INVALID');
      expect(error?.message).toContain(
        `has "${projectId}" in "projectId", but this engine uses another host for Supabase`,
      );
    }
    expect(requests).toEqual([]);
    for (const projectId of ['', '127.0.0.1', 'https://127.0.0.1/'])
      expect(await run({ operation: 'query', projectId })).toMatchObject({ status: 'completed' });
  });

  it('accepts a project that is the first label of the host in the base URL', async () => {
    const { run, requests } = await startPostgrest('localhost');
    expect(await run({ operation: 'query', projectId: 'LocalHost' })).toMatchObject({ status: 'completed' });
    expect((await run({ operation: 'query', projectId: 'local' })).error?.code).toBe('BLOCK_CONFIG_INVALID');
    expect(requests).toHaveLength(1);
  });

  it('sends values of conditions unchanged', async () => {
    const { run, requests } = await startPostgrest();
    await run({ operation: 'query', filter: 'status=eq.a+b@example.com%26limit%3D1&id=like.50%' });
    expect([...(requests[0]?.query ?? [])]).toEqual([
      ['status', 'eq.a+b@example.com&limit=1'],
      ['id', 'like.50%'],
    ]);
  });
});
