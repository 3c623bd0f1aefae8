import type { Pairs } from './headers.ts';

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * The headers that go on to another origin. A list of credentials would miss some: each service names its own
 * (`x-functions-key`, `ocp-apim-subscription-key`).
 */
const TRAVELLING = new Set([
  'accept',
  'accept-charset',
  'accept-language',
  'cache-control',
  'content-encoding',
  'content-language',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'pragma',
  'prefer',
  'range',
  'user-agent',
  // Workflows that call each other over HTTP are stopped by it, also where a proxy redirects them to HTTPS.
  'x-sim-via',
]);

/** One request on the way to an answer; names of headers in lower case. */
export interface Hop {
  readonly url: string | URL;
  readonly method: string;
  readonly headers: Pairs;
  readonly body: string | Uint8Array | null;
}

/** The answer to a hop, and the address that it was sent to. */
interface Reply {
  readonly status: number;
  readonly headers: Pairs;
  readonly at: URL;
}

interface Following<R extends Reply> {
  send: (hop: Hop) => Promise<R>;
  /** Redirects that are followed. */
  most: number;
  /** What is thrown, in these words, where a redirect cannot be followed. */
  refusal: (message: string) => Error;
}

/** Returns the first answer that is no redirect, and how many came before it, by the rules of the Fetch standard (HTTP-redirect fetch). */
export async function followRedirects<R extends Reply>(
  first: Hop,
  { send, most, refusal }: Following<R>,
): Promise<{ reply: R; redirects: number }> {
  let hop = first;
  for (let redirects = 0; ; redirects++) {
    const reply = await send(hop);
    const location = redirectOf(reply);
    if (location === undefined) return { reply, redirects };
    const { host, href } = reply.at;
    if (redirects >= most)
      throw refusal(`The request was redirected more than ${most} times, last by ${host}.`);
    if (!URL.canParse(location, href))
      throw refusal(`${host} redirects to "${location.slice(0, 200)}", which is no URL.`);
    hop = nextHop(hop, reply, new URL(location, href));
  }
}

/** Returns where an answer redirects to; undefined for one that is no redirect. */
export function redirectOf({ status, headers }: Pick<Reply, 'status' | 'headers'>): string | undefined {
  return REDIRECTS.has(status) ? headers.find(([name]) => name === 'location')?.[1] : undefined;
}

function nextHop(hop: Hop, { status, at }: Reply, url: URL): Hop {
  const toGet =
    (status === 303 && hop.method !== 'HEAD') ||
    ((status === 301 || status === 302) && hop.method === 'POST');
  const headers = hop.headers.filter(
    ([name]) => (url.origin === at.origin || TRAVELLING.has(name)) && !(toGet && name.startsWith('content-')),
  );
  return { url, method: toGet ? 'GET' : hop.method, headers, body: toGet ? null : hop.body };
}
