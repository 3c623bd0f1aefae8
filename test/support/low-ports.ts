import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** The range of the ports: above common services, and below the ephemeral ports and the maximum of a signed 16-bit number. */
const FROM = 15_000;
const BELOW = 32_768;
const TRIES = 1000;

/**
 * Returns `count` free ports of the loopback address below 32,768. A full Temporal server on PostgreSQL needs them: its
 * table of members cannot store greater numbers, and the free ports that a system assigns are mostly greater.
 */
export async function lowPorts(count: number): Promise<number[]> {
  const held = new Map<number, Server>();
  for (let tries = 0; held.size < count; tries++) {
    if (tries === TRIES) throw new Error(`No ${count} ports are free between ${FROM} and ${BELOW}.`);
    const port = randomInt(FROM, BELOW);
    const server = held.has(port) ? undefined : await listenOn(port);
    if (server) held.set(port, server);
  }
  await Promise.all([...held.values()].map(async (server) => once(server.close(), 'close')));
  return [...held.keys()];
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
