import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createEgress, type Egress } from '@heddle/sandbox/egress';
import type { Target } from '../../packages/sandbox/src/egress/types.ts';
import { EgressProxy } from '../../packages/sandbox/src/native/proxy.ts';
import { EXTERNAL_ADDRESS, type Network } from './network.ts';
import { watchHost } from './watch.ts';

const CRLF = '\r\n';
const HOST_HEADER = `Host: x${CRLF}`;
const REFUSED_RESPONSE = /^HTTP\/1\.1 (?:400|403)/;

const buildConnectRequest = (target: string): string =>
  `CONNECT ${target} HTTP/1.1${CRLF}${HOST_HEADER}${CRLF}`;
const buildGetRequest = (target: string, headers = HOST_HEADER): string =>
  `GET ${target} HTTP/1.1${CRLF}${headers}Connection: close${CRLF}${CRLF}`;

/** Bytes that a process sends to its proxy, with the expected response. I is the internal port, E the external port. */
const TUNNEL_CASES: readonly (readonly [title: string, bytes: string, response: RegExp])[] = [
  ...['127.0.0.1:I', '2130706433:I', '0177.0.0.1:I', '0x7f.1:I', '127.1:I', '0:I', '[::1]:I', '[::]:I'],
  ...['[::ffff:127.0.0.1]:I', 'localhost:I', 'LOCALHOST.:I', 'x.nip.test:I', 'mapped.test:I', 'many.test:I'],
  ...['169.254.169.254:80', '168.63.129.16:80', '127.0.0.1', 'ok.test:E@127.0.0.1:I', 'a:b@ok.test:E'],
  ...['127.0.0.1:I/ok.test:E', '127.0.0.1:I#ok.test:E', '127.0.0.1:I?ok.test:E', '127.0.0.1:I\\@ok.test:E'],
  ...['http://127.0.0.1:I', '', ':I', 'ok.test:99999', '127.0.0.1%00.ok.test:I'],
].map((target) => [`a tunnel to ${target}`, buildConnectRequest(target), REFUSED_RESPONSE] as const);

const REQUEST_CASES: typeof TUNNEL_CASES = [
  ['a request to the internal server', buildGetRequest('http://127.0.0.1:I/'), REFUSED_RESPONSE],
  [
    'a request whose host is only in its header',
    buildGetRequest('/', `Host: 127.0.0.1:I${CRLF}`),
    REFUSED_RESPONSE,
  ],
  ['a request to a file', buildGetRequest('file:///etc/passwd'), REFUSED_RESPONSE],
  ['a request with credentials', buildGetRequest('http://a:b@ok.test:E/'), REFUSED_RESPONSE],
  [
    'a request whose header names another host',
    buildGetRequest('http://ok.test:E/echo', `Host: 127.0.0.1:I${CRLF}X-Ok: 1${CRLF}`),
    /"host":"ok\.test:\d+"/,
  ],
  [
    'a request to upgrade to another protocol',
    buildGetRequest('http://ok.test:E/', `${HOST_HEADER}Upgrade: h2c${CRLF}`),
    /external/,
  ],
  ['the connection preface of HTTP/2', `PRI * HTTP/2.0${CRLF}${CRLF}SM${CRLF}${CRLF}`, REFUSED_RESPONSE],
  [
    'a body with two lengths',
    `POST http://ok.test:E/ HTTP/1.1${CRLF}${HOST_HEADER}Content-Length: 4${CRLF}Transfer-Encoding: chunked${CRLF}${CRLF}0${CRLF}${CRLF}${buildGetRequest('http://127.0.0.1:I/')}`,
    REFUSED_RESPONSE,
  ],
  [
    'two pipelined requests',
    `GET http://ok.test:E/ HTTP/1.1${CRLF}${HOST_HEADER}${CRLF}${buildGetRequest('http://127.0.0.1:I/')}`,
    /external[^]*HTTP\/1\.1 403/,
  ],
  [
    'a folded header',
    buildGetRequest('http://ok.test:E/', `${HOST_HEADER}X-A: b${CRLF} Host: 127.0.0.1${CRLF}`),
    /^HTTP\/1\.1 (?:400|200)/,
  ],
  [
    'endless headers',
    buildGetRequest('http://ok.test:E/', `${HOST_HEADER}${`X-A: ${'b'.repeat(1_000)}${CRLF}`.repeat(99)}`),
    /^HTTP\/1\.1 431/,
  ],
  ['bytes that are not a request', '\0\xff\xfe'.repeat(999), REFUSED_RESPONSE],
  [
    'a request that is sent before its tunnel is open',
    `${buildConnectRequest('ok.test:E')}${buildGetRequest('/')}`,
    /^HTTP\/1\.1 200 Connected[^]*external/,
  ],
];

/** Returns the whole response to the bytes. */
async function sendRawRequest(socketPath: string, bytes: string): Promise<string> {
  const socket = connect(socketPath);
  let text = '';
  socket.setEncoding('latin1').on('data', (data: string) => (text += data));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  // If a request is refused early, its other bytes cannot be sent.
  socket.on('error', () => undefined);
  socket.write(bytes, 'latin1');
  await closed;
  return text;
}

describe('the proxy of a native image', () => {
  let network: Network;
  let egress: Egress;
  const monitorRef = watchHost();
  beforeAll(() => {
    ({ network } = monitorRef.monitor);
    egress = createEgress({ allowPrivate: [`${EXTERNAL_ADDRESS.address}/32`], ports: 'any' }, (host) =>
      network.resolve(host),
    );
  });
  afterAll(() => egress.close());

  const openProxy = async (resolveTarget: (url: string) => Promise<Target>): Promise<EgressProxy> => {
    const proxy = await EgressProxy.open({
      send: (request, signal) => egress.fetch({ ...request, signal }),
      resolveTarget,
      maxRequests: 1_000,
      maxBytes: 10_000_000,
    });
    onTestFinished(() => proxy.close());
    return proxy;
  };

  it.each([...TUNNEL_CASES, ...REQUEST_CASES])(
    'forwards nothing to an internal server: %s',
    async (_title, bytes, response) => {
      const proxy = await openProxy((url) => egress.check(url));
      const requestBytes = bytes
        .replaceAll(/(?<=:)I/g, String(network.internalPort))
        .replaceAll(/(?<=:)E/g, String(network.externalPort));
      expect(await sendRawRequest(proxy.path, requestBytes)).toMatch(response);
    },
  );

  /** Starts a server that counts its connections. */
  async function startCountingServer(): Promise<{
    server: Server;
    target: Target;
    getConnectionCount: () => number;
  }> {
    let connectionCount = 0;
    const server = createServer((socket) => {
      connectionCount++;
      socket.on('error', () => socket.destroy());
    });
    server.listen(0, EXTERNAL_ADDRESS.address);
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const url = new URL(`https://ok.test:${port}/`);
    return {
      server,
      target: { url, addresses: [EXTERNAL_ADDRESS] },
      getConnectionCount: () => connectionCount,
    };
  }

  it('connects to no server for an ended job', async () => {
    const { server, target, getConnectionCount } = await startCountingServer();
    const checkCalled = Promise.withResolvers<void>();
    const checkResult = Promise.withResolvers<Target>();
    const proxy = await openProxy(() => {
      checkCalled.resolve();
      return checkResult.promise;
    });
    const client = connect(proxy.path);
    client.on('error', () => undefined);
    client.write(buildConnectRequest('ok.test:1'));
    await checkCalled.promise;
    await proxy.close();
    checkResult.resolve(target);
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    // An earlier connection would be counted first.
    const connectionEvent = once(server, 'connection');
    const secondClient = connect(Number(target.url.port), EXTERNAL_ADDRESS.address);
    await connectionEvent;
    secondClient.destroy();
    expect(getConnectionCount()).toBe(1);
  });

  it('leaves no connection open if the client disconnects before the connection is established', async () => {
    const { server, target } = await startCountingServer();
    const connectionEvent = once(server, 'connection');
    const checkResult = Promise.withResolvers<Target>();
    const proxy = await openProxy(() => checkResult.promise);
    const client = connect(proxy.path);
    client.on('error', () => undefined);
    client.write(buildConnectRequest('ok.test:1'), () => client.destroy());
    await once(client, 'close');
    checkResult.resolve(target);
    const [serverSocket] = (await connectionEvent) as [Socket];
    await new Promise((resolve) => serverSocket.resume().once('close', resolve));
    expect(serverSocket.destroyed).toBe(true);
  });

  it('closes its tunnels when the job ends', async () => {
    const { server, target } = await startCountingServer();
    const proxy = await openProxy(async () => target);
    const connectionEvent = once(server, 'connection');
    const client = connect(proxy.path);
    client.on('error', () => undefined);
    client.write(buildConnectRequest('ok.test:1'));
    const [serverSocket] = (await connectionEvent) as [Socket];
    const closed = once(serverSocket.resume(), 'close');
    await proxy.close();
    await closed;
    expect(serverSocket.destroyed).toBe(true);
  });
});
