import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createRawServer, type AddressInfo, type Server as RawServer } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { IpAddress } from '../../packages/sandbox/src/egress/types.ts';

const LOOPBACK_ADDRESS: IpAddress = { address: '127.0.0.1', family: 4 };
/** Represents the internet. All addresses of 127.0.0.0/8 belong to this machine. */
export const EXTERNAL_ADDRESS: IpAddress = { address: '127.0.0.2', family: 4 };
const PUBLIC_ADDRESS: IpAddress = { address: '93.184.216.34', family: 4 };

/** The attack network: a forbidden internal server, a server that represents the internet, and host names. */
export interface Network {
  readonly internalPort: number;
  readonly externalPort: number;
  /** The port of a server with invalid responses, at the address of the server that represents the internet. */
  readonly rawPort: number;
  /** Returns the number of connections to the internal server since the last call. */
  takeConnectionCount(): number;
  /** Returns the addresses of a name. An unknown name has the address of the internal server. */
  resolve(host: string): Promise<readonly IpAddress[]>;
  close(): void;
}

const listen = (server: RawServer, host: string, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });

type Handler = (response: ServerResponse, request: IncomingMessage) => void;

const createCompressedHandler = (encoding: string, body: Buffer): Handler => {
  return (response) => void response.writeHead(200, { 'content-encoding': encoding }).end(body);
};

const HANDLERS: Readonly<Record<string, Handler>> = {
  '/echo': (response, { headers }) => void response.end(JSON.stringify(headers)),
  '/loop': (response) => void response.writeHead(302, { location: '/loop' }).end(),
  '/big': (response) => void response.end('x'.repeat(3_000_000)),
  '/gzip-bomb': createCompressedHandler('gzip', gzipSync(Buffer.alloc(50_000_000))),
  '/brotli-bomb': createCompressedHandler('br', brotliCompressSync(Buffer.alloc(50_000_000))),
  '/compressed-twice': createCompressedHandler('gzip, gzip', gzipSync(gzipSync(Buffer.alloc(50_000_000)))),
  '/compressed-members': createCompressedHandler(
    'gzip',
    Buffer.concat(Array(40).fill(gzipSync(Buffer.alloc(1_000_000))) as Buffer[]),
  ),
  '/compressed-wrongly': createCompressedHandler('br', gzipSync('x')),
  '/compressed-half': createCompressedHandler('gzip', gzipSync(Buffer.alloc(500_000, 'abc')).subarray(0, -9)),
  '/compressed-unknown': createCompressedHandler('zstd', Buffer.from('28b52ffd', 'hex')),
  '/headers': (response) => void response.writeHead(200, { 'x-long': 'h'.repeat(60_000) }).end(),
  '/silent': () => undefined,
  '/hold': (response) => void response.write('x'.repeat(900_000)),
  '/smuggled-count': (response) => void response.end(String(smuggledCount)),
};

/** Number of requests to a path that only a smuggled request can contain. */
let smuggledCount = 0;

const STATUS_LINE = 'HTTP/1.1 200 OK\r\n';

/** Raw responses by path, some of them invalid. */
const RAW_RESPONSES: Readonly<Record<string, string>> = {
  '/garbage': '\0\xff garbage\r\n\r\n',
  '/old': 'HTTP/0.9 200 OK\r\n\r\nok',
  '/two-lengths': `${STATUS_LINE}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`,
  '/both-lengths': `${STATUS_LINE}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  '/huge-chunk': `${STATUS_LINE}Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nx`,
  '/switch': 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw',
  '/informs': 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(50_000),
  '/fold': `${STATUS_LINE}X-A: b\r\n  Host: evil\r\nContent-Length: 2\r\n\r\nok`,
  '/status': 'HTTP/1.1 999 \x1b[2J\r\nContent-Length: 2\r\n\r\nok',
  '/names': `${STATUS_LINE}__proto__: polluted\r\nconstructor: x\r\ntoString: y\r\nContent-Length: 2\r\n\r\nok`,
  '/poison': `${STATUS_LINE}Content-Length: 2\r\n\r\nok${STATUS_LINE}Content-Length: 8\r\n\r\npoisoned`,
  '/huge-length': `${STATUS_LINE}Content-Length: 999999999999999\r\n\r\nx`,
  '/negative-length': `${STATUS_LINE}Content-Length: -5\r\n\r\nhello`,
  '/exponent-length': `${STATUS_LINE}Content-Length: 1e9\r\n\r\nhello`,
  '/endless-length': `${STATUS_LINE}Content-Length: ${'9'.repeat(400)}\r\n\r\nhello`,
  '/cut': `${STATUS_LINE}Content-Length: 100\r\n\r\nhello`,
  '/many-cookies': `${STATUS_LINE}${'Set-Cookie: a=1\r\n'.repeat(700)}Content-Length: 2\r\n\r\nok`,
  '/location': 'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1\x00/\r\nContent-Length: 0\r\n\r\n',
};

const createRawResponseServer = () =>
  createRawServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', (data) => {
      const path = data.toString('latin1').split(' ')[1] ?? '';
      socket.end(RAW_RESPONSES[path] ?? '', 'latin1');
    });
  });

/** Calls the handler of the path in HANDLERS. `/to?at=URL` redirects to the URL. */
function serve(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://external.test');
  const handler = HANDLERS[pathname];
  if (handler !== undefined) return handler(response, request);
  if (pathname.startsWith('/url/')) {
    response.end(JSON.stringify({ url: request.url, headers: request.headers }));
    return;
  }
  if (pathname === '/smuggled') smuggledCount++;
  if (pathname !== '/to') return void response.end('external');
  const status = Number(searchParams.get('status') ?? 302);
  response.writeHead(status, { location: searchParams.get('at') ?? '/' }).end();
}

/** Names whose addresses change, with the addresses of each resolution in order. The last addresses repeat. */
const ANSWERS_BY_CHANGING_NAME: Readonly<Record<string, readonly (readonly IpAddress[])[]>> = {
  'rebind.test': [[LOOPBACK_ADDRESS, PUBLIC_ADDRESS], [LOOPBACK_ADDRESS]],
  'rebind-later.test': [[EXTERNAL_ADDRESS], [LOOPBACK_ADDRESS]],
};

const ipv6Addresses = (address: string): readonly IpAddress[] => [{ address, family: 6 }];

/** The addresses of the names that the attacker's resolver knows. */
const ADDRESSES_BY_NAME: Readonly<Record<string, readonly IpAddress[]>> = {
  'ok.test': [EXTERNAL_ADDRESS],
  'no.test': [EXTERNAL_ADDRESS],
  notest: [EXTERNAL_ADDRESS],
  'deep.x.xn--l-0ga.test': [EXTERNAL_ADDRESS],
  'x.xn--l-0ga.test': [EXTERNAL_ADDRESS],
  'mapped.test': ipv6Addresses('::ffff:127.0.0.1'),
  'mapped-hex.test': ipv6Addresses('::ffff:7f00:1'),
  'mapped-long.test': ipv6Addresses('0:0:0:0:0:ffff:7f00:0001'),
  'six.test': ipv6Addresses('::1'),
  'zone.test': ipv6Addresses('fe80::1%lo'),
  'translated.test': ipv6Addresses('64:ff9b::7f00:1'),
  'tunnel.test': ipv6Addresses('2002:7f00:1::'),
  'many.test': [...Array.from({ length: 500 }, () => EXTERNAL_ADDRESS), LOOPBACK_ADDRESS],
};

export async function openNetwork(): Promise<Network> {
  let connectionCount = 0;
  const countConnection = (): void => void connectionCount++;
  const internalServer = createServer((_request, response) => void response.end('INTERNAL')).on(
    'connection',
    countConnection,
  );
  const internalIpv6Server = createServer((_request, response) => void response.end('INTERNAL')).on(
    'connection',
    countConnection,
  );
  const externalServer = createServer(serve);
  const rawServer = createRawResponseServer();
  const internalPort = await listen(internalServer, '127.0.0.1', 0);
  // Machines without IPv6 have no such targets.
  await listen(internalIpv6Server, '::1', internalPort).catch(() => undefined);
  const externalPort = await listen(externalServer, EXTERNAL_ADDRESS.address, 0);
  const rawPort = await listen(rawServer, EXTERNAL_ADDRESS.address, 0);
  const resolutions = new Map<string, number>();
  return {
    internalPort,
    externalPort,
    rawPort,
    takeConnectionCount() {
      const total = connectionCount;
      connectionCount = 0;
      return total;
    },
    async resolve(host) {
      if (host === 'silent.test') return new Promise(() => undefined);
      const answers = ANSWERS_BY_CHANGING_NAME[host];
      if (answers === undefined) return ADDRESSES_BY_NAME[host] ?? [LOOPBACK_ADDRESS];
      const index = resolutions.get(host) ?? 0;
      resolutions.set(host, index + 1);
      return answers[Math.min(index, answers.length - 1)]!;
    },
    close() {
      for (const server of [internalServer, internalIpv6Server, externalServer]) {
        server.closeAllConnections();
        server.close();
      }
      rawServer.close();
    },
  };
}
