import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { findServer, type FoundServer, startDevServer } from '../../packages/temporal/src/server/index.ts';
import { findReadinessProblem } from '../../packages/temporal/src/server/readiness.ts';
import { reportMissingServer, type OpenServerResult, provideServer } from './provide-server.ts';

const NAMESPACE = 'heddle-tests';
const FETCH_SCRIPT = fileURLToPath(new URL('fetch-server.ts', import.meta.url));

/**
 * Provides the server that the tests of this project share. The server starts when a test needs it. In the project
 * `temporal` it starts immediately, because it may have to be built. Vitest calls this only if the run includes one of
 * the project's files.
 */
export function setup(project: TestProject): () => Promise<void> {
  const stopController = new AbortController();
  const isImmediate = project.name === 'temporal';
  const stop = provideServer(project, () => openServer(stopController.signal), isImmediate);
  return async () => {
    stopController.abort();
    await stop();
  };
}

async function openServer(signal: AbortSignal): Promise<OpenServerResult> {
  const server = await findOrFetchServer(signal);
  if (server.kind === 'none') return reportMissingServer(server.reason);
  if (server.kind === 'address') return useExistingServer(server.address);
  const binary = server.binary.path;
  // The database is a file. A database in memory is lost when its last connection closes, and the server closes a
  // connection when a request is aborted.
  const folder = mkdtempSync(join(tmpdir(), 'heddle-temporal-'));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  const startResult = await startDevServer({
    binary,
    namespace: NAMESPACE,
    dbFile: join(folder, 'temporal.db'),
  });
  if (startResult.kind === 'failed') {
    removeFolder();
    return reportMissingServer(startResult.reason);
  }
  const { address, namespace, stop } = startResult.server;
  return {
    server: { kind: 'serving', address, namespace, binary },
    stop: async () => {
      await stop();
      removeFolder();
    },
  };
}

async function findOrFetchServer(signal: AbortSignal): Promise<FoundServer> {
  const sources = ['TEMPORAL_ADDRESS', 'TEMPORAL_CLI', 'PATH', 'cache'] as const;
  const foundServer = await findServer({ env: process.env, log: () => undefined, sources });
  return foundServer.kind === 'none' ? fetchServer(signal) : foundServer;
}

function fetchServer(signal: AbortSignal): Promise<FoundServer> {
  return new Promise((resolve) => {
    const fail = (reason: string): void => resolve({ kind: 'none', reason });
    const execArgv = ['--conditions=@heddle/source', '--no-warnings'];
    const child = fork(FETCH_SCRIPT, [], { execArgv, signal });
    child.once('message', (found) => resolve(found as FoundServer));
    child.once('error', (error) => fail(`The download failed: ${error.message}.`));
    child.once('exit', (code, killSignal) => fail(`The download process ended with ${code ?? killSignal}.`));
  });
}

async function useExistingServer(address: string): Promise<OpenServerResult> {
  const namespace = process.env['TEMPORAL_NAMESPACE'] ?? 'default';
  const problem = await findReadinessProblem({ address, namespace, searchAttributes: [] });
  if (problem !== undefined)
    return reportMissingServer(`TEMPORAL_ADDRESS=${address}, namespace ${namespace}: ${problem}.`);
  const server = { kind: 'serving', address, namespace, binary: undefined } as const;
  return { server, stop: async () => undefined };
}
