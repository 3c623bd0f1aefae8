import { denied, EgressError, isEgressError } from './error.ts';
import { createCheck } from './guard.ts';
import { redirectHeaders, requestHeaders, type Pairs } from './headers.ts';
import { Transport, type Connection, type Reply } from './transport.ts';
import { unlessAborted } from './unless-aborted.ts';
import type { EgressPolicy, EgressRequest, EgressResponse, Resolve, Target } from './types.ts';

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const FORBIDDEN_METHODS = new Set(['CONNECT', 'TRACE', 'TRACK']);

/** An HTTP client that connects only where its policy allows. */
export interface Egress {
  /** The response, after redirects. Throws EgressError. */
  fetch(request: EgressRequest): Promise<EgressResponse>;
  /** The URL with the addresses it was judged by. Throws EgressError EGRESS_DENIED. */
  check(url: string | URL): Promise<Target>;
  /** Ends idle connections. */
  close(): Promise<void>;
}

interface Hop {
  url: string | URL;
  method: string;
  headers: Pairs;
  body: string | Uint8Array | null;
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

/** The hop that a redirect asks for, by the rules of the Fetch standard (HTTP-redirect fetch). */
function nextHop(hop: Hop, from: URL, reply: Reply, location: string): Hop {
  if (!URL.canParse(location, from.href))
    throw denied(`${from.host} redirects to "${location.slice(0, 200)}", which is no URL.`);
  const url = new URL(location, from);
  const toGet =
    (reply.status === 303 && hop.method !== 'HEAD') ||
    ((reply.status === 301 || reply.status === 302) && hop.method === 'POST');
  return {
    url,
    method: toGet ? 'GET' : hop.method,
    headers: redirectHeaders(hop.headers, url.origin === from.origin, !toGet),
    body: toGet ? null : hop.body,
  };
}

/** An error of the connection in words; its code stays readable for callers that retry. */
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
 * An HTTP client behind a policy; without one, only public addresses and the usual web ports.
 * `resolve` stands for the system's resolver, `connection` says how its connections are made.
 * @throws SandboxError INVALID_OPTION for a wrong policy.
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
    let hop = firstHop(request);
    for (let hops = 0; ; hops++) {
      const target = await unlessAborted(check(hop.url), signal);
      const reply = await transport.exchange({
        target,
        method: hop.method,
        headers: hop.headers,
        body: hop.body,
        signal,
        maxBytes,
        allowance: request.allowance,
      });
      const location = REDIRECTS.has(reply.status)
        ? reply.headers.find(([name]) => name === 'location')?.[1]
        : undefined;
      if (location === undefined || request.redirect === 'manual') {
        return { ...reply, url: target.url.href, redirected: hops > 0 };
      }
      if (request.redirect === 'error')
        throw denied(`${target.url.host} redirects, which this request does not allow.`);
      if (hops >= maxRedirects)
        throw denied(
          `The request was redirected more than ${maxRedirects} times, last by ${target.url.host}.`,
        );
      hop = nextHop(hop, target.url, reply, location);
    }
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
