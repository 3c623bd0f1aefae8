/** Limits of a request to an identity provider. */
export interface FetchLimits {
  timeoutMs: number;
  maxBytes: number;
}

/**
 * Sends a request. Returns the response with its status, content type and whole body. Throws for a redirect, a large
 * body, and a timeout.
 */
export async function fetchWithLimits(
  url: string,
  init: RequestInit,
  { timeoutMs, maxBytes }: FetchLimits,
): Promise<Response> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = init.signal ? AbortSignal.any([init.signal, timeout]) : timeout;
  const response = await fetch(url, { ...init, redirect: 'error', signal });
  const chunks: Uint8Array[] = [];
  let byteCount = 0;
  for await (const chunk of response.body ?? []) {
    byteCount += chunk.length;
    if (byteCount > maxBytes)
      throw new Error(`${new URL(url).origin} sent a response of more than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  const { status, headers } = response;
  return new Response(Buffer.concat(chunks), {
    status,
    headers: { 'Content-Type': headers.get('content-type') ?? '' },
  });
}

const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Returns the URL of an identity provider. Throws a RangeError unless it is `https:`, or `http:` on this machine, and
 * for a URL with a user name or password.
 */
export function parseProviderUrl(value: string, name: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isSafe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK_HOSTS.has(url.hostname));
  if (url && isSafe && url.username === '' && url.password === '') return url;
  throw new RangeError(`${name} must be an https URL without a password: ${JSON.stringify(value)}.`);
}
