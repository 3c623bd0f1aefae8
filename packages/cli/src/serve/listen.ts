import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { UsageError } from '../usage-error.ts';

/** Time limit for sending the last responses. */
const LAST_RESPONSES_TIMEOUT_MS = 1000;

/** Wildcard addresses with their loopback addresses. */
const LOOPBACK_ADDRESSES: { [address: string]: string | undefined } = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/**
 * Limits, in milliseconds, for receiving the headers and the whole request. A slower connection gets status 408 and is
 * closed. The limits do not apply to the response.
 */
const TIMEOUTS = { headersTimeout: 15_000, requestTimeout: 60_000, connectionsCheckingInterval: 5000 };

/** A listening server. */
export interface ListeningServer {
  /** `http://host:port`. */
  url: string;
  /** URL from this machine: `url`, with the loopback address in place of a wildcard. */
  origin: string;
  /** Resolves with the error if the listening socket fails. */
  failure: Promise<Error>;
  /** Stops accepting connections. */
  close(): void;
  /** Resolves when all connections have ended. Closes connections that remain after a second. */
  waitUntilClosed(): Promise<void>;
}

/** Answers a request. `peer` is the address of the other end of the connection. */
export type RequestHandler = (request: Request, peer: string | undefined) => Promise<Response>;

/** Starts a server that passes requests to `fetch`. Throws a usage error if it cannot listen on the port or address. */
export async function listen(
  fetch: RequestHandler,
  { host, port }: { host: string; port: number },
  timeouts = TIMEOUTS,
): Promise<ListeningServer> {
  const listener = getRequestListener(
    (request, { incoming }) => fetch(request, incoming.socket.remoteAddress),
    { overrideGlobalObjects: false },
  );
  const server = createServer(timeouts, (request, response) => void listener(request, response));
  const { promise: listening, resolve, reject } = Promise.withResolvers<undefined>();
  server.once('error', reject);
  server.listen(port, host, () => resolve(undefined));
  try {
    await listening;
  } catch (error) {
    const { message } = error as Error;
    throw new UsageError(`Cannot listen on ${host}:${port}: ${message}`, 'Choose another --port or --host.');
  }
  server.off('error', reject);
  const { promise: failure, resolve: resolveFailure } = Promise.withResolvers<Error>();
  server.on('error', resolveFailure);
  const { promise: closed, resolve: resolveClosed } = Promise.withResolvers<void>();
  const { address, family, port: actualPort } = server.address() as AddressInfo;
  const urlOf = (ip: string): string => `http://${family === 'IPv6' ? `[${ip}]` : ip}:${actualPort}`;
  return {
    url: urlOf(address),
    origin: urlOf(LOOPBACK_ADDRESSES[address] ?? address),
    failure,
    close() {
      server.close(() => resolveClosed());
      server.closeIdleConnections();
    },
    async waitUntilClosed() {
      // All responses already exist and only need to be sent.
      const timer = setTimeout(() => server.closeAllConnections(), LAST_RESPONSES_TIMEOUT_MS);
      await closed;
      clearTimeout(timer);
    },
  };
}
