import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { Client } from 'pg';
import type { FoundTool } from '../tools/fetch.ts';

/** A PostgreSQL for tests, on this machine only. */
export interface PostgresServer {
  readonly host: string;
  readonly port: number;
  /** The superuser. */
  readonly user: string;
  readonly password: string;
  url(database: string): string;
}

interface ConnectionParameters {
  host: string;
  port: number;
  user: string;
  password: string;
}

/** The user `nobody`, which runs PostgreSQL if the tests run as root: PostgreSQL refuses to run as root. */
const NOBODY = { uid: 65_534, gid: 65_534 };
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 25;

/** The data need not survive the tests, so writes do not wait for the disk. */
const SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_connections: '300',
  shared_buffers: '64MB',
  jit: 'off',
  timezone: 'GMT',
  log_timezone: 'GMT',
  unix_socket_directories: '',
  listen_addresses: '127.0.0.1',
};

/**
 * A script with the arguments OWNER FOLDER COMMAND…. It starts the server with COMMAND. After the process OWNER has
 * ended in any way, the script stops the server and removes FOLDER.
 */
const SUPERVISOR = `
owner=$1; folder=$2; shift 2
"$@" & server=$!
# A user without the right to send the process a signal still sees it in /proc.
is_alive() { kill -0 "$owner" 2>/dev/null || [ -d "/proc/$owner" ]; }
while is_alive && kill -0 "$server" 2>/dev/null; do sleep 0.5; done
kill -INT "$server" 2>/dev/null; wait "$server"
rm -rf "$folder"`;

/**
 * Returns the server of a test run. `owner` is the main process of the run, and the workers are its children. The first
 * caller starts the server, and it stops after the run.
 */
export async function getOrStartServer(
  tool: FoundTool,
  owner = isMainThread ? process.ppid : process.pid,
): Promise<PostgresServer> {
  const folder = join(tmpdir(), `heddle-postgres-${owner}-${startTimeOf(owner)}`);
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return toPostgresServer(await waitForConnection(folder));
  }
  try {
    const connection = await startServer(tool, folder, owner);
    writeState(folder, { connection });
    return toPostgresServer(connection);
  } catch (error) {
    writeState(folder, { failure: String(error) });
    throw error;
  }
}

function toPostgresServer(connection: ConnectionParameters): PostgresServer {
  const { host, port, user, password } = connection;
  return { ...connection, url: (database) => `postgresql://${user}:${password}@${host}:${port}/${database}` };
}

/**
 * Returns the start time of a process, which tells it apart from earlier processes with the same id. Without /proc,
 * returns an empty string.
 */
function startTimeOf(pid: number): string {
  const file = `/proc/${pid}/stat`;
  return existsSync(file) ? (readFileSync(file, 'utf8').split(') ').at(-1)?.split(' ')[19] ?? '') : '';
}

function writeState(folder: string, state: { connection: ConnectionParameters } | { failure: string }): void {
  writeFileSync(join(folder, 'state.new'), JSON.stringify(state), { mode: 0o600 });
  renameSync(join(folder, 'state.new'), join(folder, 'state.json'));
}

async function waitForConnection(folder: string): Promise<ConnectionParameters> {
  const file = join(folder, 'state.json');
  for (let waitedMs = 0; !existsSync(file); waitedMs += POLL_MS) {
    if (waitedMs > START_TIMEOUT_MS)
      throw new Error(
        `The process that starts PostgreSQL in ${folder} did not finish within ${START_TIMEOUT_MS / 1000} s.`,
      );
    await sleep(POLL_MS);
  }
  const state = JSON.parse(readFileSync(file, 'utf8')) as {
    connection?: ConnectionParameters;
    failure?: string;
  };
  if (state.connection) return state.connection;
  throw new Error(`PostgreSQL did not start: ${state.failure}`);
}

async function startServer(tool: FoundTool, folder: string, owner: number): Promise<ConnectionParameters> {
  const account: { uid?: number; gid?: number } = process.getuid?.() === 0 ? NOBODY : {};
  const { bin, env } = ensureReadableInstallation(account, tool, folder);
  const connection = {
    host: '127.0.0.1',
    port: await findFreePort(),
    user: 'heddle',
    password: randomUUID(),
  };
  const dataFolder = join(folder, 'data');
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, connection.password);
  mkdirSync(dataFolder, { mode: 0o700 });
  const logDescriptor = openSync(join(folder, 'log'), 'a');
  if (account.uid !== undefined) spawnSync('chown', ['-R', `${account.uid}:${account.gid}`, folder]);
  const authenticationArgs = [
    '--auth=scram-sha-256',
    `--username=${connection.user}`,
    `--pwfile=${passwordFile}`,
  ];
  const initArgs = [
    '--pgdata',
    dataFolder,
    '--no-sync',
    '--no-locale',
    '--encoding=UTF8',
    ...authenticationArgs,
  ];
  const initOptions = { ...account, env, cwd: dataFolder, encoding: 'utf8' } as const;
  const initdbResult = spawnSync(join(bin, 'initdb'), initArgs, initOptions);
  if (initdbResult.status !== 0)
    throw new Error(`initdb failed: ${initdbResult.error?.message ?? initdbResult.stderr}`);
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const command = [join(bin, 'postgres'), '-D', dataFolder, '-p', String(connection.port), ...settings];
  const args = ['-c', SUPERVISOR, 'supervisor', String(owner), folder, ...command];
  const stdio = ['ignore', logDescriptor, logDescriptor] as const;
  const supervisor = spawn('/bin/sh', args, { ...account, env, cwd: '/', detached: true, stdio: [...stdio] });
  supervisor.unref();
  await waitUntilReady(toPostgresServer(connection), () => supervisor.exitCode !== null, join(folder, 'log'));
  return connection;
}

/**
 * Returns the folder of PostgreSQL's programs, and their environment. If the user of the server cannot read the folder,
 * for example below root's home, copies the installation and returns the folder of the copy.
 */
function ensureReadableInstallation(
  account: { uid?: number },
  { path, env }: FoundTool,
  folder: string,
): { bin: string; env: FoundTool['env'] } {
  const bin = dirname(realpathSync(path));
  if (spawnSync(join(bin, 'postgres'), ['--version'], { ...account, env, cwd: '/' }).status === 0)
    return { bin, env };
  const root = bin.slice(0, bin.lastIndexOf('/usr/lib/postgresql/'));
  const copyFolder = join(folder, 'program');
  cpSync(root, copyFolder, { recursive: true, verbatimSymlinks: true });
  const libraries = env['LD_LIBRARY_PATH']?.replaceAll(root, copyFolder);
  return { bin: join(copyFolder, relative(root, bin)), env: { ...env, LD_LIBRARY_PATH: libraries } };
}

export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function waitUntilReady(
  server: PostgresServer,
  hasExited: () => boolean,
  logFile: string,
): Promise<void> {
  let lastError: unknown;
  for (let waitedMs = 0; waitedMs < START_TIMEOUT_MS && !hasExited(); waitedMs += POLL_MS) {
    const client = new Client({ connectionString: server.url('postgres') });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      lastError = error;
    }
    await sleep(POLL_MS);
  }
  throw new Error(`${existsSync(logFile) ? readFileSync(logFile, 'utf8') : 'PostgreSQL has exited.'}`, {
    cause: lastError,
  });
}
