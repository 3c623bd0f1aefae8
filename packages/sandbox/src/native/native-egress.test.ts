import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setUpNativeImages } from '../../../../test/support/native-images.ts';

const nativeSetup = await setUpNativeImages();
const { python, createNativeSandbox, runForValue } = nativeSetup;

afterAll(() => nativeSetup.close());

const OPTIONS = { timeout: 120_000 };

describe.skipIf(python === undefined)('the network access of a native image', OPTIONS, () => {
  let server: Server;
  let port = 0;
  const permissiveSandbox = createNativeSandbox({ egress: { allowPrivate: true, ports: 'any' } });

  beforeAll(async () => {
    server = createServer((request, response) => {
      response.setHeader('x-host', request.headers.host ?? '');
      response.end(`got ${request.method} ${request.url}`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });

  afterAll(async () => {
    server.close();
    await permissiveSandbox.close();
  });

  it.each([
    ['requests', 'curl -sS -m 20 --fail http://127.0.0.1:PORT/a?b=1', 'got GET /a?b=1'],
    ['requests with a body', 'curl -sS -m 20 --fail -d x=1 http://127.0.0.1:PORT/', 'got POST /'],
    ['tunnels', 'curl -sS -m 20 --fail -p http://127.0.0.1:PORT/t', 'got GET /t'],
  ])('allows %s under the policy', async (_description, code, expected) => {
    const script = `echo "__HEDDLE_RESULT__=$(${code.replace('PORT', String(port))})"`;
    expect(await runForValue({ code: script }, permissiveSandbox)).toBe(expected);
  });

  it('also serves fetch in JavaScript', async () => {
    const code = `return await (await fetch('http://127.0.0.1:${port}/js')).text()`;
    expect(await runForValue({ language: 'javascript', code }, permissiveSandbox)).toBe('got GET /js');
  });

  it('has a limit on requests', async () => {
    const code = `for i in 1 2 3; do curl -s -m 20 -o /dev/null -w '%{http_code} ' http://127.0.0.1:${port}/; done | sed s/^/__HEDDLE_RESULT__=/`;
    expect(await runForValue({ code, limits: { hostCalls: 2 } }, permissiveSandbox)).toBe('200 200 429 ');
  });

  it('has no tunnels if the host replaces fetch', async () => {
    const customFetchSandbox = createNativeSandbox({
      fetch: async ({ url }) => ({
        status: 200,
        statusText: 'OK',
        url,
        redirected: false,
        headers: [],
        body: Buffer.from('mine'),
      }),
    });
    const code =
      'echo "__HEDDLE_RESULT__=$(curl -sS http://example.com/) $(curl -s -o /dev/null -w "%{http_connect}" https://example.com/)"';
    expect(await runForValue({ code }, customFetchSandbox)).toBe('mine 403');
    await customFetchSandbox.close();
  });
});
