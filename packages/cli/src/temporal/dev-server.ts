import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { DevServer } from '@heddle/temporal/server';
import type { Env } from '../env.ts';
import type { Io } from '../io.ts';
import { safeLine, styleFor } from '../render/style.ts';
import { UsageError } from '../usage-error.ts';
import { loadTemporalServer } from './load.ts';

/** A server to work against. */
export interface OpenServer {
  address: string;
  /** Temporal's own pages; undefined where there are none. */
  ui: string | undefined;
  /** Undefined: it was there before, and stays. */
  server: DevServer | undefined;
}

/** Temporal's own tool has its pages this far from the server's port. */
const UI_OFFSET = 1000;
const UI_MS = 2000;

/** The server that the environment names, or one that is started with its files in `folder`. Throws usage errors that say why there is none. */
export async function openServer(
  io: Io,
  { port, namespace, folder }: { port: number; namespace: string; folder: string },
  env: Env,
): Promise<OpenServer> {
  const { findServer, startDevServer } = await loadTemporalServer();
  const style = styleFor(io.stderr);
  const say = (line: string): void => void io.stderr.write(`${style.dim(safeLine(line))}\n`);
  const found = await findServer({ env: env.all, say });
  if (found.kind === 'none') throw new UsageError(found.reason);
  if (found.kind === 'address') return { address: found.address, ui: undefined, server: undefined };
  const uiPort = await freePort(port + UI_OFFSET);
  const logFile = join(folder, 'server.log');
  const started = await startDevServer({
    binary: found.binary.path,
    namespace,
    port,
    uiPort,
    dbFile: join(folder, 'server.db'),
    logFile,
    env: env.all,
  });
  if (started.kind === 'failed') {
    throw new UsageError(
      started.reason,
      `Another port is given by --port. What the server said is in ${logFile}`,
    );
  }
  const ui = `http://127.0.0.1:${uiPort}`;
  const { server } = started;
  return { address: server.address, ui: (await answers(ui)) ? ui : undefined, server };
}

/** The port itself where nobody has it, else another one. */
async function freePort(wanted: number): Promise<number> {
  for (const port of [wanted, 0]) {
    const server = createServer();
    try {
      server.listen(port < 65_536 ? port : 0, '127.0.0.1');
      await once(server, 'listening');
      const found = (server.address() as AddressInfo).port;
      server.close();
      await once(server, 'close');
      return found;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
  throw new Error('the system gives no free port');
}

/** True where a page is served: not every command that starts a server has them. */
async function answers(url: string): Promise<boolean> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(UI_MS) });
    await answer.body?.cancel();
    return answer.ok;
  } catch {
    return false;
  }
}
