import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../../packages/temporal/src/server/command.ts';
import {
  type SupervisedProcess,
  startSupervisedProcess,
} from '../../../packages/temporal/src/server/process-supervisor.ts';
import { waitUntilReady } from '../../../packages/temporal/src/server/readiness.ts';
import { openLog } from '../../../packages/temporal/src/server/server-log.ts';
import type { FoundTool } from '../../tools/fetch.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { dynamicConfig, type ServerPorts, serverConfig } from './config.ts';

export interface ProductionServerOptions {
  /** The tools `temporal-server` and `temporal-sql`. */
  readonly tools: { readonly server: FoundTool; readonly sql: FoundTool };
  readonly postgres: PostgresServer;
  /** Prefix of the database names. A server with the same name as an earlier one continues with its data. */
  readonly name: string;
  /** Default 4. It cannot change at a restart. */
  readonly shardCount?: number;
  /** Created if it does not exist. */
  readonly namespace: string;
  /** Ports of an earlier server, so that its clients find this one; default: free ports. */
  readonly ports?: readonly number[];
  /** File to which the output is appended. */
  readonly logFile?: string;
}

/** A full Temporal server as in production, with all services in one process and its own databases. */
export interface ProductionServer {
  readonly address: string;
  readonly namespace: string;
  readonly pid: number;
  readonly ports: readonly number[];
  readonly exited: Promise<string>;
  stop(): Promise<void>;
}

const SCHEMA_TIMEOUT_MS = 120_000;
const READY_TIMEOUT_MS = 120_000;
/** Milliseconds between SIGTERM and SIGKILL. A stopping server waits until the other members of its cluster notice. */
const GRACE_MS = 15_000;
const RETENTION = '86400s';
const ALREADY_EXISTS = 409;
/** A namespace that exists on every server, so that readiness can be checked before other namespaces are created. */
const SYSTEM_NAMESPACE = 'temporal-system';

/** Returns the databases of a server, with their schemas in `temporal-sql`. */
const databasesOf = (name: string): readonly { database: string; schema: string }[] => [
  { database: name, schema: 'temporal' },
  { database: `${name}_visibility`, schema: 'visibility' },
];

/**
 * Starts a production server with higher poll limits. Resolves when it responds. The server is stopped when this
 * process ends.
 *
 * @throws if the databases cannot be created, or if the server does not respond (with its last output).
 */
export async function startProductionServer(options: ProductionServerOptions): Promise<ProductionServer> {
  for (const database of databasesOf(options.name)) await prepareDatabase(options, database);
  const portNumbers = options.ports ?? (await findFreePorts(9));
  const ports = portsOf(portNumbers);
  const folder = mkdtempSync(join(tmpdir(), 'heddle-temporal-'));
  const log = openLog(options.logFile);
  try {
    const child = await startSupervisedProcess({
      command: [options.tools.server.path, ...argumentsOf(writeConfig(folder, ports, options))],
      logFd: log.fd,
      env: options.tools.server.env,
      graceMs: GRACE_MS,
    });
    const problem = await findStartProblem(child, ports, options.namespace);
    if (problem === undefined)
      return { ...child, ports: portNumbers, address: addressOf(ports), namespace: options.namespace };
    await child.stop();
    throw new Error(
      `Temporal's server ${options.name} is not ready: ${problem}. Its last output: ${log.lastLine()}`,
    );
  } finally {
    log.close();
    // The files contain a password, and the server has read them.
    rmSync(folder, { recursive: true, force: true });
  }
}

const argumentsOf = (configFile: string): string[] => [
  '--config-file',
  configFile,
  '--allow-no-auth',
  'start',
];

const addressOf = (ports: ServerPorts): string => `127.0.0.1:${ports.frontend.grpcPort}`;

async function findStartProblem(
  child: SupervisedProcess,
  ports: ServerPorts,
  namespace: string,
): Promise<string | undefined> {
  const address = addressOf(ports);
  const waitController = new AbortController();
  const limits = { timeoutMs: READY_TIMEOUT_MS, signal: waitController.signal };
  try {
    const problem = await Promise.race([
      waitUntilReady({ address, namespace: SYSTEM_NAMESPACE, searchAttributes: [] }, limits),
      child.exited.then((exitDescription) => `it ended with ${exitDescription}`),
    ]);
    return problem ?? (await registerNamespace(ports.frontend.httpPort, namespace));
  } finally {
    waitController.abort();
  }
}

/** Registers the namespace. Returns an error message; undefined if the server has the namespace. */
async function registerNamespace(httpPort: number, namespace: string): Promise<string | undefined> {
  const response = await fetch(`http://127.0.0.1:${httpPort}/api/v1/namespaces`, {
    method: 'POST',
    body: JSON.stringify({ namespace, workflowExecutionRetentionPeriod: RETENTION }),
  });
  const body = await response.text();
  return response.ok || response.status === ALREADY_EXISTS
    ? undefined
    : `the server refused the namespace: ${body}`;
}

/** Creates the database if it does not exist, and migrates its tables to the newest version. */
async function prepareDatabase(
  { tools, postgres }: ProductionServerOptions,
  { database, schema }: { database: string; schema: string },
): Promise<void> {
  const { host, port, user, password } = postgres;
  const env = {
    ...tools.sql.env,
    ...{ SQL_PLUGIN: 'postgres12', SQL_HOST: host, SQL_PORT: String(port) },
    ...{ SQL_USER: user, SQL_PASSWORD: password, SQL_DATABASE: database },
  };
  const steps = [
    ['create-database'],
    ['setup-schema', '-v', '0.0'],
    ['update-schema', '--schema-name', `postgresql/v12/${schema}`],
  ];
  for (const args of steps) {
    const result = await runCommand(tools.sql.path, args, { env, timeoutMs: SCHEMA_TIMEOUT_MS });
    if (result.problem !== undefined)
      throw new Error(`The database ${database} cannot be created: ${result.problem}`);
  }
}

/** Assigns nine port numbers to the services. */
function portsOf(portNumbers: readonly number[]): ServerPorts {
  const portAt = (index: number): number => portNumbers[index] ?? 0;
  const servicePortsAt = (index: number): ServerPorts['history'] => ({
    grpcPort: portAt(index),
    membershipPort: portAt(index + 1),
  });
  return {
    frontend: { ...servicePortsAt(0), httpPort: portAt(8) },
    history: servicePortsAt(2),
    matching: servicePortsAt(4),
    worker: servicePortsAt(6),
  };
}

/** Writes the server's configuration into `folder` as JSON, which is also YAML. Returns the path of the main file. */
function writeConfig(
  folder: string,
  ports: ServerPorts,
  { postgres, name, shardCount = 4 }: ProductionServerOptions,
): string {
  const dynamicConfigFile = join(folder, 'dynamic.yaml');
  const file = join(folder, 'server.yaml');
  const [store = '', visibility = ''] = databasesOf(name).map(({ database }) => database);
  const databases = { store, visibility };
  const config = serverConfig({ ports, postgres, databases, shardCount, dynamicConfigFile });
  writeFileSync(dynamicConfigFile, JSON.stringify(dynamicConfig()));
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}

/** The range is above the ports of common services, and below both the ephemeral ports and 2 ** 15. */
const MIN_PORT = 15_000;
const END_PORT = 32_768;
const MAX_ATTEMPTS = 1000;

/**
 * Returns `count` free ports of the loopback address below 32,768. A full Temporal server on PostgreSQL needs them: its
 * table `cluster_membership` cannot store greater numbers, and the free ports that a system assigns are mostly greater.
 */
async function findFreePorts(count: number): Promise<number[]> {
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
