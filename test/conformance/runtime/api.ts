import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json, JsonObject } from '@heddle/core';
import type { Engine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TestClock } from '../../support/test-clock.ts';
import { block, fn, loop, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** Starts a server with this handler. Returns its base URL. */
async function startServer(handle: Handler): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => handle(request, response, body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const sendJson = (response: ServerResponse, value: unknown): void =>
  void response.setHeader('content-type', 'application/json').end(JSON.stringify(value));

const tableOf = (pairs: { [name: string]: string }): JsonObject[] =>
  Object.entries(pairs).map(([Key, Value]) => ({ id: Key, cells: { Key, Value } }));

const apiBlock = (fields: JsonObject, options: JsonObject = {}) => block('Call', 'api', fields, options);

/** Defines the tests of blocks that send requests. Rules such as R45 are in docs/semantics.md. */
export function describeApi(makeRuntime: MakeRuntime): void {
  const openEngine = (options = {}): Promise<Engine> =>
    makeRuntime().open({ egress: { allowPrivate: true, ports: [] }, ...options });

  describe('requests', () => {
    it('method, query, headers and body come from the fields with resolved references and placeholders', async () => {
      const url = await startServer(({ method, url: path, headers }, response, body) =>
        sendJson(response, {
          method,
          path,
          key: headers['x-key'] === 'k-secret-1',
          type: headers['content-type'],
          body,
        }),
      );
      const engine = await openEngineFor(url, { env: { KEY: 'k-secret-1' } });
      const fields = {
        url: `${url}/things/<start.id>`,
        method: 'POST',
        params: tableOf({ q: '<start.id>' }),
        headers: tableOf({ 'X-Key': '{{KEY}}' }),
        body: '{"id": <start.id>}',
      };
      const result = await engine.execute(
        { workflow: workflow([apiBlock(fields)], ['Start -> Call']) },
        { id: 7 },
      );
      expect(result.output).toMatchObject({
        status: 200,
        data: {
          method: 'POST',
          path: '/things/7?q=7',
          key: true,
          type: 'application/json',
          body: '{"id": 7}',
        },
      });
      expect(JSON.stringify([result, await engine.getLogs(result.runId)])).not.toContain('k-secret-1');
    });

    it('values do not change the structure of the authored URL and body, and the log shows the sent request (R44, R45)', async () => {
      const url = await startServer(({ url: path }, response, body) => sendJson(response, { path, body }));
      const engine = await openEngineFor(url);
      const fields = {
        url: `${url}/items/<start.id>/x?q=<start.id>`,
        method: 'POST',
        body: '{"id": "<start.id>", "bare": <start.id>, "note": <start.none>}',
      };
      const definition = workflow([apiBlock(fields)], ['Start -> Call'], {
        inputFormat: [
          { name: 'id', type: 'string' },
          { name: 'none', type: 'string' },
        ],
      });
      const id = '../admin?all=1#","role":"admin';
      const result = await engine.execute({ workflow: definition }, { id });
      const encodedId = encodeURIComponent(id);
      const quotedId = JSON.stringify(id);
      const body = `{"id": ${quotedId}, "bare": ${quotedId}, "note": null}`;
      expect(result).toMatchObject({
        status: 'completed',
        output: { data: { path: `/items/${encodedId}/x?q=${encodedId}`, body } },
      });
      const logs = await engine.getLogs(result.runId);
      expect(logs.find(({ blockId }) => blockId === 'Call')?.input).toMatchObject({
        url: `${url}/items/${encodedId}/x?q=${encodedId}`,
        body,
      });
    });

    it('a value that makes a path segment "..", changes the host or adds a line break to a header fails the block before the request (R45)', async () => {
      let requestCount = 0;
      const url = await startServer((_request, response) =>
        sendJson(response, { requestCount: ++requestCount }),
      );
      const engine = await openEngineFor(url);
      const cases: [JsonObject, string][] = [
        [{ url: `${url}/items/<start.id>/x` }, '..'],
        [{ url, headers: tableOf({ 'X-A': '<start.id>' }) }, 'a\r\nX-B: b'],
        [{ url: `${url}<start.id>` }, '.evil.test'],
      ];
      for (const [fields, id] of cases) {
        const definition = workflow([apiBlock(fields)], ['Start -> Call']);
        expect(await engine.execute({ workflow: definition }, { id })).toMatchObject({
          status: 'failed',
          error: { code: 'BLOCK_CONFIG_INVALID' },
        });
      }
      expect(requestCount).toBe(0);
    });

    it('with compat a URL contains values unencoded (R45)', async () => {
      const url = await startServer(({ url: path }, response) => sendJson(response, { path }));
      const engine = await openEngineFor(url);
      const definition = workflow([apiBlock({ url: `${url}/a/<start.id>` })], ['Start -> Call']);
      const result = await engine.execute({ workflow: definition, compat: true }, { id: 'b/c?d=1' });
      expect(result).toMatchObject({ output: { data: { path: '/a/b/c?d=1' } } });
    });

    it.each<[string, Json, string, string | undefined]>([
      ['that looks like JSON is sent as JSON', '{"a": 1}', '{"a": 1}', 'application/json'],
      [
        'that is an object is sent as JSON, values of references with their types',
        { a: [1, '<start.n>'] },
        '{"a":[1,7]}',
        'application/json',
      ],
      ['that is another string is sent as text', 'plain <start.n>', 'plain 7', undefined],
      ['that is null is empty', null, '', undefined],
    ])('a body %s', async (_title, bodyField, sentBody, type) => {
      const url = await startServer(({ headers }, response, body) =>
        sendJson(response, { type: headers['content-type'] ?? null, body }),
      );
      const engine = await openEngineFor(url);
      const definition = workflow([apiBlock({ url, method: 'POST', body: bodyField })], ['Start -> Call']);
      const result = await engine.execute({ workflow: definition }, { n: 7 });
      const expected = type === undefined ? { body: sentBody } : { body: sentBody, type };
      expect(result).toMatchObject({ status: 'completed', output: { data: expected } });
    });

    it('JSON is parsed, text is kept, and later blocks read both', async () => {
      const url = await startServer(({ url: path }, response) =>
        path === '/json'
          ? sendJson(response, { n: [1, 2] })
          : response.setHeader('content-type', 'text/plain').end('{plain'),
      );
      const engine = await openEngineFor(url);
      const definition = workflow(
        [
          block('One', 'api', { url: `${url}/json` }),
          block('Two', 'api', { url: `${url}/text` }),
          fn('Z', 'return [<one.data.n[1]>, <two.data>, <two.status>]'),
        ],
        ['Start -> One -> Two -> Z'],
      );
      expect(await engine.execute({ workflow: definition })).toMatchObject({
        output: { result: [2, '{plain', 200] },
      });
    });

    it('an error status activates the error port, with method, URL and status in the message', async () => {
      const url = await startServer((_request, response) => response.writeHead(404).end('{"why": "gone"}'));
      const engine = await openEngineFor(url);
      const definition = workflow(
        [apiBlock({ url: `${url}/x?token=t0p` }), fn('H', 'return <call.error>')],
        ['Start -> Call', 'Call:error -> H'],
      );
      const { output } = await engine.execute({ workflow: definition });
      const message = (output as { result: string }).result;
      expect(message).toMatch(/^GET http:\/\/127\.0\.0\.1:\d+\/x.*404/);
      expect(message).not.toContain('t0p');
      const failedRun = await engine.execute({ workflow: workflow([apiBlock({ url })], ['Start -> Call']) });
      expect(failedRun).toMatchObject({ status: 'failed', error: { code: 'HTTP_FAILED' } });
    });

    it.each<[string, string, string]>([
      ['that is malformed', 'not a url', 'BLOCK_CONFIG_INVALID'],
      ['of another scheme', 'ftp://example.com/x', 'BLOCK_CONFIG_INVALID'],
      ['without a listening server', 'http://127.0.0.1:9', 'HTTP_FAILED'],
    ])('a URL %s fails the block with the reason', async (_title, url, code) => {
      const engine = await makeRuntime().open({ egress: { allowPrivate: true, ports: [9] } });
      const result = await engine.execute({ workflow: workflow([apiBlock({ url })], ['Start -> Call']) });
      expect(result).toMatchObject({ status: 'failed', error: { code } });
      expect(result.error?.message).toContain(url);
    });

    it('without a URL no request is sent, and the block succeeds', async () => {
      const engine = await openEngine();
      const result = await engine.execute({ workflow: workflow([apiBlock({ url: '' })], ['Start -> Call']) });
      expect(result).toMatchObject({ status: 'completed', output: { data: null } });
    });

    it('private addresses are refused unless the engine allows them', async () => {
      const url = await startServer((_request, response) => sendJson(response, {}));
      const engine = await makeRuntime().open();
      const result = await engine.execute({ workflow: workflow([apiBlock({ url })], ['Start -> Call']) });
      expect(result).toMatchObject({
        status: 'failed',
        error: { code: 'HTTP_FAILED', details: { reason: 'EGRESS_DENIED' } },
      });
    });

    it('the retry policy honours Retry-After', async () => {
      let requestCount = 0;
      const url = await startServer((_request, response) =>
        requestCount++ === 0
          ? response.writeHead(503, { 'retry-after': '30' }).end()
          : sendJson(response, { requestCount }),
      );
      const clock = new TestClock();
      const engine = await openEngineFor(url, { clock });
      const retry = { enabled: true, maxTries: 2, waitBetweenTriesMs: 10 };
      const definition = workflow([apiBlock({ url }, { retry })], ['Start -> Call']);
      const run = await engine.start({ workflow: definition });
      await expect.poll(() => clock.pendingTimerCount).toBeGreaterThan(0);
      await expect.poll(() => requestCount).toBe(1);
      await clock.waitForTimer(30_000);
      clock.advance(30_000);
      expect(await run.result()).toMatchObject({
        status: 'completed',
        output: { data: { requestCount: 2 } },
      });
    });

    it('each iteration of a loop sends its own request, and cancelling the run aborts the open request', async () => {
      const paths: string[] = [];
      let markRequested = (): void => undefined;
      const requestReceived = new Promise<void>((resolve) => (markRequested = resolve));
      const url = await startServer(({ url: path = '' }, response) => {
        paths.push(path);
        if (path === '/1') markRequested();
        else sendJson(response, {});
      });
      const engine = await openEngineFor(url);
      const definition = workflow(
        [loop('L', { loopType: 'for', count: 3 }, apiBlock({ url: `${url}/<loop.index>` }))],
        ['Start -> L -> Call'],
      );
      const run = await engine.start({ workflow: definition });
      await requestReceived;
      await engine.cancel(run.runId);
      expect(await run.result()).toMatchObject({ status: 'cancelled' });
      expect(paths).toEqual(['/0', '/1']);
    });
  });

  function openEngineFor(url: string, options = {}): Promise<Engine> {
    return openEngine({ egress: { allowPrivate: true, ports: [Number(new URL(url).port)] }, ...options });
  }
}
