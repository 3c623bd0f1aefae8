import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { UsageError } from '../usage-error.ts';

/** Listens on this machine for the redirect of a browser at the end of an OAuth authorization. */
export interface RedirectListener {
  redirectUri: string;
  /**
   * Returns the URL of the first redirect with this state; other redirects are rejected. Throws a usage error after
   * `timeoutMs`.
   */
  waitForRedirect(state: string, timeoutMs: number): Promise<URL>;
  close(): void;
}

const REDIRECT_PATH = '/callback';
const HEADERS = {
  'Content-Type': 'text/plain; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'",
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  Connection: 'close',
};

/** Listens on 127.0.0.1 only. With `port` 0, uses a free port. Throws a usage error if it cannot listen. */
export async function listenForRedirect(port: number): Promise<RedirectListener> {
  let expectedState: string | undefined;
  const { promise: redirect, resolve } = Promise.withResolvers<URL>();
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? '', redirectUri);
    if (request.method !== 'GET' || url?.pathname !== REDIRECT_PATH) return send(response, 404, 'Not found.');
    // Other pages in the browser can send requests here too, but do not know the state.
    if (expectedState === undefined || url.searchParams.get('state') !== expectedState)
      return send(response, 400, 'This is not the authorization that Heddle is waiting for.');
    expectedState = undefined;
    resolve(url);
    return send(
      response,
      200,
      'Heddle has received the response. The terminal shows whether the account is connected.',
    );
  });
  await new Promise<void>((resolveListening, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(new UsageError(`Cannot listen on 127.0.0.1:${port} for the redirect (${error.code}).`));
    });
    server.listen(port, '127.0.0.1', resolveListening);
  });
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${REDIRECT_PATH}`;
  return {
    redirectUri,
    async waitForRedirect(state, timeoutMs) {
      expectedState = state;
      const { promise: timeout, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => {
        reject(
          new UsageError(`There was no answer within ${timeoutMs / 1000} seconds.`, 'Run the command again.'),
        );
      }, timeoutMs);
      try {
        return await Promise.race([redirect, timeout]);
      } finally {
        clearTimeout(timer);
      }
    },
    close() {
      server.close();
      server.closeIdleConnections();
    },
  };
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, HEADERS).end(`${text}\n`);
}
