import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { UsageError } from '../usage-error.ts';

/** How long answers may take to reach their callers once everything has ended. */
const LAST_ANSWERS_MS = 1000;

/** A server that listens. */
export interface Listening {
  /** `http://host:port`. */
  url: string;
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
): Promise<Listening> {
  const answer = getRequestListener(fetch, { overrideGlobalObjects: false });
  const server = createServer((request, response) => void answer(request, response));
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
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`,
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
