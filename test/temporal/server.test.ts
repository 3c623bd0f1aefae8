import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import {
  type DevServer,
  type DevServerOptions,
  POLL_LIMITS,
  startDevServer,
} from '../../packages/temporal/src/server/index.ts';
import { findReadinessProblem } from '../../packages/temporal/src/server/readiness.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { describeTemporal } from '../support/temporal.ts';

const POLL_OPTIONS = { timeout: 30_000 };

/** Returns why the server at `address` is not ready, or undefined if it has the namespace and the search attributes. */
const findProblem = async (
  address: string,
  namespace: string,
  searchAttributes: string[] = [],
): Promise<string | undefined> => findReadinessProblem({ address, namespace, searchAttributes });

describeTemporal('the server of this test run', ({ address, namespace }) => {
  it('is ready, and has the namespace', async () => {
    expect(await findProblem(address, namespace)).toBeUndefined();
  });

  it('is not ready for an unknown namespace or unknown search attributes', async () => {
    expect(await findProblem(address, 'nowhere')).toMatch(/Namespace nowhere is not found/);
    expect(await findProblem(address, namespace, ['Loom', 'Weft'])).toBe(
      'it does not know the search attribute Loom, Weft',
    );
  });
});

describeTemporal('a development server', ({ binary = '' }) => {
  /** Starts a server, which is stopped after the test. */
  async function start(options: Partial<DevServerOptions> = {}): Promise<DevServer> {
    const startResult = await startDevServer({ binary, namespace: 'loom', ...options });
    if (startResult.kind === 'failed') throw new Error(startResult.reason);
    onTestFinished(async () => startResult.server.stop());
    return startResult.server;
  }

  /** Returns the arguments of the process `pid`. */
  const argumentsOf = (pid: number): string =>
    execFileSync('ps', ['-ww', '-o', 'args=', '-p', String(pid)], { encoding: 'utf8' });

  it.skipIf(binary === '')('is started with higher poll limits, on the loopback address', async () => {
    const { pid, address } = await start();
    const args = argumentsOf(pid);
    for (const [name, limit] of Object.entries(POLL_LIMITS)) {
      expect(args).toContain(`--dynamic-config-value ${name}=${limit}`);
    }
    expect(args).toContain(`--ip 127.0.0.1 --port ${address.split(':')[1]}`);
  });

  it.skipIf(binary === '')('exits with code 0 when it is stopped', async () => {
    const { address, exited, stop } = await start();
    await stop();
    expect(await exited).toBe('exit code 0');
    expect(await findProblem(address, 'loom')).toBeDefined();
  });

  it.skipIf(binary === '')('registers the given search attributes, and writes to its log file', async () => {
    const logFile = join(createDataFolder(), 'server.log');
    const { address } = await start({ logFile, searchAttributes: { Weft: 'Keyword' } });
    expect(await findProblem(address, 'loom', ['Weft'])).toBeUndefined();
    await expect.poll(() => readFileSync(logFile, 'utf8'), POLL_OPTIONS).toContain(address.split(':')[1]);
  });

  it.skipIf(binary === '')(
    'keeps its namespaces across restarts if it has a database file, and can use the same port again',
    async () => {
      const dbFile = join(createDataFolder(), 'data/temporal.db');
      const searchAttributes = { Weft: 'Keyword' } as const;
      const firstServer = await start({ dbFile, searchAttributes });
      execFileSync(binary, [
        'operator',
        'namespace',
        'create',
        '-n',
        'kept',
        '--address',
        firstServer.address,
      ]);
      expect(existsSync(`${dbFile}-wal`)).toBe(true);
      await firstServer.stop();
      const restartedServer = await start({
        dbFile,
        searchAttributes,
        port: Number(firstServer.address.split(':')[1]),
      });
      expect(restartedServer.address).toBe(firstServer.address);
      expect(await findProblem(restartedServer.address, 'kept')).toBeUndefined();
    },
  );

  it.skipIf(binary === '')('ends when the process that started it is killed with SIGKILL', async () => {
    const moduleUrl = JSON.stringify(
      new URL('../../packages/temporal/src/server/index.ts', import.meta.url).href,
    );
    const options = JSON.stringify({ binary, namespace: 'loom' });
    const code = `import { startDevServer } from ${moduleUrl}; console.log((await startDevServer(${options})).server.address);`;
    const flags = ['--conditions=@heddle/source', '--input-type=module', '-e', code];
    const parentProcess = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [address] = (await once(createInterface(parentProcess.stdout), 'line')) as [string];
    expect(await findProblem(address, 'loom')).toBeUndefined();
    parentProcess.kill('SIGKILL');
    await expect.poll(async () => findProblem(address, 'loom'), POLL_OPTIONS).toBeDefined();
  });
});
