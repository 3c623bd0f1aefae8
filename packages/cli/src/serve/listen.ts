import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { UsageError } from '../usage-error.ts';

/** How long answers may take to reach their callers once everything has ended. */
const LAST_ANSWERS_MS = 1000;

/** Addresses that stand for every address of the machine, and the one that reaches it from itself. */
const EVERY_ADDRESS: { [address: string]: string | undefined } = { '0.0.0.0': '127.0.0.1', '::': '::1' };
/**
 * Deadlines for what clients send, in milliseconds: all headers, and the whole request. A connection that is over one is
 * answered with 408 and closed. How long an answer takes is another matter.
 */
const TIMEOUTS = { headersTimeout: 15_000, requestTimeout: 60_000, connectionsCheckingInterval: 5000 };

/** A server that listens. */
export interface Listening {
  /** `http://host:port`. */
  url: string;
  /** How this machine reaches it: like `url`, and the loopback address where it listens on every address. */
  origin: string;
  /** Resolves when it can listen no more. */
  failed: Promise<Error>;
  /** Takes no more connections. */
  close(): void;
  /** Resolves when the connections that there were have ended; those that are left after a second are cut. */
  ended(): Promise<void>;
}

/** Answers requests with `fetch`. Throws a usage error for a port or address that it cannot have. */
export async function listen(
  fetch: (request: Request) => Promise<Response>,
  { host, port }: { host: string; port: number },
  timeouts = TIMEOUTS,
): Promise<Listening> {
  const answer = getRequestListener(fetch, { overrideGlobalObjects: false });
  const server = createServer(timeouts, (request, response) => void answer(request, response));
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
  const { promise: failed, resolve: fail } = Promise.withResolvers<Error>();
  server.on('error', fail);
  const { promise: closed, resolve: gone } = Promise.withResolvers<void>();
  const { address, family, port: taken } = server.address() as AddressInfo;
  const urlOf = (at: string): string => `http://${family === 'IPv6' ? `[${at}]` : at}:${taken}`;
  return {
    url: urlOf(address),
    origin: urlOf(EVERY_ADDRESS[address] ?? address),
    failed,
    close() {
      server.close(() => gone());
      server.closeIdleConnections();
    },
    async ended() {
      // What waited has its answer by now, and is only to be sent.
      const late = setTimeout(() => server.closeAllConnections(), LAST_ANSWERS_MS);
      await closed;
      clearTimeout(late);
    },
  };
}
