import { isIPv6 } from 'node:net';
import { deniedError, EgressError, isEgressError } from './error.ts';
import { createCheck } from './guard.ts';
import { filterRequestHeaders } from './headers.ts';
import { followRedirects, redirectLocation, type Hop } from './redirects.ts';
import {
  Transport,
  type ConnectionOptions,
  type TransportRequest,
  type RawResponse,
  type StreamedResponse,
} from './transport.ts';
import { unlessAborted } from './unless-aborted.ts';
import type {
  IpAddress,
  EgressPolicy,
  EgressRequest,
  EgressResponse,
  EgressStream,
  Resolve,
  ServerCheckRequest,
  Target,
} from './types.ts';

/** Limits of a request where its policy sets none. */
const DEFAULTS = {
  timeoutMs: 60_000,
  maxResponseBytes: 10 * 2 ** 20,
  maxFileBytes: 100 * 2 ** 20,
  maxRedirects: 5,
};

const FORBIDDEN_METHODS = new Set(['CONNECT', 'TRACE', 'TRACK']);

/** An HTTP client that connects only where its policy allows it. */
export interface Egress {
  /** Sends a request and follows redirects. Throws EgressError. */
  fetch(request: EgressRequest): Promise<EgressResponse>;
  /** Like `fetch`, but returns as soon as the response headers have arrived. The limits apply to the body too. */
  open(request: EgressRequest): Promise<EgressStream>;
  /** Checks a URL and returns it with the addresses that were checked. Throws EgressError EGRESS_DENIED. */
  check(url: string | URL): Promise<Target>;
  /**
   * Checks a server of a protocol other than HTTP, and returns the addresses that were checked: connect only to these.
   * Throws EgressError EGRESS_DENIED.
   */
  checkServer(server: ServerCheckRequest): Promise<readonly IpAddress[]>;
  /** Closes all connections; running requests fail. */
  close(): Promise<void>;
}

function createInitialHop(request: EgressRequest): Hop {
  const method = (request.method ?? 'GET').toUpperCase();
  const host = URL.canParse(request.url) ? new URL(request.url).host : request.url.slice(0, 100);
  if (!/^[A-Z]{1,20}$/.test(method) || FORBIDDEN_METHODS.has(method))
    throw deniedError(`The method ${method.slice(0, 30)} is not allowed in requests to ${host}.`);
  const body = request.body ?? undefined;
  if (body !== undefined && (method === 'GET' || method === 'HEAD'))
    throw deniedError(`A ${method} request to ${host} cannot have a body.`);
  return { url: request.url, method, headers: filterRequestHeaders(request.headers, host), body };
}

/**
 * Returns a URL with only this host and port. Throws for an invalid port, or a host that a URL parser reads
 * differently.
 */
function serverUrl(host: string, port: number): string {
  const isValidHost = /^[^\s/?#@\\:[\]]+$/.test(host) || isIPv6(host);
  if (!isValidHost || !Number.isInteger(port) || port < 1 || port > 65_535)
    throw deniedError(`"${host.slice(0, 200)}" and ${port} are not a host and a port.`);
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}/`;
}

type ResponseWithUrl<R> = R & { readonly requestUrl: URL };

function withUrl<R>({ requestUrl, ...response }: ResponseWithUrl<R>, redirected: boolean) {
  return { ...response, url: requestUrl.href, redirected };
}

/** Returns the body as a stream whose errors `translate` converts. */
function createBodyStream(
  chunks: StreamedResponse['chunks'],
  discard: StreamedResponse['discard'],
  translate: (error: unknown) => EgressError,
) {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { value, done } = await chunks.next();
          if (done === true) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          controller.error(translate(error));
        }
      },
      cancel: discard,
    },
    // Nothing is read before the consumer requests it.
    { highWaterMark: 0 },
  );
}

/** Converts an error of the connection to an EgressError. The code of its `cause` tells callers whether to retry. */
function toEgressError(
  error: unknown,
  request: EgressRequest,
  deadline: AbortSignal,
  timeoutMs: number,
): EgressError {
  const host = URL.canParse(request.url) ? new URL(request.url).host : request.url.slice(0, 100);
  if (request.signal?.aborted === true)
    return new EgressError('EGRESS_ABORTED', `The request to ${host} was aborted.`, { cause: error });
  if (deadline.aborted)
    return new EgressError('EGRESS_TIMEOUT', `${host} did not respond within ${timeoutMs} ms.`, {
      cause: error,
    });
  if (isEgressError(error)) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return new EgressError(
    'EGRESS_FAILED',
    `The request to ${host} failed: ${message || code || 'connection lost'}.`,
    { cause: error },
  );
}

/** The part that a complete and a streamed response share. */
type ResponseHead = Omit<RawResponse, 'body'>;

class EgressClient implements Egress {
  readonly check: Egress['check'];
  readonly checkServer: Egress['checkServer'];
  readonly #transport: Transport;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;
  readonly #maxFileBytes: number;
  readonly #maxRedirects: number;

  constructor(policy: EgressPolicy, resolve: Resolve | undefined, connectionOptions: ConnectionOptions) {
    this.check = createCheck(policy, resolve);
    this.checkServer = async ({ host, port, ports, signal = new AbortController().signal }) => {
      const check = createCheck({ ...policy, ports: policy.ports ?? ports }, resolve);
      const target = await unlessAborted(check(serverUrl(host, port)), signal);
      return target.addresses;
    };
    this.#timeoutMs = policy.timeoutMs ?? DEFAULTS.timeoutMs;
    this.#maxBytes = policy.maxResponseBytes ?? DEFAULTS.maxResponseBytes;
    this.#maxRedirects = policy.maxRedirects ?? DEFAULTS.maxRedirects;
    this.#maxFileBytes = policy.maxFileBytes ?? DEFAULTS.maxFileBytes;
    this.#transport = new Transport(connectionOptions, { memory: this.#maxBytes, file: this.#maxFileBytes });
  }

  fetch(request: EgressRequest): Promise<EgressResponse> {
    return this.#withTimeout(request, (signal) =>
      // The complete response is held in memory, so the limit for files does not apply.
      this.#sendWithRedirects({ ...request, toFile: false }, signal, (transportRequest) =>
        this.#transport.send(transportRequest),
      ),
    );
  }

  open(request: EgressRequest): Promise<EgressStream> {
    const followsRedirects = request.redirect !== 'manual';
    return this.#withTimeout(request, async (signal, translate) => {
      const { chunks, discard, ...head } = await this.#sendWithRedirects(
        request,
        signal,
        async (transportRequest) => {
          const response = await this.#transport.open(transportRequest);
          if (followsRedirects && redirectLocation(response) !== undefined) response.discard();
          return response;
        },
      );
      return { ...head, body: createBodyStream(chunks, discard, translate) };
    });
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /** Calls `work` with a signal for the request's limits, and a function that converts errors to an EgressError. */
  async #withTimeout<R>(
    request: EgressRequest,
    work: (signal: AbortSignal, translate: (error: unknown) => EgressError) => Promise<R>,
  ): Promise<R> {
    const timeoutMs = Math.min(this.#timeoutMs, request.timeoutMs ?? this.#timeoutMs);
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal]);
    const translate = (error: unknown): EgressError => toEgressError(error, request, deadline, timeoutMs);
    try {
      return await work(signal, translate);
    } catch (error) {
      throw translate(error);
    }
  }

  async #sendWithRedirects<R extends ResponseHead>(
    request: EgressRequest,
    signal: AbortSignal,
    transmit: (transportRequest: TransportRequest) => Promise<R>,
  ) {
    const { redirect = 'follow', byteQuota, toFile = false } = request;
    const allowedBytes = toFile ? this.#maxFileBytes : this.#maxBytes;
    const maxBytes = Math.min(allowedBytes, request.maxResponseBytes ?? allowedBytes);
    const option = toFile ? 'maxFileBytes' : 'maxResponseBytes';
    const limitOption = maxBytes < allowedBytes ? undefined : option;
    const send = async (hop: Hop): Promise<ResponseWithUrl<R>> => {
      const target = await unlessAborted(this.check(hop.url), signal);
      const response = await transmit({ ...hop, target, signal, maxBytes, limitOption, toFile, byteQuota });
      if (redirect === 'error' && redirectLocation(response) !== undefined)
        throw deniedError(`${target.url.host} redirects, which this request does not allow.`);
      return { ...response, requestUrl: target.url };
    };
    const initialHop = createInitialHop(request);
    if (redirect === 'manual') return withUrl(await send(initialHop), false);
    const maxRedirects = this.#maxRedirects;
    const { response, redirectCount } = await followRedirects(initialHop, {
      send,
      maxRedirects,
      createError: deniedError,
    });
    return withUrl(response, redirectCount > 0);
  }
}

/**
 * Creates an HTTP client with a policy. By default it allows only public addresses and the usual web ports. `resolve`
 * replaces the system's resolver; `connectionOptions` configures how connections are made.
 * @throws SandboxError INVALID_OPTION for an invalid policy.
 */
export function createEgress(
  policy: EgressPolicy = {},
  resolve?: Resolve,
  connectionOptions: ConnectionOptions = {},
): Egress {
  return new EgressClient(policy, resolve, connectionOptions);
}
