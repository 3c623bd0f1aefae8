import { denied, EgressError, isEgressError } from './error.ts';
import { createCheck } from './guard.ts';
import { requestHeaders } from './headers.ts';
import { followRedirects, redirectOf, type Hop } from './redirects.ts';
import { Transport, type Connection, type Reply } from './transport.ts';
import { unlessAborted } from './unless-aborted.ts';
import type { EgressPolicy, EgressRequest, EgressResponse, Resolve, Target } from './types.ts';

const FORBIDDEN_METHODS = new Set(['CONNECT', 'TRACE', 'TRACK']);

/** An HTTP client that connects only where its policy allows it. */
export interface Egress {
  /** Sends a request and follows redirects. Throws EgressError. */
  fetch(request: EgressRequest): Promise<EgressResponse>;
  /** Checks a URL and returns it with the addresses that were checked. Throws EgressError EGRESS_DENIED. */
  check(url: string | URL): Promise<Target>;
  /** Closes idle connections. */
  close(): Promise<void>;
}

function firstHop(request: EgressRequest): Hop {
  const method = (request.method ?? 'GET').toUpperCase();
  const host = URL.canParse(request.url) ? new URL(request.url).host : request.url.slice(0, 100);
  if (!/^[A-Z]{1,20}$/.test(method) || FORBIDDEN_METHODS.has(method))
    throw denied(`The method ${method.slice(0, 30)} is not allowed in requests to ${host}.`);
  const body = request.body ?? null;
  if (body !== null && (method === 'GET' || method === 'HEAD'))
    throw denied(`A ${method} request to ${host} cannot have a body.`);
  return { url: request.url, method, headers: requestHeaders(request.headers, host), body };
}

function withUrl({ at, ...reply }: Reply & { at: URL }): Reply & { url: string } {
  return { ...reply, url: at.href };
}

/** Converts an error of the connection to an EgressError. Callers can still read its code, in order to retry. */
function explain(
  error: unknown,
  request: EgressRequest,
  deadline: AbortSignal,
  timeoutMs: number,
): EgressError {
  const host = URL.canParse(request.url) ? new URL(request.url).host : request.url.slice(0, 100);
  if (request.signal?.aborted === true)
    return new EgressError('EGRESS_ABORTED', `The request to ${host} was aborted.`, { cause: error });
  if (deadline.aborted)
    return new EgressError('EGRESS_TIMEOUT', `${host} did not answer within ${timeoutMs} ms.`, {
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

/**
 * Creates an HTTP client with a policy. By default it allows only public addresses and the usual web ports. `resolve`
 * replaces the system's resolver; `connection` configures how connections are made.
 * @throws SandboxError INVALID_OPTION for an invalid policy.
 */
export function createEgress(
  policy: EgressPolicy = {},
  resolve?: Resolve,
  connection: Connection = {},
): Egress {
  const check = createCheck(policy, resolve);
  const { timeoutMs = 60_000, maxResponseBytes = 10 * 1024 * 1024, maxRedirects = 5 } = policy;
  const transport = new Transport(connection, maxResponseBytes);

  const follow = async (request: EgressRequest, signal: AbortSignal): Promise<EgressResponse> => {
    const maxBytes = Math.min(maxResponseBytes, request.maxResponseBytes ?? maxResponseBytes);
    const { redirect = 'follow', allowance } = request;
    const send = async (hop: Hop): Promise<Reply & { at: URL }> => {
      const target = await unlessAborted(check(hop.url), signal);
      const reply = await transport.exchange({ ...hop, target, signal, maxBytes, allowance });
      if (redirect === 'error' && redirectOf(reply) !== undefined)
        throw denied(`${target.url.host} redirects, which this request does not allow.`);
      return { ...reply, at: target.url };
    };
    const first = firstHop(request);
    if (redirect === 'manual') return { ...withUrl(await send(first)), redirected: false };
    const { reply, redirects } = await followRedirects(first, { send, max: maxRedirects, refusal: denied });
    return { ...withUrl(reply), redirected: redirects > 0 };
  };

  return {
    check,
    close: () => transport.close(),
    async fetch(request) {
      const ms = Math.min(timeoutMs, request.timeoutMs ?? timeoutMs);
      const deadline = AbortSignal.timeout(ms);
      const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal]);
      try {
        return await follow(request, signal);
      } catch (error) {
        throw explain(error, request, deadline, ms);
      }
    },
  };
}
