import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A TCP proxy that a test can disconnect from its server. */
export interface ServerProxy {
  readonly address: string;
  /** Closes all connections and refuses new connections. */
  disconnect(): void;
}

/** Starts a proxy to the server at `address`. It is closed after the test. */
export async function startProxy(address: string): Promise<ServerProxy> {
  const { hostname, port } = new URL(`tcp://${address}`);
  const sockets = new Set<Socket>();
  let isDisconnected = false;
  const server = createServer((client) => {
    if (isDisconnected) return client.destroy();
    const upstream = connect(Number(port), hostname);
    for (const [socket, peer] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.pipe(peer);
      socket.on('error', () => peer.destroy());
      socket.on('close', () => peer.destroy());
    }
    return undefined;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const disconnect = (): void => {
    isDisconnected = true;
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    disconnect();
    server.close();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, disconnect: disconnect };
}
