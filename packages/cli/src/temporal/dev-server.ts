import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { DevServer } from '@heddle/temporal/server';
import type { Env } from '../env.ts';
import type { Io } from '../io.ts';
import { sanitizeLine, styleFor } from '../render/style.ts';
import { UsageError } from '../usage-error.ts';
import { loadTemporalServer } from './runtime.ts';

/** A running Temporal server. */
export interface RunningServer {
  address: string;
  /** URL of the Temporal UI; undefined if there is none. */
  uiUrl: string | undefined;
  /** The server that this process started; undefined if the server was already running, and is not stopped. */
  server: DevServer | undefined;
}

/** Offset of the UI's port from the server's port, as in Temporal's CLI. */
const UI_PORT_OFFSET = 1000;
const UI_TIMEOUT_MS = 2000;

/** Uses the server at TEMPORAL_ADDRESS, or starts one with its files in `folder`. Throws usage errors. */
export async function openServer(
  io: Io,
  { port, namespace, folder }: { port: number; namespace: string; folder: string },
  env: Env,
): Promise<RunningServer> {
  const { findServer, startDevServer } = await loadTemporalServer();
  const style = styleFor(io.stderr);
  const logLine = (line: string): void => void io.stderr.write(`${style.dim(sanitizeLine(line))}\n`);
  const source = await findServer({ env: env.variables, log: logLine });
  if (source.kind === 'none') throw new UsageError(source.reason);
  if (source.kind === 'address') return { address: source.address, uiUrl: undefined, server: undefined };
  const uiPort = await findFreePort(port + UI_PORT_OFFSET);
  const logFile = join(folder, 'server.log');
  const result = await startDevServer({
    binary: source.binary.path,
    namespace,
    port,
    uiPort,
    dbFile: join(folder, 'server.db'),
    logFile,
    env: env.variables,
  });
  if (result.kind === 'failed') {
    throw new UsageError(result.reason, `Use --port for another port. The server's log is ${logFile}`);
  }
  const uiUrl = `http://127.0.0.1:${uiPort}`;
  const { server } = result;
  return { address: server.address, uiUrl: (await isServed(uiUrl)) ? uiUrl : undefined, server };
}

/** Returns the preferred port if it is free, else another port. */
async function findFreePort(preferredPort: number): Promise<number> {
  for (const port of [preferredPort, 0]) {
    const server = createServer();
    try {
      server.listen(port < 65_536 ? port : 0, '127.0.0.1');
      await once(server, 'listening');
      const { port: actualPort } = server.address() as AddressInfo;
      server.close();
      await once(server, 'close');
      return actualPort;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
  throw new Error('there is no free port');
}

/** True if the URL serves a page: some builds of Temporal's CLI have no UI. */
async function isServed(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(UI_TIMEOUT_MS) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
