import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type * as UndiciModule from 'undici';
import { ByteBuffer } from '../byte-buffer.ts';
import { EgressError } from './error.ts';
import type { HeaderList } from './headers.ts';
import { limitBytes } from './limit-bytes.ts';
import type { ByteQuota, Target } from './types.ts';

/** One HTTP request without redirects. */
export interface TransportRequest {
  readonly target: Target;
  readonly method: string;
  readonly headers: HeaderList;
  readonly body?: string | Uint8Array | undefined;
  readonly signal: AbortSignal;
  readonly maxBytes: number;
  /** The option that raises `maxBytes`; undefined if the request itself sets it. */
  readonly limitOption: 'maxFileBytes' | 'maxResponseBytes' | undefined;
  /** True if the body is written to a file as it arrives. */
  readonly toFile: boolean;
  /** The response bytes that may still be received, shared with other requests; undefined for no quota. */
  readonly byteQuota: ByteQuota | undefined;
}

interface Head {
  readonly status: number;
  readonly statusText: string;
  readonly headers: HeaderList;
}

export interface RawResponse extends Head {
  readonly body: Uint8Array;
}

/** A response whose body has not arrived yet. */
export interface StreamedResponse extends Head {
  /** The body as it arrives, decompressed. Throws when it exceeds the limits of the request. */
  readonly chunks: AsyncGenerator<Uint8Array, void>;
  /** Closes the connection if the body has not ended. */
  discard(): void;
}

/** Options for connections. */
export interface ConnectionOptions {
  /** Certificate authorities in PEM format; replaces the default ones. */
  readonly ca?: readonly string[];
  /** True to verify the server's certificate; default true. */
  readonly verify?: boolean;
  /** Client certificate and key, in PEM format. */
  readonly client?: { readonly cert: string; readonly key: string };
  /** URL of a proxy for all requests. The proxy resolves host names. */
  readonly proxy?: string;
}

/** Maximum size of a response body in bytes, if it is held in memory and if it is written to a file. */
interface BodyLimits {
  readonly memory: number;
  readonly file: number;
}

type Undici = typeof UndiciModule;
type Dispatcher = UndiciModule.Dispatcher;

const MAX_AGENTS = 64;
/** Maximum number of informational responses (such as 103 Early Hints) before the response. */
const MAX_INFORMATIONAL_RESPONSES = 16;
const DECODERS: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * A pool of connections. They are reused only for the same origin and the same checked addresses, so that each leads
 * to an address that was allowed for the request.
 */
export class Transport {
  readonly #agents = new Map<string, Dispatcher>();
  readonly #connectionOptions: ConnectionOptions;
  readonly #bodyLimits: BodyLimits;

  constructor(connectionOptions: ConnectionOptions, bodyLimits: BodyLimits) {
    this.#connectionOptions = connectionOptions;
    this.#bodyLimits = bodyLimits;
  }

  /** Returns the response with its whole body. */
  async send(request: TransportRequest): Promise<RawResponse> {
    const { chunks, status, statusText, headers } = await this.open(request);
    return { status, statusText, headers, body: await readAllBytes(chunks) };
  }

  /** Returns the response as soon as its headers have arrived. The caller must read the whole body or discard it. */
  async open(request: TransportRequest): Promise<StreamedResponse> {
    const { target, method, headers, body, toFile } = request;
    const { onInfo, signal } = limitInformationalResponses(request);
    // Loaded with the first request, because loading it takes as long as loading the rest of the sandbox.
    const undici = await import('undici');
    const response = await undici.request(target.url, {
      dispatcher: this.#getAgent(target, toFile ? this.#bodyLimits.file : this.#bodyLimits.memory, undici),
      method: method as 'GET',
      headers: [...headers, ['accept-encoding', 'gzip, deflate, br']].flat(),
      body: body ?? null,
      signal,
      onInfo,
      headersTimeout: 0,
      bodyTimeout: 0,
      responseHeaders: 'raw',
    });
    const pairs = toPairs(response.headers as unknown as string[]);
    const encoding = pairs.find(([name]) => name === 'content-encoding')?.[1].toLowerCase() ?? '';
    const decoder = method === 'HEAD' ? undefined : DECODERS[encoding];
    return {
      status: response.statusCode,
      statusText: response.statusText,
      headers:
        decoder === undefined
          ? pairs
          : pairs.filter(([name]) => name !== 'content-encoding' && name !== 'content-length'),
      chunks: chunksOf(response.body, decoder?.(), request),
      // Without a listener, the error of the closed connection would end the process.
      discard: () => void response.body.on('error', () => undefined).destroy(),
    };
  }

  async close(): Promise<void> {
    const agents = [...this.#agents.values()];
    this.#agents.clear();
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  #getAgent({ url, addresses }: Target, maxBytes: number, undici: Undici): Dispatcher {
    const key = `${url.origin} ${maxBytes} ${addresses.map(({ address }) => address).join(' ')}`;
    let agent = this.#agents.get(key);
    if (agent === undefined) agent = createAgent(addresses, this.#connectionOptions, maxBytes, undici);
    else this.#agents.delete(key);
    this.#agents.set(key, agent);
    if (this.#agents.size > MAX_AGENTS) {
      const [oldestKey, oldestAgent] = this.#agents.entries().next().value as [string, Dispatcher];
      this.#agents.delete(oldestKey);
      void oldestAgent.close();
    }
    return agent;
  }
}

/** Returns an agent that resolves no names: it connects to the given addresses, or to the proxy. */
function createAgent(
  addresses: Target['addresses'],
  { ca, verify = true, client, proxy }: ConnectionOptions,
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
  const candidates = addresses.map(({ address, family }) => ({ address, family }));
  const firstCandidate = candidates[0] as (typeof candidates)[number];
  const connect = buildConnector({
    ...tls,
    // HTTP/2 is disabled: its empty frames and compressed headers allow a server to keep clients busy.
    allowH2: false,
    autoSelectFamily: candidates.length > 1,
    lookup: (_host, options, callback) => {
      if (options.all === true) callback(null, candidates);
      else callback(null, firstCandidate.address, firstCandidate.family);
    },
  });
  return new Agent({
    keepAliveTimeout: 4_000,
    maxResponseSize: -1,
    allowH2: false,
    connect: limitBytes(connect, maxBytes),
  });
}

/**
 * Returns a callback that counts informational responses, and a signal that aborts the request when there are too
 * many.
 */
function limitInformationalResponses({ target, signal }: TransportRequest): {
  signal: AbortSignal;
  onInfo: () => void;
} {
  const controller = new AbortController();
  let count = 0;
  const onInfo = (): void => {
    if (++count > MAX_INFORMATIONAL_RESPONSES)
      controller.abort(
        tooLargeError(target, `more than ${MAX_INFORMATIONAL_RESPONSES} informational responses before it`),
      );
  };
  return { onInfo, signal: AbortSignal.any([signal, controller.signal]) };
}

function toPairs(rawHeaders: readonly (string | Buffer)[]): HeaderList {
  const pairs: HeaderList = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2)
    pairs.push([String(rawHeaders[i]).toLowerCase(), String(rawHeaders[i + 1])]);
  return pairs;
}

async function* chunksOf(
  body: Readable,
  decoder: NodeJS.ReadWriteStream | undefined,
  { maxBytes, limitOption, target, byteQuota }: TransportRequest,
): AsyncGenerator<Uint8Array, void> {
  const source =
    decoder === undefined ? body : body.on('error', (error) => decoder.emit('error', error)).pipe(decoder);
  const quota = byteQuota ?? { remainingBytes: Infinity };
  let receivedBytes = 0;
  let isComplete = false;
  try {
    for await (const chunk of source) {
      const { byteLength } = chunk as Uint8Array;
      receivedBytes += byteLength;
      quota.remainingBytes -= byteLength;
      if (receivedBytes > maxBytes)
        throw tooLargeError(
          target,
          `more than ${maxBytes} bytes${limitOption ? `; raise ${limitOption} to allow it` : ''}`,
        );
      if (quota.remainingBytes < 0)
        throw tooLargeError(target, 'more bytes than all requests of this job may receive together');
      yield chunk as Uint8Array;
    }
    isComplete = true;
  } finally {
    if (!isComplete) quota.remainingBytes += receivedBytes;
    body.destroy();
  }
}

async function readAllBytes(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  // The body may arrive in chunks of one byte, which as separate objects would take a hundred times its size.
  const buffer = new ByteBuffer();
  for await (const chunk of chunks) buffer.add(chunk);
  return buffer.take();
}

function tooLargeError({ url }: Target, excess: string): EgressError {
  return new EgressError('EGRESS_TOO_LARGE', `The response of ${url.host} has ${excess}.`);
}
