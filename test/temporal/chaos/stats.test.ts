import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startDevServer } from '../../../packages/temporal/src/server/index.ts';
import type { DevServer } from '../../../packages/temporal/src/server/index.ts';
import { createDataFolder } from '../../support/data-folder.ts';
import { pickByScale } from '../../support/scale.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { runScenario } from './scenario.ts';
import type { KillableServer } from './faults.ts';

const NAMESPACE = 'chaos';
const DURATION_MS = pickByScale(30_000, 600_000);

describeTemporal('chaos', ({ binary = '' }) => {
  /** Starts a development server for one test, with a database file. */
  async function startKillableServer(dbFile: string): Promise<KillableServer & { address: string }> {
    let server: DevServer | undefined;
    const start = async (port?: number): Promise<DevServer> => {
      const startResult = await startDevServer({
        binary,
        namespace: NAMESPACE,
        dbFile,
        ...(port !== undefined && { port }),
      });
      if (startResult.kind === 'failed') throw new Error(startResult.reason);
      return startResult.server;
    };
    server = await start();
    onTestFinished(async () => server?.stop());
    const { address } = server;
    return {
      address,
      restart: async () => {
        const killedServer = server;
        if (!killedServer) throw new Error('There is no server to kill.');
        process.kill(killedServer.pid, 'SIGKILL');
        expect(await killedServer.exited).toBe('SIGKILL');
        server = await start(Number(address.split(':')[1]));
      },
    };
  }

  it.skipIf(binary === '')(
    'killing workers and the server with SIGKILL in a loop loses no call and records none twice, and all runs complete',
    { timeout: DURATION_MS + 420_000 },
    async () => {
      const folder = createDataFolder();
      const server = await startKillableServer(join(folder, 'temporal.db'));
      const store = { data: join(folder, 'data') };
      const stats = await runScenario({ server, namespace: NAMESPACE, store, durationMs: DURATION_MS });
      expect(stats.serversKilled).toBeGreaterThan(1);
    },
  );
});
