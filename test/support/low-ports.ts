import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** The range is above the ports of common services, and below both the ephemeral ports and 2 ** 15. */
const MIN_PORT = 15_000;
const END_PORT = 32_768;
const MAX_ATTEMPTS = 1000;

/**
 * Returns `count` free ports of the loopback address below 32,768. A full Temporal server on PostgreSQL needs them: its
 * table of members cannot store greater numbers, and the free ports that a system assigns are mostly greater.
 */
export async function lowPorts(count: number): Promise<number[]> {
  const servers = new Map<number, Server>();
  for (let attempts = 0; servers.size < count; attempts++) {
    if (attempts === MAX_ATTEMPTS)
      throw new Error(`No ${count} ports are free between ${MIN_PORT} and ${END_PORT}.`);
    const port = randomInt(MIN_PORT, END_PORT);
    const server = servers.has(port) ? undefined : await listenOn(port);
    if (server) servers.set(port, server);
  }
  await Promise.all([...servers.values()].map(async (server) => once(server.close(), 'close')));
  return [...servers.keys()];
}

/** Returns a server that listens on `port`; undefined if the port is in use. */
async function listenOn(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return server;
  } catch {
    return undefined;
  }
}
