import type { HttpClient } from '@heddle/engine';

const STATUSES_WITHOUT_BODY = new Set([101, 204, 205, 304]);

/**
 * Returns a `fetch` for SDKs. It sends its requests through a client that applies the egress policy, and fails on
 * redirects.
 */
export function toFetch(client: HttpClient): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const body = request.body === null ? null : new Uint8Array(await request.arrayBuffer());
    const {
      status,
      statusText,
      headers,
      body: stream,
    } = await client.open({
      url: request.url,
      method: request.method,
      headers: [...request.headers],
      body,
      // A redirect could send the key to another host.
      redirect: 'error',
      signal: request.signal,
    });
    if (!STATUSES_WITHOUT_BODY.has(status)) return new Response(stream, { status, statusText, headers });
    await stream.cancel();
    return new Response(null, { status, statusText, headers });
  };
}
