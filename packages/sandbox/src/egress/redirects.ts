import type { HeaderList } from './headers.ts';

const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);

/**
 * Headers that are kept on a redirect to another origin. An allow list, because a list of credentials would be
 * incomplete: services use their own names (`x-functions-key`, `ocp-apim-subscription-key`).
 */
const CROSS_ORIGIN_HEADERS = new Set([
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
  // Limits the depth of workflows that call each other over HTTP, including through a proxy that redirects to HTTPS.
  'x-sim-via',
]);

/** One request of a redirect chain; header names are in lower case. */
export interface Hop {
  readonly url: string | URL;
  readonly method: string;
  readonly headers: HeaderList;
  readonly body?: string | Uint8Array | undefined;
}

/** The response to a hop. */
interface HopResponse {
  readonly status: number;
  readonly headers: HeaderList;
  /** The URL that the hop was sent to. */
  readonly requestUrl: URL;
}

interface RedirectOptions<R extends HopResponse> {
  send: (hop: Hop) => Promise<R>;
  /** Maximum number of redirects. */
  maxRedirects: number;
  /** Creates the error for a redirect that cannot be followed. */
  createError: (message: string) => Error;
}

/**
 * Follows redirects by the rules of the Fetch standard (HTTP-redirect fetch). Returns the first response that is not a
 * redirect, and the number of redirects.
 */
export async function followRedirects<R extends HopResponse>(
  firstHop: Hop,
  { send, maxRedirects, createError }: RedirectOptions<R>,
): Promise<{ response: R; redirectCount: number }> {
  let hop = firstHop;
  for (let redirectCount = 0; ; redirectCount++) {
    const response = await send(hop);
    const location = redirectLocation(response);
    if (location === undefined) return { response, redirectCount };
    const { host, href } = response.requestUrl;
    if (redirectCount >= maxRedirects)
      throw createError(`The request was redirected more than ${maxRedirects} times, last by ${host}.`);
    if (!URL.canParse(location, href))
      throw createError(`${host} redirects to "${location.slice(0, 200)}", which is not a URL.`);
    hop = nextHop(hop, response, new URL(location, href));
  }
}

/** Returns the target of a redirect; undefined if the response is not one. */
export function redirectLocation({
  status,
  headers,
}: Pick<HopResponse, 'status' | 'headers'>): string | undefined {
  return REDIRECT_STATUSES.has(status) ? headers.find(([name]) => name === 'location')?.[1] : undefined;
}

function nextHop(hop: Hop, { status, requestUrl }: HopResponse, url: URL): Hop {
  const becomesGet =
    (status === 303 && hop.method !== 'HEAD') ||
    ((status === 301 || status === 302) && hop.method === 'POST');
  const headers = hop.headers.filter(
    ([name]) =>
      (url.origin === requestUrl.origin || CROSS_ORIGIN_HEADERS.has(name)) &&
      !(becomesGet && name.startsWith('content-')),
  );
  return { url, method: becomesGet ? 'GET' : hop.method, headers, body: becomesGet ? undefined : hop.body };
}
