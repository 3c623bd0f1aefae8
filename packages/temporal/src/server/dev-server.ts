import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { dirname } from 'node:path';
import type { Env } from './command.ts';
import { type SupervisedProcess, startSupervisedProcess } from './process-supervisor.ts';
import { openLog } from './server-log.ts';
import { isListening, waitUntilReady } from './readiness.ts';

/** Types of search attributes, with the names that the Temporal CLI accepts. */
export type SearchAttributeType = 'Text' | 'Keyword' | 'Int' | 'Double' | 'Bool' | 'Datetime' | 'KeywordList';

export interface DevServerOptions {
  /** Path of the Temporal CLI. */
  readonly binary: string;
  /** Created if missing. */
  readonly namespace: string;
  /** Default: any free port. */
  readonly port?: number;
  /** Port of the Temporal UI; default: no UI. */
  readonly uiPort?: number;
  /** SQLite file for the server's data; default: in memory. Its folder is created if missing. */
  readonly dbFile?: string;
  /** File to which the server's output is appended; default: none. */
  readonly logFile?: string;
  /** Registered if missing. */
  readonly searchAttributes?: Readonly<Record<string, SearchAttributeType>>;
  /** Default: the environment of this process. */
  readonly env?: Env;
  /** Maximum time for the start of the server; default 60 s. */
  readonly readyTimeoutMs?: number;
}

/** A running development server. It ends when this process ends, even by `kill -9`. */
export interface DevServer {
  readonly address: string;
  readonly namespace: string;
  readonly pid: number;
  /** The command line that started it. */
  readonly command: readonly string[];
  /** Resolves with its exit code or signal, as text. */
  readonly exited: Promise<string>;
  stop(): Promise<void>;
}

/** A running server, or the reason why it did not start. */
export type StartResult<Server> =
  | { readonly kind: 'serving'; readonly server: Server }
  | { readonly kind: 'failed'; readonly reason: string };

const READY_TIMEOUT_MS = 60_000;
/** Maximum number of starts with different ports: another process may take a free port before the server does. */
const MAX_STARTS = 3;
/** The server's error for a port in use. */
const PORT_IN_USE = 'address already in use';

/**
 * Settings of the history service for every started server.
 *
 * By default it polls the queues of a shard at most 20 times a second. A run belongs to one shard, so each task of a
 * chain of blocks would wait up to 50 ms.
 */
export const POLL_LIMITS: Readonly<Record<string, number>> = {
  'history.transferProcessorMaxPollRPS': 10_000,
  'history.timerProcessorMaxPollRPS': 10_000,
};

/**
 * Write mode of the database file. With SQLite's default, a rollback journal, a write on a busy machine can take longer
 * than the server waits, and the server then retries the task, up to minutes later.
 */
const JOURNAL_MODE = 'journal_mode=WAL';

/**
 * Starts a development server on the loopback address, with raised poll limits. Returns the server when it is ready, or
 * the reason why it did not start.
 */
export async function startDevServer(options: DevServerOptions): Promise<StartResult<DevServer>> {
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await findFreePorts(1))[0] ?? 0;
    const result = await startOnPort(port, options);
    const isPortInUse = result.kind === 'failed' && result.reason.includes(PORT_IN_USE);
    if (!isPortInUse || options.port !== undefined || attempt === MAX_STARTS) return result;
  }
}

async function startOnPort(port: number, options: DevServerOptions): Promise<StartResult<DevServer>> {
  const { namespace, env } = options;
  const address = `127.0.0.1:${port}`;
  // Otherwise the readiness check would mistake the other process for this server.
  if (await isListening(address))
    return { kind: 'failed', reason: `${address}: ${PORT_IN_USE}. Use another port.` };
  if (options.dbFile !== undefined) mkdirSync(dirname(options.dbFile), { recursive: true, mode: 0o700 });
  const command = commandOf(port, options);
  const log = openLog(options.logFile);
  try {
    const child = await startSupervisedProcess({ command, logFd: log.fd, ...(env && { env }) });
    const problem = await findStartupProblem(address, child, options);
    if (problem === undefined) {
      return { kind: 'serving', server: { ...child, address, namespace, command } };
    }
    await child.stop();
    const reason = `${command[0]} did not start on ${address}: ${problem}. Its last output: ${log.lastLine()}`;
    return { kind: 'failed', reason };
  } finally {
    log.close();
  }
}

/** Resolves with undefined when the server is ready, or with the reason why it did not become ready. */
async function findStartupProblem(
  address: string,
  child: SupervisedProcess,
  { namespace, searchAttributes = {}, readyTimeoutMs = READY_TIMEOUT_MS }: DevServerOptions,
): Promise<string | undefined> {
  const expected = { address, namespace, searchAttributes: Object.keys(searchAttributes) };
  const waitController = new AbortController();
  try {
    return await Promise.race([
      waitUntilReady(expected, { timeoutMs: readyTimeoutMs, signal: waitController.signal }).then((problem) =>
        problem === undefined ? undefined : `after ${readyTimeoutMs / 1000} s ${problem}`,
      ),
      child.exited.then((outcome) => `it ended with ${outcome}`),
    ]);
  } finally {
    waitController.abort();
  }
}

function commandOf(port: number, options: DevServerOptions): [file: string, ...args: string[]] {
  const { binary, namespace, uiPort, dbFile, searchAttributes = {} } = options;
  const flagsOf = (flag: string, entries: [string, string | number][]): string[] =>
    entries.flatMap(([key, value]) => [flag, `${key}=${value}`]);
  return [
    binary,
    'server',
    'start-dev',
    ...['--ip', '127.0.0.1', '--port', String(port), '--namespace', namespace],
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort)]),
    ...(dbFile === undefined ? [] : ['--db-filename', dbFile, '--sqlite-pragma', JOURNAL_MODE]),
    ...flagsOf('--search-attribute', Object.entries(searchAttributes)),
    ...flagsOf('--dynamic-config-value', Object.entries(POLL_LIMITS)),
  ];
}

/** Returns free ports of the loopback address. */
export async function findFreePorts(count: number): Promise<number[]> {
  // All servers listen until the end, so that the ports are distinct.
  const servers = Array.from({ length: count }, () => createServer());
  const portPromises = servers.map(async (server) => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  });
  const ports = await Promise.all(portPromises);
  await Promise.all(servers.map(async (server) => once(server.close(), 'close')));
  return ports;
}
