import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createRawServer, type AddressInfo, type Server as RawServer } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { IpAddress } from '../../packages/sandbox/src/egress/types.ts';

const LOOPBACK: IpAddress = { address: '127.0.0.1', family: 4 };
/** Represents the internet. All addresses of 127.0.0.0/8 belong to this machine. */
export const OUTER: IpAddress = { address: '127.0.0.2', family: 4 };
const PUBLIC: IpAddress = { address: '93.184.216.34', family: 4 };

/** The attack network: a forbidden internal server, a server that represents the internet, and host names. */
export interface Network {
  readonly internalPort: number;
  readonly outerPort: number;
  /** The port of a server with invalid responses, at the address of the server that represents the internet. */
  readonly rawPort: number;
  /** Returns the number of connections to the internal server since the last call. */
  takeIntrusions(): number;
  /** Returns the addresses of a name. An unknown name has the address of the internal server. */
  resolve(host: string): Promise<readonly IpAddress[]>;
  close(): void;
}

const listen = (server: RawServer, host: string, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });

type Reply = (response: ServerResponse, request: IncomingMessage) => void;

const compressedReply = (encoding: string, body: Buffer): Reply => {
  return (response) => void response.writeHead(200, { 'content-encoding': encoding }).end(body);
};

const REPLIES: Readonly<Record<string, Reply>> = {
  '/echo': (response, { headers }) => void response.end(JSON.stringify(headers)),
  '/loop': (response) => void response.writeHead(302, { location: '/loop' }).end(),
  '/big': (response) => void response.end('x'.repeat(3_000_000)),
  '/gzip-bomb': compressedReply('gzip', gzipSync(Buffer.alloc(50_000_000))),
  '/brotli-bomb': compressedReply('br', brotliCompressSync(Buffer.alloc(50_000_000))),
  '/packed-twice': compressedReply('gzip, gzip', gzipSync(gzipSync(Buffer.alloc(50_000_000)))),
  '/packed-members': compressedReply(
    'gzip',
    Buffer.concat(Array(40).fill(gzipSync(Buffer.alloc(1_000_000))) as Buffer[]),
  ),
  '/packed-wrongly': compressedReply('br', gzipSync('x')),
  '/packed-half': compressedReply('gzip', gzipSync(Buffer.alloc(500_000, 'abc')).subarray(0, -9)),
  '/packed-unknown': compressedReply('zstd', Buffer.from('28b52ffd', 'hex')),
  '/headers': (response) => void response.writeHead(200, { 'x-long': 'h'.repeat(60_000) }).end(),
  '/silent': () => undefined,
  '/hold': (response) => void response.write('x'.repeat(900_000)),
  '/smuggled-count': (response) => void response.end(String(smuggledCount)),
};

/** Number of requests to a path that only a smuggled request can contain. */
let smuggledCount = 0;

const HEAD = 'HTTP/1.1 200 OK\r\n';

/** Raw responses by path, some of them invalid. */
const RAW_RESPONSES: Readonly<Record<string, string>> = {
  '/garbage': '\0\xff garbage\r\n\r\n',
  '/old': 'HTTP/0.9 200 OK\r\n\r\nok',
  '/two-lengths': `${HEAD}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`,
  '/both-lengths': `${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  '/huge-chunk': `${HEAD}Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nx`,
  '/switch': 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw',
  '/informs': 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(50_000),
  '/fold': `${HEAD}X-A: b\r\n  Host: evil\r\nContent-Length: 2\r\n\r\nok`,
  '/status': 'HTTP/1.1 999 \x1b[2J\r\nContent-Length: 2\r\n\r\nok',
  '/names': `${HEAD}__proto__: polluted\r\nconstructor: x\r\ntoString: y\r\nContent-Length: 2\r\n\r\nok`,
  '/poison': `${HEAD}Content-Length: 2\r\n\r\nok${HEAD}Content-Length: 8\r\n\r\npoisoned`,
  '/huge-length': `${HEAD}Content-Length: 999999999999999\r\n\r\nx`,
  '/negative-length': `${HEAD}Content-Length: -5\r\n\r\nhello`,
  '/exponent-length': `${HEAD}Content-Length: 1e9\r\n\r\nhello`,
  '/endless-length': `${HEAD}Content-Length: ${'9'.repeat(400)}\r\n\r\nhello`,
  '/cut': `${HEAD}Content-Length: 100\r\n\r\nhello`,
  '/many-cookies': `${HEAD}${'Set-Cookie: a=1\r\n'.repeat(700)}Content-Length: 2\r\n\r\nok`,
  '/location': 'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1\x00/\r\nContent-Length: 0\r\n\r\n',
};

const createRawResponder = () =>
  createRawServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', (data) => {
      const path = data.toString('latin1').split(' ')[1] ?? '';
      socket.end(RAW_RESPONSES[path] ?? '', 'latin1');
    });
  });

/** Responds with REPLIES. `/to?at=URL` redirects to the URL. */
function serve(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://outer.test');
  const reply = REPLIES[pathname];
  if (reply !== undefined) return reply(response, request);
  if (pathname.startsWith('/url/')) {
    response.end(JSON.stringify({ url: request.url, headers: request.headers }));
    return;
  }
  if (pathname === '/smuggled') smuggledCount++;
  if (pathname !== '/to') return void response.end('outer');
  const status = Number(searchParams.get('status') ?? 302);
  response.writeHead(status, { location: searchParams.get('at') ?? '/' }).end();
}

/** Names whose addresses change, with the addresses of each resolution in order. The last addresses repeat. */
const CHANGING_NAMES: Readonly<Record<string, readonly (readonly IpAddress[])[]>> = {
  'rebind.test': [[LOOPBACK, PUBLIC], [LOOPBACK]],
  'rebind-later.test': [[OUTER], [LOOPBACK]],
};

const ipv6 = (address: string): readonly IpAddress[] => [{ address, family: 6 }];

/** The addresses of the names that the attacker's resolver knows. */
const NAMES: Readonly<Record<string, readonly IpAddress[]>> = {
  'ok.test': [OUTER],
  'no.test': [OUTER],
  notest: [OUTER],
  'deep.x.xn--l-0ga.test': [OUTER],
  'x.xn--l-0ga.test': [OUTER],
  'mapped.test': ipv6('::ffff:127.0.0.1'),
  'mapped-hex.test': ipv6('::ffff:7f00:1'),
  'mapped-long.test': ipv6('0:0:0:0:0:ffff:7f00:0001'),
  'six.test': ipv6('::1'),
  'zone.test': ipv6('fe80::1%lo'),
  'translated.test': ipv6('64:ff9b::7f00:1'),
  'tunnel.test': ipv6('2002:7f00:1::'),
  'many.test': [...Array.from({ length: 500 }, () => OUTER), LOOPBACK],
};

export async function openNetwork(): Promise<Network> {
  let intrusions = 0;
  const countConnection = (): void => void intrusions++;
  const internal = createServer((_request, response) => void response.end('INTERNAL')).on(
    'connection',
    countConnection,
  );
  const internal6 = createServer((_request, response) => void response.end('INTERNAL')).on(
    'connection',
    countConnection,
  );
  const outer = createServer(serve);
  const raw = createRawResponder();
  const internalPort = await listen(internal, '127.0.0.1', 0);
  // Machines without IPv6 have no such targets.
  await listen(internal6, '::1', internalPort).catch(() => undefined);
  const outerPort = await listen(outer, OUTER.address, 0);
  const rawPort = await listen(raw, OUTER.address, 0);
  const resolutions = new Map<string, number>();
  return {
    internalPort,
    outerPort,
    rawPort,
    takeIntrusions() {
      const total = intrusions;
      intrusions = 0;
      return total;
    },
    async resolve(host) {
      if (host === 'silent.test') return new Promise(() => undefined);
      const answers = CHANGING_NAMES[host];
      if (answers === undefined) return NAMES[host] ?? [LOOPBACK];
      const index = resolutions.get(host) ?? 0;
      resolutions.set(host, index + 1);
      return answers[Math.min(index, answers.length - 1)]!;
    },
    close() {
      for (const server of [internal, internal6, outer]) {
        server.closeAllConnections();
        server.close();
      }
      raw.close();
    },
  };
}
