import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEgress, type IpAddress, type Egress, type EgressPolicy, type EgressRequest } from './index.ts';

const LOOPBACK_ADDRESS: IpAddress = { address: '127.0.0.1', family: 4 };
const requests: {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}[] = [];
let port = 0;

type Responder = (response: ServerResponse) => void;

const respondWithGzip = (text: string): Responder => {
  return (response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(text));
};
const redirectTo = (status: number, location: string): Responder => {
  return (response) => void response.writeHead(status, { location }).end();
};

const responders: Record<string, Responder> = {
  '/loop': redirectTo(302, '/loop'),
  '/big': (response) => void response.end('x'.repeat(100_000)),
  '/bomb': respondWithGzip('x'.repeat(1_000_000)),
  '/gzip': respondWithGzip('packed'),
  '/silent': () => {},
  '/stalls': (response) => void response.writeHead(200).write('first'),
  '/breaks': (response) => {
    response.writeHead(200).write('first', () => response.destroy());
  },
  '/cookies': (response) => void response.writeHead(200, { 'set-cookie': ['a=1', 'b=2'] }).end(),
  '/missing': (response) => void response.writeHead(404).end(),
};

function respond(request: IncomingMessage, response: ServerResponse, body: string): void {
  const { method = '', url = '', headers } = request;
  requests.push({ method, url, headers, body });
  const query = new URLSearchParams(url.slice('/to?'.length));
  const redirect = url.startsWith('/to?')
    ? redirectTo(Number(query.get('status')), query.get('at') ?? '')
    : undefined;
  const responder = redirect ?? responders[url];
  if (responder !== undefined) return responder(response);
  response.writeHead(200, { 'content-type': 'text/plain' }).end(`${method} ${body}`);
}

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
  request.on('end', () => respond(request, response, body));
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const clients: Egress[] = [];
afterAll(() => Promise.all(clients.map((client) => client.close())));

/** Creates a client for which every host is the test server, except those in `addressesByHost`. */
function createClient(policy: EgressPolicy = {}, addressesByHost: Record<string, IpAddress[]> = {}): Egress {
  const egress = createEgress(
    { allowPrivate: ['127.0.0.1/32'], ports: 'any', ...policy },
    async (host) => addressesByHost[host] ?? [LOOPBACK_ADDRESS],
  );
  clients.push(egress);
  return egress;
}

const decodeText = (body: Uint8Array): string => new TextDecoder().decode(body);
const urlOf = (path: string, host = 'ok.test'): string => `http://${host}:${port}${path}`;
const codeOf = (request: Promise<unknown>): Promise<string> =>
  request.then(
    () => 'reached',
    (error: { code: string }) => error.code,
  );
const lastRequest = () => requests.at(-1) as (typeof requests)[number];

async function send(
  request: EgressRequest,
  policy: EgressPolicy = {},
  addressesByHost: Record<string, IpAddress[]> = {},
) {
  return createClient(policy, addressesByHost).fetch(request);
}

describe('the egress client', () => {
  it('sends method, headers and body, and returns status, headers and body', async () => {
    const response = await send({
      url: urlOf('/x?y=1'),
      method: 'post',
      headers: { 'X-A': '1' },
      body: 'hé',
    });
    expect(response).toMatchObject({
      status: 200,
      statusText: 'OK',
      url: urlOf('/x?y=1'),
      redirected: false,
    });
    expect(decodeText(response.body)).toBe('POST hé');
    expect(response.headers).toContainEqual(['content-type', 'text/plain']);
    expect(lastRequest()).toMatchObject({
      method: 'POST',
      url: '/x?y=1',
      body: 'hé',
      headers: { 'x-a': '1', host: `ok.test:${port}` },
    });
  });

  it('returns error statuses as responses', async () => {
    expect(await send({ url: urlOf('/missing') })).toMatchObject({ status: 404, statusText: 'Not Found' });
  });

  it('sends bytes unchanged and repeated headers separately', async () => {
    await send({
      url: urlOf('/'),
      method: 'PUT',
      body: new Uint8Array([0x61, 0x62]),
      headers: [
        ['x-m', '1'],
        ['x-m', '2'],
      ],
    });
    expect(lastRequest()).toMatchObject({ body: 'ab', headers: { 'x-m': '1, 2' } });
    const { headers } = await send({ url: urlOf('/cookies') });
    expect(headers.filter(([name]) => name === 'set-cookie')).toEqual([
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ]);
  });

  it('decompresses responses', async () => {
    const response = await send({ url: urlOf('/gzip') });
    expect(decodeText(response.body)).toBe('packed');
    expect(response.headers.map(([name]) => name)).not.toContain('content-encoding');
  });

  it('does not forward Host and connection headers', async () => {
    await send({
      url: urlOf('/'),
      headers: {
        Host: 'internal',
        'Transfer-Encoding': 'chunked',
        Connection: 'upgrade',
        'Proxy-Authorization': 'x',
        'X-Ok': '1',
      },
    });
    expect(lastRequest().headers).toMatchObject({ host: `ok.test:${port}`, 'x-ok': '1' });
    expect(Object.keys(lastRequest().headers)).not.toEqual(expect.arrayContaining(['proxy-authorization']));
    expect(lastRequest().headers['transfer-encoding']).toBeUndefined();
  });

  it.each([
    ['a line break in a value', { 'X-A': 'a\r\nHost: evil' }],
    ['a line break in a name', { 'X\r\nA': 'a' }],
    ['a NUL', { 'X-A': 'a\0' }],
    ['an empty name', { '': 'a' }],
  ])('refuses headers with %s', async (_description, headers) => {
    expect(await codeOf(send({ url: urlOf('/'), headers }))).toBe('EGRESS_DENIED');
  });

  it.each(['CONNECT', 'TRACE', 'BAD METHOD', ''])('refuses the method "%s"', async (method) => {
    expect(await codeOf(send({ url: urlOf('/'), method }))).toBe('EGRESS_DENIED');
  });

  it('connects to the checked address and never resolves again', async () => {
    let resolutionCount = 0;
    const egress = createEgress({ allowPrivate: ['127.0.0.1/32'], ports: 'any' }, async () => {
      resolutionCount++;
      return resolutionCount === 1 ? [LOOPBACK_ADDRESS] : [{ address: '169.254.169.254', family: 4 }];
    });
    clients.push(egress);
    expect((await egress.fetch({ url: urlOf('/', 'rebind.test') })).status).toBe(200);
    expect(resolutionCount).toBe(1);
    expect(await codeOf(egress.fetch({ url: urlOf('/', 'rebind.test') }))).toBe('EGRESS_DENIED');
  });

  it('refuses a host with one private address', async () => {
    const addresses: IpAddress[] = [{ address: '93.184.216.34', family: 4 }, LOOPBACK_ADDRESS];
    expect(
      await codeOf(
        send({ url: urlOf('/', 'both.test') }, { allowPrivate: false }, { 'both.test': addresses }),
      ),
    ).toBe('EGRESS_DENIED');
  });

  it('limits the size of responses, including after decompression', async () => {
    expect(await codeOf(send({ url: urlOf('/big') }, { maxResponseBytes: 50_000 }))).toBe('EGRESS_TOO_LARGE');
    expect(await codeOf(send({ url: urlOf('/bomb') }, { maxResponseBytes: 50_000 }))).toBe(
      'EGRESS_TOO_LARGE',
    );
    expect(await codeOf(send({ url: urlOf('/big'), maxResponseBytes: 10 }))).toBe('EGRESS_TOO_LARGE');
  });

  it('names the option that raises the limit, and none if the request sets the limit', async () => {
    const messageOf = (request: Promise<unknown>): Promise<string> =>
      request.then(
        () => '',
        (error: Error) => error.message,
      );
    const policy = { maxResponseBytes: 50_000 };
    expect(await messageOf(send({ url: urlOf('/big') }, policy))).toContain(
      'more than 50000 bytes; raise maxResponseBytes to allow it.',
    );
    expect(await messageOf(send({ url: urlOf('/big'), maxResponseBytes: 10 }, policy))).toMatch(
      /more than 10 bytes\.$/,
    );
  });

  it('fails at its timeout, and when it is aborted', async () => {
    expect(await codeOf(send({ url: urlOf('/silent'), timeoutMs: 50 }))).toBe('EGRESS_TIMEOUT');
    expect(await codeOf(send({ url: urlOf('/silent'), signal: AbortSignal.timeout(20) }))).toBe(
      'EGRESS_ABORTED',
    );
    expect(await codeOf(send({ url: urlOf('/'), signal: AbortSignal.abort() }))).toBe('EGRESS_ABORTED');
  });

  it('fails at its timeout if the resolver does not answer', async () => {
    const egress = createEgress({}, () => new Promise(() => undefined));
    clients.push(egress);
    expect(await codeOf(egress.fetch({ url: 'http://a.test/', timeoutMs: 20 }))).toBe('EGRESS_TIMEOUT');
  });

  it('limits the response bytes of several requests together, not counting failed ones', async () => {
    const byteQuota = { remainingBytes: 250_000 };
    const fetchBig = (): Promise<string> => codeOf(send({ url: urlOf('/big'), byteQuota }));
    expect(await codeOf(send({ url: urlOf('/big'), byteQuota, maxResponseBytes: 10 }))).toBe(
      'EGRESS_TOO_LARGE',
    );
    expect([await fetchBig(), await fetchBig(), await fetchBig()]).toEqual([
      'reached',
      'reached',
      'EGRESS_TOO_LARGE',
    ]);
    expect(byteQuota.remainingBytes).toBe(50_000);
  });

  it('fails with EGRESS_FAILED if nothing listens', async () => {
    expect(await codeOf(send({ url: 'http://ok.test:1/' }))).toBe('EGRESS_FAILED');
  });
});

describe('redirects', () => {
  const redirectUrl = (location: string, status = 302): string =>
    urlOf(`/to?status=${status}&at=${encodeURIComponent(location)}`);

  it('are followed, and the last URL is returned', async () => {
    expect(await send({ url: redirectUrl('/end') })).toMatchObject({
      status: 200,
      url: urlOf('/end'),
      redirected: true,
    });
  });

  it.each([
    'http://169.254.169.254/',
    'http://10.0.0.1/',
    'http://[::1]/',
    'file:///etc/passwd',
    'http://user:pw@ok.test/',
    'http://private.test/',
  ])('to %s are refused', async (location) => {
    expect(
      await codeOf(
        send({ url: redirectUrl(location) }, {}, { 'private.test': [{ address: '192.168.1.1', family: 4 }] }),
      ),
    ).toBe('EGRESS_DENIED');
  });

  it('fail after five', async () => {
    const requestCountBefore = requests.length;
    expect(await codeOf(send({ url: urlOf('/loop') }))).toBe('EGRESS_DENIED');
    expect(requests.length - requestCountBefore).toBe(6);
  });

  it.each(['Authorization', 'Cookie', 'X-Api-Key', 'x-functions-key', 'Ocp-Apim-Subscription-Key', 'X-Own'])(
    'keep %s within an origin only',
    async (name) => {
      const key = name.toLowerCase();
      const headers = {
        [name]: 'k',
        Accept: 'text/x',
        'User-Agent': 'u',
        Range: 'bytes=0-',
        'X-Sim-Via': 'a',
      };
      await send({ url: redirectUrl('/end'), headers });
      expect(lastRequest().headers).toMatchObject({ [key]: 'k', accept: 'text/x' });
      await send({ url: redirectUrl(urlOf('/end', 'other.test')), headers });
      expect(lastRequest().headers).toMatchObject({
        accept: 'text/x',
        'user-agent': 'u',
        range: 'bytes=0-',
        'x-sim-via': 'a',
      });
      expect(lastRequest().headers).toMatchObject({ host: `other.test:${port}` });
      expect(lastRequest().headers[key]).toBeUndefined();
      // Dropped headers are not restored by a redirect back to their origin.
      await send({
        url: redirectUrl(urlOf(`/to?status=302&at=${encodeURIComponent(urlOf('/end'))}`, 'other.test')),
        headers,
      });
      expect(lastRequest().headers['host']).toBe(`ok.test:${port}`);
      expect(lastRequest().headers[key]).toBeUndefined();
    },
  );

  it.each([
    [303, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [301, 'POST', 'GET', ''],
    [302, 'PUT', 'PUT', 'b'],
    [307, 'POST', 'POST', 'b'],
    [308, 'POST', 'POST', 'b'],
  ])('with %d turn %s into %s', async (status, method, nextMethod, body) => {
    const headers = { 'content-type': 'text/x' };
    await send({ url: redirectUrl('/end', status), method, body: 'b', headers });
    expect(lastRequest()).toMatchObject({ method: nextMethod, body, url: '/end' });
    expect(lastRequest().headers['content-type']).toBe(body === '' ? undefined : 'text/x');
  });

  it('are returned or refused if the request says so', async () => {
    expect(await send({ url: redirectUrl('/end'), redirect: 'manual' })).toMatchObject({ status: 302 });
    expect(await codeOf(send({ url: redirectUrl('/end'), redirect: 'error' }))).toBe('EGRESS_DENIED');
  });
});

describe('a response that is read as it arrives', () => {
  const open = (request: EgressRequest, policy: EgressPolicy = {}) => createClient(policy).open(request);
  const read = async (body: ReadableStream<Uint8Array>): Promise<string> => {
    let content = '';
    for await (const chunk of body) content += decodeText(chunk);
    return content;
  };

  it('provides its headers and first bytes before it ends', async () => {
    const response = await open({ url: urlOf('/stalls') });
    expect(response).toMatchObject({ status: 200, url: urlOf('/stalls'), redirected: false });
    const reader = response.body.getReader();
    expect(decodeText((await reader.read()).value as Uint8Array)).toBe('first');
    await reader.cancel();
  });

  it('is decompressed, and redirects to it are followed', async () => {
    const path = `/to?status=307&at=${encodeURIComponent('/gzip')}`;
    const response = await open({ url: urlOf(path), method: 'POST', body: 'x' });
    expect(response).toMatchObject({ status: 200, url: urlOf('/gzip'), redirected: true });
    expect(await read(response.body)).toBe('packed');
  });

  it('is the redirect itself if redirects are not followed', async () => {
    const response = await open({ url: urlOf('/to?status=302&at=/gzip'), redirect: 'manual' });
    expect(response.status).toBe(302);
    expect(await read(response.body)).toBe('');
  });

  it.each([
    ['is too large', '/bomb', { maxResponseBytes: 1000 }, 'EGRESS_TOO_LARGE'],
    ['does not end in time', '/stalls', { timeoutMs: 100 }, 'EGRESS_TIMEOUT'],
    ['breaks off', '/breaks', {}, 'EGRESS_FAILED'],
  ])('fails while it is read if it %s', async (_description, path, policy, code) => {
    const response = await open({ url: urlOf(path) }, policy);
    expect(await codeOf(read(response.body))).toBe(code);
  });

  it('fails when its request is aborted', async () => {
    const controller = new AbortController();
    const response = await open({ url: urlOf('/stalls'), signal: controller.signal });
    const readResult = codeOf(read(response.body));
    controller.abort();
    expect(await readResult).toBe('EGRESS_ABORTED');
  });

  it('may be larger if it goes to a file, up to a separate limit', async () => {
    const policy = { maxResponseBytes: 1000, maxFileBytes: 200_000 };
    const request = { url: urlOf('/big'), toFile: true };
    expect(await read((await open(request, policy)).body)).toHaveLength(100_000);
    expect(await codeOf(read((await open({ ...request, toFile: false }, policy)).body))).toBe(
      'EGRESS_TOO_LARGE',
    );
    expect(await codeOf(read((await open({ ...request, maxResponseBytes: 5000 }, policy)).body))).toBe(
      'EGRESS_TOO_LARGE',
    );
    expect(await codeOf(read((await open(request, { maxFileBytes: 50_000 })).body))).toBe('EGRESS_TOO_LARGE');
    // A complete response is held in memory.
    expect(await codeOf(send(request, policy))).toBe('EGRESS_TOO_LARGE');
  });

  it('is refused by the same rules as a complete response', async () => {
    expect(await codeOf(open({ url: 'http://10.0.0.1/' }))).toBe('EGRESS_DENIED');
  });
});

describe('addresses of servers of other protocols', () => {
  const PUBLIC_ADDRESS: IpAddress = { address: '93.184.216.34', family: 4 };
  const resolve = (host: string) =>
    Promise.resolve(host.startsWith('inside') ? [PUBLIC_ADDRESS, LOOPBACK_ADDRESS] : [PUBLIC_ADDRESS]);
  const addressesOf = (host: string, serverPort: number, policy: EgressPolicy = {}) =>
    createEgress(policy, resolve).checkServer({ host, port: serverPort, ports: [5432] });

  it('are those that were checked', async () => {
    expect(await addressesOf('db.example.com', 5432)).toEqual([PUBLIC_ADDRESS]);
    const exceptions = ['inside.example.com:5433'];
    expect(await addressesOf('inside.example.com', 5433, { exceptions })).toEqual([
      PUBLIC_ADDRESS,
      LOOPBACK_ADDRESS,
    ]);
    expect(await addressesOf('db.example.com', 6000, { ports: [6000] })).toEqual([PUBLIC_ADDRESS]);
  });

  it.each<[string, number, EgressPolicy]>([
    ['inside.example.com', 5432, {}],
    ['127.0.0.1', 5432, {}],
    ['::ffff:127.0.0.1', 5432, {}],
    ['169.254.169.254', 5432, { allowPrivate: true }],
    ['localhost', 5432, {}],
    ['db.example.com', 80, {}],
    ['db.example.com', 5432, { ports: [443] }],
    ['db.example.com', 5432, { denyHosts: ['db.example.com'] }],
    ['db.example.com', 0, { ports: 'any' }],
    ['db.example.com/x', 5432, {}],
    ['inside@db.example.com', 5432, {}],
    ['db.example.com:80#', 5432, {}],
    ['', 5432, {}],
  ])('are refused by the rules for URLs: %s:%i %j', async (host, serverPort, policy) => {
    expect(await codeOf(addressesOf(host, serverPort, policy))).toBe('EGRESS_DENIED');
  });
});
