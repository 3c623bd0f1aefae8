import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** The numbers of `count` ports of the loopback address that nobody listens on at this moment. */
export async function freePorts(count: number): Promise<number[]> {
  // All are held before the first is let go, so that they differ.
  const servers = Array.from({ length: count }, () => createServer());
  const listening = servers.map(async (server) => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  });
  const ports = await Promise.all(listening);
  await Promise.all(servers.map(async (server) => once(server.close(), 'close')));
  return ports;
}
