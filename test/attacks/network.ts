import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { Address } from '../../packages/sandbox/src/egress/types.ts';

const LOOPBACK: Address = { address: '127.0.0.1', family: 4 };
/** Stands for the internet. Every address of 127.0.0.0/8 is this machine's own. */
export const OUTER: Address = { address: '127.0.0.2', family: 4 };
const PUBLIC: Address = { address: '93.184.216.34', family: 4 };

/** The network of the attacks: a server that nobody may reach, one that stands for the internet, and names. */
export interface Network {
  readonly internalPort: number;
  readonly outerPort: number;
  /** Connections to the internal server since the last call. */
  takeIntrusions(): number;
  /** A resolver to which the whole world is internal, but for a few names. */
  resolve(host: string): Promise<readonly Address[]>;
  close(): void;
}

const listen = (server: Server, host: string, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });

type Reply = (response: ServerResponse, request: IncomingMessage) => void;

const packed = (encoding: string, body: Buffer): Reply => {
  return (response) => void response.writeHead(200, { 'content-encoding': encoding }).end(body);
};

const REPLIES: Readonly<Record<string, Reply>> = {
  '/echo': (response, { headers }) => void response.end(JSON.stringify(headers)),
  '/loop': (response) => void response.writeHead(302, { location: '/loop' }).end(),
  '/big': (response) => void response.end('x'.repeat(3_000_000)),
  '/gzip-bomb': packed('gzip', gzipSync(Buffer.alloc(50_000_000))),
  '/brotli-bomb': packed('br', brotliCompressSync(Buffer.alloc(50_000_000))),
  '/headers': (response) => void response.writeHead(200, { 'x-long': 'h'.repeat(60_000) }).end(),
  '/silent': () => undefined,
};

/** Answers as REPLIES say; `/to?at=URL` redirects there. */
function serve(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://outer.test');
  const reply = REPLIES[pathname];
  if (reply !== undefined) return reply(response, request);
  if (pathname !== '/to') return void response.end('outer');
  const status = Number(searchParams.get('status') ?? 302);
  response.writeHead(status, { location: searchParams.get('at') ?? '/' }).end();
}

/** The addresses of the names that change between their resolutions, first to last. */
const CHANGING: Readonly<Record<string, readonly (readonly Address[])[]>> = {
  'rebind.test': [[LOOPBACK, PUBLIC], [LOOPBACK]],
  'rebind-later.test': [[OUTER], [LOOPBACK]],
};

export async function openNetwork(): Promise<Network> {
  let intrusions = 0;
  const count = (): void => void intrusions++;
  const internal = createServer((_request, response) => void response.end('INTERNAL')).on(
    'connection',
    count,
  );
  const internal6 = createServer((_request, response) => void response.end('INTERNAL')).on(
    'connection',
    count,
  );
  const outer = createServer(serve);
  const internalPort = await listen(internal, '127.0.0.1', 0);
  // A machine may be without IPv6; then there is nothing to reach either.
  await listen(internal6, '::1', internalPort).catch(() => undefined);
  const outerPort = await listen(outer, OUTER.address, 0);
  const asked = new Map<string, number>();
  return {
    internalPort,
    outerPort,
    takeIntrusions() {
      const taken = intrusions;
      intrusions = 0;
      return taken;
    },
    async resolve(host) {
      const turns = CHANGING[host];
      if (turns === undefined) return [host === 'ok.test' ? OUTER : LOOPBACK];
      const turn = asked.get(host) ?? 0;
      asked.set(host, turn + 1);
      return turns[Math.min(turn, turns.length - 1)]!;
    },
    close() {
      for (const server of [internal, internal6, outer]) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}
