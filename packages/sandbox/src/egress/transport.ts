import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type * as UndiciModule from 'undici';
import { ByteBuffer } from '../byte-buffer.ts';
import { EgressError } from './error.ts';
import type { Pairs } from './headers.ts';
import { limitBytes } from './wire.ts';
import type { Allowance, Target } from './types.ts';

/** One request over the wire, without redirects. */
export interface Exchange {
  readonly target: Target;
  readonly method: string;
  readonly headers: Pairs;
  readonly body: string | Uint8Array | null;
  readonly signal: AbortSignal;
  readonly maxBytes: number;
  readonly allowance: Allowance | undefined;
}

export interface Reply {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Pairs;
  readonly body: Uint8Array;
}

/** How connections are made, where not as usual. */
export interface Connection {
  /** Certificates of authorities, in PEM, in the place of the usual ones. */
  readonly ca?: readonly string[];
  /** Whether a server has to prove who it is; default true. */
  readonly verify?: boolean;
  /** The certificate and key of this client, in PEM. */
  readonly client?: { readonly cert: string; readonly key: string };
  /** The URL of a proxy through which everything goes; it looks names up. */
  readonly proxy?: string;
}

type Undici = typeof UndiciModule;
type Dispatcher = UndiciModule.Dispatcher;

const MAX_AGENTS = 64;
/** Responses that come before the response, such as 103 Early Hints. */
const MOST_BEFORE = 16;
const DECODERS: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Connections, kept per origin and checked addresses: one that is open leads to an address that was allowed for this very request. */
export class Transport {
  readonly #agents = new Map<string, Dispatcher>();
  readonly #connection: Connection;
  readonly #maxBytes: number;

  /** `maxBytes` is the most that the body of any response may have. */
  constructor(connection: Connection, maxBytes: number) {
    this.#connection = connection;
    this.#maxBytes = maxBytes;
  }

  async exchange(exchange: Exchange): Promise<Reply> {
    const { target, method, headers, body } = exchange;
    const { onInfo, signal } = fewPrecede(exchange);
    // Loaded with the first request: that takes as long as all else of a sandbox.
    const undici = await import('undici');
    const response = await undici.request(target.url, {
      dispatcher: this.#agent(target, undici),
      method: method as 'GET',
      headers: [...headers, ['accept-encoding', 'gzip, deflate, br']].flat(),
      body,
      signal,
      onInfo,
      headersTimeout: 0,
      bodyTimeout: 0,
      responseHeaders: 'raw',
    });
    const pairs = rawPairs(response.headers as unknown as string[]);
    const encoding = pairs.find(([name]) => name === 'content-encoding')?.[1].toLowerCase() ?? '';
    const decoder = method === 'HEAD' ? undefined : DECODERS[encoding];
    const bytes = await collect(response.body, decoder?.(), exchange);
    return {
      status: response.statusCode,
      statusText: response.statusText,
      headers:
        decoder === undefined
          ? pairs
          : pairs.filter(([name]) => name !== 'content-encoding' && name !== 'content-length'),
      body: bytes,
    };
  }

  async close(): Promise<void> {
    const agents = [...this.#agents.values()];
    this.#agents.clear();
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  #agent({ url, addresses }: Target, undici: Undici): Dispatcher {
    const key = `${url.origin} ${addresses.map(({ address }) => address).join(' ')}`;
    let agent = this.#agents.get(key);
    if (agent === undefined) agent = agentFor(addresses, this.#connection, this.#maxBytes, undici);
    else this.#agents.delete(key);
    this.#agents.set(key, agent);
    if (this.#agents.size > MAX_AGENTS) {
      const [oldest, unused] = this.#agents.entries().next().value as [string, Dispatcher];
      this.#agents.delete(oldest);
      void unused.close();
    }
    return agent;
  }
}

/** An agent that asks no resolver: every name leads to the given addresses, or to the proxy. */
function agentFor(
  addresses: Target['addresses'],
  { ca, verify = true, client, proxy }: Connection,
  maxBytes: number,
  { Agent, ProxyAgent, buildConnector }: Undici,
): Dispatcher {
  const tls = { ...(ca && { ca: [...ca] }), rejectUnauthorized: verify, ...client };
  if (proxy !== undefined)
    return new ProxyAgent({
      uri: proxy,
      requestTls: tls,
      proxyTls: { ...(ca && { ca: [...ca] }) },
      allowH2: false,
    });
  const all = addresses.map(({ address, family }) => ({ address, family }));
  const first = all[0] as (typeof all)[number];
  const connect = buildConnector({
    ...tls,
    // Its frames that carry nothing, and its compressed headers, are a server's way to keep its clients busy.
    allowH2: false,
    autoSelectFamily: all.length > 1,
    lookup: (_host, options, callback) => {
      if (options.all === true) callback(null, all);
      else callback(null, first.address, first.family);
    },
  });
  return new Agent({
    keepAliveTimeout: 4_000,
    maxResponseSize: -1,
    allowH2: false,
    connect: limitBytes(connect, maxBytes),
  });
}

/** Ends an exchange when response after response says that the response is still to come. */
function fewPrecede({ target, signal }: Exchange): { signal: AbortSignal; onInfo: () => void } {
  const tooMany = new AbortController();
  let count = 0;
  const onInfo = (): void => {
    if (++count > MOST_BEFORE) tooMany.abort(tooLarge(target, `more than ${MOST_BEFORE} others before it`));
  };
  return { onInfo, signal: AbortSignal.any([signal, tooMany.signal]) };
}

function rawPairs(raw: readonly (string | Buffer)[]): Pairs {
  const pairs: Pairs = [];
  for (let i = 0; i + 1 < raw.length; i += 2) pairs.push([String(raw[i]).toLowerCase(), String(raw[i + 1])]);
  return pairs;
}

async function collect(
  body: Readable,
  decoder: NodeJS.ReadWriteStream | undefined,
  { maxBytes, target, allowance }: Exchange,
): Promise<Uint8Array> {
  const source =
    decoder === undefined ? body : body.on('error', (error) => decoder.emit('error', error)).pipe(decoder);
  // A body may come in pieces of one byte each, which as objects would take a hundred times its size.
  const buffer = new ByteBuffer();
  const all = allowance ?? { leftBytes: Infinity };
  let bytes = 0;
  try {
    for await (const chunk of source) {
      const { byteLength } = chunk as Uint8Array;
      bytes += byteLength;
      all.leftBytes -= byteLength;
      if (bytes > maxBytes)
        throw tooLarge(target, `more than ${maxBytes} bytes; raise maxResponseBytes to allow it`);
      if (all.leftBytes < 0)
        throw tooLarge(target, 'more bytes than all requests of this job together may receive');
      buffer.add(chunk as Uint8Array);
    }
  } catch (error) {
    all.leftBytes += bytes;
    throw error;
  } finally {
    body.destroy();
  }
  return buffer.take();
}

function tooLarge({ url }: Target, what: string): EgressError {
  return new EgressError('EGRESS_TOO_LARGE', `The response of ${url.host} has ${what}.`);
}
