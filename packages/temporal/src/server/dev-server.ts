import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Env } from './command.ts';
import { type Guarded, startGuarded } from './guard.ts';
import { openLog } from './server-log.ts';
import { POLL_LIMITS } from './poll-limits.ts';
import { freePorts } from './port.ts';
import { isOpen, untilReady } from './ready.ts';

/** Types of search attributes, as the command line of the server names them. */
export type SearchAttributeType = 'Text' | 'Keyword' | 'Int' | 'Double' | 'Bool' | 'Datetime' | 'KeywordList';

export interface DevServerOptions {
  /** Path of Temporal's command. */
  readonly binary: string;
  /** Made where it is missing. */
  readonly namespace: string;
  /** Default: a free one. */
  readonly port?: number;
  /** Serves Temporal's own pages there; default none are served. */
  readonly uiPort?: number;
  /** A SQLite file that keeps everything across restarts; default memory. Its folder is made where it is missing. */
  readonly dbFile?: string;
  /** Takes what the server prints, appended; default nobody does, but what it says last when it fails to start. */
  readonly logFile?: string;
  /** Registered where they are missing. */
  readonly searchAttributes?: Readonly<Record<string, SearchAttributeType>>;
  /** Default: the environment of this process. */
  readonly env?: Env;
  /** How long the server may take until it serves; default 60 s. */
  readonly readyTimeoutMs?: number;
}

/** A development server that serves. It ends when this process ends, also by `kill -9`. */
export interface DevServer {
  readonly address: string;
  readonly namespace: string;
  readonly pid: number;
  /** The command it was started with. */
  readonly command: readonly string[];
  /** How it ended, once it has. */
  readonly exited: Promise<string>;
  stop(): Promise<void>;
}

/** A server that serves, or why there is none. */
export type Started<Server> =
  | { readonly kind: 'serving'; readonly server: Server }
  | { readonly kind: 'failed'; readonly reason: string };

const READY_TIMEOUT_MS = 60_000;
/** Somebody else may take a free port before the server does. */
const TRIES = 3;
/** What the server says of it. */
const TAKEN = 'address already in use';

/** A development server on the loopback address once it serves, with the poll limits raised; or why it does not. */
export async function startDevServer(options: DevServerOptions): Promise<Started<DevServer>> {
  for (let tries = 1; ; tries++) {
    const port = options.port ?? (await freePorts(1))[0] ?? 0;
    const started = await startOn(port, options);
    const isTaken = started.kind === 'failed' && started.reason.includes(TAKEN);
    if (!isTaken || options.port !== undefined || tries === TRIES) return started;
  }
}

async function startOn(port: number, options: DevServerOptions): Promise<Started<DevServer>> {
  const { namespace, env } = options;
  const address = `127.0.0.1:${port}`;
  // Else the one that listens there would be taken for ours.
  if (await isOpen(address)) return { kind: 'failed', reason: `${address}: ${TAKEN}. Use another port.` };
  if (options.dbFile !== undefined) mkdirSync(dirname(options.dbFile), { recursive: true, mode: 0o700 });
  const command = commandOf(port, options);
  const log = openLog(options.logFile);
  try {
    const child = await startGuarded({ command, log: log.fd, ...(env && { env }) });
    const problem = await whyNotServing(address, child, options);
    if (problem === undefined) {
      return { kind: 'serving', server: { ...child, address, namespace, command } };
    }
    await child.stop();
    const reason = `${command[0]} does not serve at ${address}: ${problem}. It said: ${log.lastLine()}`;
    return { kind: 'failed', reason };
  } finally {
    log.close();
  }
}

async function whyNotServing(
  address: string,
  child: Guarded,
  { namespace, searchAttributes = {}, readyTimeoutMs = READY_TIMEOUT_MS }: DevServerOptions,
): Promise<string | undefined> {
  const expected = { address, namespace, searchAttributes: Object.keys(searchAttributes) };
  const over = new AbortController();
  try {
    return await Promise.race([
      untilReady(expected, { timeoutMs: readyTimeoutMs, signal: over.signal }).then((problem) =>
        problem === undefined ? undefined : `after ${readyTimeoutMs / 1000} s ${problem}`,
      ),
      child.exited.then((how) => `it ended with ${how}`),
    ]);
  } finally {
    over.abort();
  }
}

function commandOf(port: number, options: DevServerOptions): [file: string, ...args: string[]] {
  const { binary, namespace, uiPort, dbFile, searchAttributes = {} } = options;
  const pairs = (flag: string, entries: [string, string | number][]): string[] =>
    entries.flatMap(([key, value]) => [flag, `${key}=${value}`]);
  return [
    binary,
    'server',
    'start-dev',
    ...['--ip', '127.0.0.1', '--port', String(port), '--namespace', namespace],
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort)]),
    ...(dbFile === undefined ? [] : ['--db-filename', dbFile]),
    ...pairs('--search-attribute', Object.entries(searchAttributes)),
    ...pairs('--dynamic-config-value', Object.entries(POLL_LIMITS)),
  ];
}
