import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { pickByScale } from '../../support/scale.ts';
import { type ProductionServer, startProductionServer } from './server.ts';
import { findProductionTools } from './tools.ts';
import { createPostgresDatabase } from '../../support/postgres.ts';
import { getOrStartServer } from '../../support/postgres-server.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { runScenario } from '../chaos/scenario.ts';
import type { KillableServer } from '../chaos/faults.ts';

const NAMESPACE = 'chaos';
const DURATION_MS = pickByScale(30_000, 600_000);

/**
 * Starts a production server for one test. The server can be killed with SIGKILL and restarted with the same databases
 * and ports.
 */
async function startKillableServer(): Promise<KillableServer & { address: string }> {
  const { tools } = findProductionTools();
  if (!tools) throw new Error('The tools for a production server are missing.');
  const postgres = await getOrStartServer(tools.postgres);
  const name = `chaos_${randomUUID().replaceAll('-', '')}`;
  const start = (ports?: readonly number[]): Promise<ProductionServer> =>
    startProductionServer({ tools, postgres, name, namespace: NAMESPACE, ...(ports && { ports }) });
  let server = await start();
  onTestFinished(() => server.stop());
  return {
    address: server.address,
    restart: async () => {
      const { pid, exited, ports } = server;
      process.kill(pid, 'SIGKILL');
      expect(await exited).toBe('SIGKILL');
      server = await start(ports);
    },
  };
}

describeTemporal('chaos on the production server', () => {
  it(
    'killing workers and the server in a loop, on PostgreSQL, loses no call and records none twice, and all runs complete',
    { timeout: DURATION_MS + 600_000 },
    async () => {
      const store = { postgres: await createPostgresDatabase() };
      const server = await startKillableServer();
      const stats = await runScenario({ server, namespace: NAMESPACE, store, durationMs: DURATION_MS });
      expect(stats.serversKilled).toBeGreaterThan(0);
    },
  );
});
