import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ECHO_WORKFLOW, FILE, FILE_BASE64 } from '../support/api-files.ts';
import { GREETING_WORKFLOW, LONG_WORKFLOW } from '../support/api-workflows.ts';
import type { EchoServer } from '../support/echo-server.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { openIdleConnection, startRunWithForgedHost } from './raw-requests.ts';
import { dataOf, TOKEN } from './service.ts';
import type { ServiceResponse, Service } from './service.ts';

interface Run {
  runId: string;
  status: string;
  output: { [name: string]: unknown };
  error: { message: string } | null;
}

interface Environment {
  service: Service;
  echo: EchoServer;
}

/** Defines the tests of attacks by one workspace, or by an anonymous caller, on another workspace or on the server. */
export function describeAttacks(environment: () => Environment): void {
  const call: Service['call'] = (...args) => environment().service.call(...args);
  const deploy: Service['deploy'] = (...args) => environment().service.deploy(...args);
  const execute = async (
    caller: Parameters<typeof call>[0],
    path: string,
    input: object = {},
    fields: object = {},
  ): Promise<Run> =>
    dataOf(await call(caller, 'POST', `${path}/execute`, { body: { input, ...fields } }), 200);

  describe('isolation of workspaces', () => {
    it('each workspace has its own run ids, and cannot read runs of other workspaces', async () => {
      const adminPath = await deploy(GREETING_WORKFLOW);
      const otherPath = await deploy(GREETING_WORKFLOW, 'otherAdmin');
      const headers = { 'X-Run-Id': 'order-1' };
      const executeWithId = (caller: 'admin' | 'otherAdmin', path: string, name: string) =>
        call(caller, 'POST', `${path}/execute`, { headers, body: { input: { name } } });
      dataOf(await executeWithId('admin', adminPath, 'Ada'), 200);
      dataOf(await executeWithId('otherAdmin', otherPath, 'Eve'), 200);
      for (const [caller, path] of [
        ['admin', adminPath],
        ['otherAdmin', otherPath],
      ] as const)
        expect(await executeWithId(caller, path, 'again')).toMatchObject({ status: 409 });
      const readRun = async (caller: 'admin' | 'otherAdmin', path: string): Promise<Run> =>
        dataOf(await call(caller, 'GET', `${path}/runs/order-1?includeOutput=true`), 200);
      expect(await readRun('admin', adminPath)).toMatchObject({
        runId: 'order-1',
        output: { data: { hello: 'Ada' } },
      });
      expect(await readRun('otherAdmin', otherPath)).toMatchObject({ output: { data: { hello: 'Eve' } } });
      expect(await call('otherAdmin', 'GET', `${adminPath}/runs/order-1`)).toMatchObject({ status: 404 });
    });

    it('the run ids "." and "..", and ids with the format of child run ids, are refused', async () => {
      const path = await deploy(GREETING_WORKFLOW);
      for (const id of ['.', '..', childIdOf('any-run', 'Call')]) {
        const response = await call('admin', 'POST', `${path}/execute`, {
          headers: { 'X-Run-Id': id },
          body: {},
        });
        expect([id, response.status]).toEqual([id, 400]);
      }
    });

    it('a file record gives neither another workspace nor an anonymous caller access to the file', async () => {
      const adminPath = await deploy(ECHO_WORKFLOW);
      const otherPath = await deploy(ECHO_WORKFLOW, 'otherAdmin');
      const publicPath = await deploy(ECHO_WORKFLOW, 'otherAdmin', { isPublic: true });
      const { output } = await execute('admin', adminPath, { doc: [FILE] });
      expect(JSON.stringify(output)).toContain(FILE_BASE64);
      const { doc } = (output as { data: { doc: { base64?: string }[] } }).data;
      const record = { ...doc[0], base64: undefined };
      for (const [caller, path] of [
        ['otherAdmin', otherPath],
        ['anonymous', publicPath],
      ] as const) {
        const run = await execute(caller, path, { doc: [record], any: { copies: [record, record] } });
        expect(JSON.stringify(run)).not.toContain(FILE_BASE64);
      }
      const runWithRecord = await execute('otherAdmin', otherPath, { any: { copies: [record] } });
      const response = await call(
        'otherAdmin',
        'GET',
        `${otherPath}/runs/${runWithRecord.runId}?includeOutput=true&includeFileBase64=true`,
      );
      expect(response.text).not.toContain(FILE_BASE64);
      const { id = '' } = record as { id?: string };
      const downloadPath = `${otherPath}/runs/${runWithRecord.runId}/files/${encodeURIComponent(id)}`;
      expect(await call('otherAdmin', 'GET', downloadPath)).toMatchObject({ status: 404 });
    });

    it('only the oldest workspace can use the environment variables of `heddle serve`', async () => {
      const { echo } = environment();
      const tokenWorkflow = workflow(
        [
          block('Fetch', 'api', {
            url: `${echo.url}/env`,
            method: 'GET',
            headers: [{ id: '1', cells: { Key: 'X-Own', Value: '{{TOKEN}}' } }],
          }),
        ],
        ['Start -> Fetch'],
      );
      const adminRun = await execute('admin', await deploy(tokenWorkflow));
      expect(adminRun.status).toBe('completed');
      const findTokenRequests = () => echo.requests().filter(({ own }) => own === TOKEN);
      expect(findTokenRequests()).toHaveLength(1);
      expect(JSON.stringify(adminRun)).not.toContain(TOKEN);
      const otherPath = await deploy(tokenWorkflow, 'otherAdmin');
      const otherResponse = await call('otherAdmin', 'POST', `${otherPath}/execute`, {
        body: { async: true },
      });
      expect(otherResponse.text).not.toContain(TOKEN);
      const codePath = await deploy(workflow([fn('F', 'return {{TOKEN}}')], ['Start -> F']), 'otherAdmin');
      const codeResponse = await call('otherAdmin', 'POST', `${codePath}/execute`, { body: { async: true } });
      expect(codeResponse.text).not.toContain(TOKEN);
      expect(findTokenRequests()).toHaveLength(1);
    });

    it('another workspace cannot take the id of a child run', async () => {
      const childPath = await deploy(workflow([fn('F', 'return "the child"')], ['Start -> F']));
      const parentPath = await deploy(
        workflow(
          [block('Call', 'workflow', { workflowId: childPath.split('/').at(-1) ?? '' })],
          ['Start -> Call'],
        ),
      );
      const otherPath = await deploy(workflow([fn('F', 'return "forged"')], ['Start -> F']), 'otherAdmin');
      // The id that a child would have if ids were computed without a secret key.
      const guessedId = childIdOf('parent-1', 'Call');
      const claimOptions = { headers: { 'X-Run-Id': guessedId }, body: {} };
      expect(await call('otherAdmin', 'POST', `${otherPath}/execute`, claimOptions)).toMatchObject({
        status: 400,
      });
      const response = await call('admin', 'POST', `${parentPath}/execute`, {
        headers: { 'X-Run-Id': 'parent-1' },
        body: {},
      });
      expect(dataOf<Run>(response, 200)).toMatchObject({ output: { result: { result: 'the child' } } });
    });
  });

  describe('anonymous callers', () => {
    it('get the output of a public workflow, and nothing about its blocks', async () => {
      const definition = workflow(
        [fn('Secretary', 'console.log("private note"); return {told: "yes"}')],
        ['Start -> Secretary'],
      );
      const path = await deploy(definition, 'admin', { isPublic: true });
      const publicResponse = await call('anonymous', 'POST', `${path}/execute`, { body: {} });
      expect(publicResponse.status).toBe(200);
      expect(publicResponse.text).toContain('"told":"yes"');
      expect(publicResponse.text).not.toContain('private note');
      for (const body of [
        { selectedOutputs: ['Secretary'] },
        { selectedOutputs: ['wrong'] },
        { stopAfterBlockId: 'Secretary' },
        { selectedOutputs: ['Secretary'], stream: true },
      ]) {
        const response = await call('anonymous', 'POST', `${path}/execute`, { body });
        expect(response.status).toBe(400);
        expect(response.text).not.toMatch(/Secretary|Start|private note/);
      }
      const legacyResponse = await call('anonymous', 'POST', path.replace('/v2', '') + '/execute', {
        body: { selectedOutputs: ['Secretary'], stream: true },
      });
      expect(legacyResponse.text).not.toContain('private note');
    });

    it('get no internal details of a failure', async () => {
      const definition = workflow(
        [block('Vault', 'api', { url: 'http://10.1.2.3:8200/v1', method: 'GET' })],
        ['Start -> Vault'],
      );
      const path = await deploy(definition, 'admin', { isPublic: true });
      for (const body of [{}, { stream: true }]) {
        const response = await call('anonymous', 'POST', `${path}/execute`, { body });
        expect(response.text).not.toMatch(/10\.1\.2\.3|8200|Vault/);
      }
      const legacyResponse = await call('anonymous', 'POST', `${path.replace('/v2', '')}/execute`, {
        body: {},
      });
      expect(legacyResponse.text).not.toMatch(/10\.1\.2\.3|8200|Vault/);
    });

    it('cannot send an input that exceeds their limits', async () => {
      const path = await deploy(GREETING_WORKFLOW, 'admin', { isPublic: true });
      const raw = `{"input":{"name":[${'0,'.repeat(4_000_000)}0]}}`;
      const response = await call('anonymous', 'POST', `${path}/execute`, { raw });
      expect([400, 413]).toContain(response.status);
    });
  });

  describe('requests that block, break or overload the server', () => {
    it('500 connections that never send a request body do not block executions', async () => {
      const { service } = environment();
      const publicPath = await deploy(GREETING_WORKFLOW, 'otherAdmin', { isPublic: true });
      const sockets = await Promise.all(
        Array.from({ length: 500 }, () => openIdleConnection(service.url, `${publicPath}/execute`)),
      );
      try {
        const adminPath = await deploy(GREETING_WORKFLOW);
        expect(await execute('admin', adminPath, { name: 'Ada' })).toMatchObject({ status: 'completed' });
        expect(await execute('anonymous', publicPath, { name: 'Eve' })).toMatchObject({
          status: 'completed',
        });
      } finally {
        for (const socket of sockets) socket.destroy();
      }
    });

    it('characters that a database cannot store are refused in names, ids, paths and queries, but not in values', async () => {
      const { workspaces } = environment().service;
      const path = await deploy(GREETING_WORKFLOW);
      const workspaceId = workspaces.first;
      const encodeCursor = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const requests: readonly (readonly [method: string, path: string, body?: unknown])[] = [
        ['POST', '/api/v2/workflows', { workspaceId, name: 'a\0b' }],
        ['POST', '/api/v2/workflows', { workspaceId, name: 'a\ud800b' }],
        ['POST', `${path}/deploy`, { name: 'x\0' }],
        ['POST', `${path}/deploy`, { description: '\udc00' }],
        ['GET', '/api/v2/workflows/a%00b'],
        ['GET', `${path}/runs/a%00b`],
        ['GET', `${path}/versions/99999999999999999999`],
        ['GET', `${path}/versions/2147483648`],
        ['POST', `${path}/versions/9007199254740993/activate`, {}],
        ['GET', `/api/v2/workflows?workspaceId=a%00b`],
        ['GET', `${path}/runs?trigger=%00`],
        ['GET', `${path}/runs?startDate=9999999-01-01T00:00:00Z`],
        ['POST', `${path}/execute`, { stopAfterBlockId: 'a\0b' }],
        ['POST', `${path}/execute`, { selectedOutputs: ['a\0b'] }],
        ...[
          {},
          [],
          null,
          'x',
          { at: [{}], of: 'x' },
          { at: ['\0'], of: 'x' },
          { at: [1e308], of: 'x' },
        ].flatMap(
          (value) =>
            [
              ['GET', `/api/v2/workflows?workspaceId=${workspaceId}&cursor=${encodeCursor(value)}`],
              ['GET', `${path}/runs?cursor=${encodeCursor(value)}`],
              ['GET', `${path}/versions?cursor=${encodeCursor(value)}`],
            ] as const,
        ),
      ];
      for (const [method, target, body] of requests) {
        const response = await call('admin', method, target, body === undefined ? {} : { body });
        expect([target, [400, 404].includes(response.status) ? 'refused' : response]).toEqual([
          target,
          'refused',
        ]);
        expectNoInternals(response);
      }
      const name = 'a\0b\ud800\u0001';
      expect(await execute('admin', path, { name })).toMatchObject({ output: { data: { hello: name } } });
      const draft = workflow([fn('F', 'return "\0"', {})], ['Start -> F']);
      await deploy(draft);
    });

    it('a draft with thousands of unknown names does not block other requests', async () => {
      const names = Array.from({ length: 30_000 }, (_, n) => `<Ghost${n}abcdefgh.x>`).join(' ');
      const definition = workflow(
        [
          ...Array.from({ length: 300 }, (_, n) => fn(`Ghast${n}abcdefgh`, 'return 1')),
          block('Words', 'variables', { variables: [{ id: '1', variableName: 'v', value: names }] }),
        ],
        ['Start -> Words'],
      );
      const path = await deploy(GREETING_WORKFLOW);
      const { blocks, edges } = (definition as { state: { blocks: object; edges: object[] } }).state;
      const dryRun = call('admin', 'PUT', `${path}/state?dryRun=true`, { body: { blocks, edges } });
      expect(await call('otherAdmin', 'GET', '/api/v2/meta')).toMatchObject({ status: 200 });
      expect((await dryRun).status).toBeLessThan(500);
    });

    it('URLs in responses have the origin of the server, regardless of the Host header', async () => {
      const { service } = environment();
      const path = await deploy(GREETING_WORKFLOW);
      const statusUrl = await startRunWithForgedHost(service, `${path}/execute`);
      expect(statusUrl.startsWith(`${service.url}/`)).toBe(true);
    });

    it('Response blocks cannot set headers that the server controls', async () => {
      const names = [
        ...['Content-Length', 'Transfer-Encoding', 'Trailer', 'Set-Cookie', 'Connection'],
        ...['Access-Control-Allow-Origin', 'Strict-Transport-Security', 'Content-Security-Policy'],
      ];
      const headerRows = [...names, 'X-Mine'].map((Key, n) => ({
        id: String(n),
        cells: { Key, Value: '1' },
      }));
      const path = await deploy(
        workflow(
          [block('Reply', 'response', { dataMode: 'json', data: '{"a": 1}', headers: headerRows })],
          ['Start -> Reply'],
        ),
      );
      const response = await call('admin', 'POST', `${path.replace('/v2', '')}/execute`, { body: {} });
      expect(response.body).toEqual({ a: 1 });
      expect(response.headers.get('x-mine')).toBe('1');
      for (const name of names.slice(3)) expect([name, response.headers.get(name)]).not.toEqual([name, '1']);
    });
  });

  describe('inputs and runs', () => {
    it('input values cannot change the path, the query parameters or the body fields of a request', async () => {
      const { echo } = environment();
      const path = await deploy(
        workflow(
          [
            block('Send', 'api', {
              url: `${echo.url}/v1/items/<start.id>?q=<start.id>`,
              method: 'POST',
              body: '{"name": "<start.name>", "role": "user"}',
            }),
          ],
          ['Start -> Send'],
          {
            inputFormat: [
              { name: 'id', type: 'string' },
              { name: 'name', type: 'string' },
            ],
          },
        ),
      );
      const name = 'x","role":"admin';
      await execute('admin', path, { id: '../admin/delete?all=1#', name });
      const posts = echo.requests().filter(({ method }) => method === 'POST');
      expect(posts).toHaveLength(1);
      const post = posts[0] ?? { path: '', body: '' };
      const url = new URL(post.path, echo.url);
      expect(url.pathname).toBe('/v1/items/..%2Fadmin%2Fdelete%3Fall%3D1%23');
      expect([...url.searchParams]).toEqual([['q', '../admin/delete?all=1#']]);
      expect(JSON.parse(post.body)).toEqual({ name, role: 'user' });
      const runWithDots = await execute('admin', path, { id: '..', name });
      expect(runWithDots.status).toBe('failed');
      expect(echo.requests().filter(({ method }) => method === 'POST')).toHaveLength(1);
    });

    it('another workspace cannot read or cancel a run', async () => {
      const path = await deploy(LONG_WORKFLOW);
      const acceptedResponse = await call('admin', 'POST', `${path}/execute`, { body: { async: true } });
      const { runId } = dataOf<{ runId: string }>(acceptedResponse, 202);
      for (const caller of ['otherAdmin', 'otherKey'] as const) {
        for (const [method, target] of [
          ['GET', `${path}/runs/${runId}`],
          ['POST', `${path}/runs/${runId}/cancel`],
          ['POST', `${path.replace('/v2', '')}/executions/${runId}/cancel`],
          ['GET', `/api/jobs/${runId}`],
        ] as const)
          expect([target, (await call(caller, method, target)).status]).toEqual([target, 404]);
      }
      expect(await call('admin', 'POST', `${path}/runs/${runId}/cancel`)).toMatchObject({ status: 200 });
    });
  });
}

/** Returns the id of a child, derived without a key from the parent's id, the block and the attempt. */
function childIdOf(parent: string, blockId: string): string {
  const hex = createHash('sha256').update(`${parent}\n${blockId}\n1`).digest('hex');
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

/** Expects that the response reveals nothing about the database. */
function expectNoInternals({ text }: ServiceResponse): void {
  expect(text).not.toMatch(/postgres|sqlite|heddle\.db|api\.db|ECONN|127\.0\.0\.1:|invalid byte|syntax/i);
}
