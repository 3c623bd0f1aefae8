import { createServer } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTestApi } from '../../../../../test/support/api.ts';
import { egressTo, listenOnFreePort } from '../../../../../test/support/call-chain.ts';
import { block, fn, workflow } from '../../../../../test/support/workflow.ts';

const api = await createTestApi();

const headerRows = (headers: { [name: string]: string }) =>
  Object.entries(headers).map(([Key, Value], index) => ({ id: `${index}`, cells: { Key, Value } }));

/** Returns the response of the legacy API for a Response block with these headers. */
async function executeWithHeaders(headers: { [name: string]: string }): Promise<Response> {
  const reply = block('Reply', 'response', {
    dataMode: 'json',
    data: '{"a": 1}',
    status: '201',
    headers: headerRows(headers),
  });
  const id = await api.deploy(workflow([reply], ['Start -> Reply']));
  return api.fetch('POST', `/api/workflows/${id}/execute`, { body: {} });
}

describe('headers of a Response block', () => {
  it('reach the client of the legacy API', async () => {
    const response = await executeWithHeaders({
      ...{ 'X-Own': 'yes', Location: '/there', 'Cache-Control': 'max-age=60', 'Content-Type': 'text/html' },
    });
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({ a: 1 });
    const { headers } = response;
    expect(headers.get('x-own')).toBe('yes');
    expect(headers.get('location')).toBe('/there');
    expect(headers.get('cache-control')).toBe('max-age=60');
    expect(headers.get('content-type')).toBe('text/html');
  });

  const reservedHeaders = {
    ...{
      'Content-Length': '3',
      'Transfer-Encoding': 'chunked',
      Trailer: 'Expires',
      'Content-Encoding': 'gzip',
    },
    ...{ Connection: 'close', 'Keep-Alive': 'timeout=5', Upgrade: 'h2c', 'Proxy-Authenticate': 'Basic' },
    ...{ 'Set-Cookie': 'session=stolen', 'Clear-Site-Data': '"*"' },
    ...{ 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Credentials': 'true' },
    ...{
      'Strict-Transport-Security': 'max-age=0',
      'X-Frame-Options': 'ALLOWALL',
      'Referrer-Policy': 'unsafe-url',
    },
    ...{ 'Service-Worker-Allowed': '/', 'WWW-Authenticate': 'Basic', 'X-RateLimit-Limit': '1' },
    ...{ 'X-Request-Id': 'forged', 'X-Execution-Id': 'forged', 'X-Run-Id': 'forged' },
  };
  it.each(Object.entries(reservedHeaders))(
    'are omitted if reserved for the server: %s',
    async (name, value) => {
      const response = await executeWithHeaders({ [name]: value, 'X-Own': 'yes' });
      expect(response.headers.get('x-own')).toBe('yes');
      expect(response.headers.get(name)).not.toBe(value);
      expect(await response.json()).toEqual({ a: 1 });
    },
  );

  it('cannot make HTML run scripts in this origin', async () => {
    const response = await executeWithHeaders({
      'Content-Type': 'text/html',
      'Content-Security-Policy': "script-src 'unsafe-inline'",
      'X-Content-Type-Options': 'sniff',
    });
    expect(response.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('an output shaped like that of a Response block', () => {
  it('sets neither status nor headers if it comes from an api block', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(201, {
        'set-cookie': 'a=b',
        'x-foreign': 'yes',
        'content-type': 'application/json',
      });
      response.end('{"a": 1}');
    });
    onTestFinished(() => server.close().closeAllConnections());
    const url = await listenOnFreePort(server);
    const egressApi = await createTestApi({ engineOptions: { egress: egressTo(url) } });
    const fetch = block('Fetch', 'api', { url, method: 'GET' });
    const id = await egressApi.deploy(workflow([fetch], ['Start -> Fetch']));
    const response = await egressApi.fetch('POST', `/api/workflows/${id}/execute`, { body: {} });
    expect(response.status).toBe(200);
    expect([response.headers.get('x-foreign'), response.headers.get('set-cookie')]).toEqual([null, null]);
    expect(await response.json()).toMatchObject({ success: true, output: { data: { a: 1 }, status: 201 } });
  });

  it('sets neither status nor headers if it comes from code', async () => {
    const words = fn('Words', 'return { data: 1, status: 418, headers: { "x-own": "yes" } }');
    const id = await api.deploy(workflow([words], ['Start -> Words']));
    const response = await api.fetch('POST', `/api/workflows/${id}/execute`, { body: {} });
    expect([response.status, response.headers.get('x-own')]).toEqual([200, null]);
  });
});
