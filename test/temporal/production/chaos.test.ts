import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { scale } from '../../support/scale.ts';
import { type ProductionServer, startProductionServer } from './server.ts';
import { productionTools } from './tools.ts';
import { postgresDatabase } from '../../support/postgres.ts';
import { serverOf } from '../../support/postgres-server.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { runScenario } from '../chaos/scenario.ts';
import type { KillableServer } from '../chaos/faults.ts';

const NAMESPACE = 'chaos';
const FOR_MS = scale(30_000, 600_000);

/** A production server for one test, which can be killed with SIGKILL and restarted on the same databases and ports. */
async function mortalServer(): Promise<KillableServer & { address: string }> {
  const { tools } = productionTools();
  if (!tools) throw new Error('There are no tools for a production server.');
  const postgres = await serverOf(tools.postgres);
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
    'workers and the server are killed with -9 in a loop, over PostgreSQL: nothing is lost, nothing doubled, every run ends as it should',
    { timeout: FOR_MS + 600_000 },
    async () => {
      const place = { postgres: await postgresDatabase() };
      const server = await mortalServer();
      const figures = await runScenario({ server, namespace: NAMESPACE, place, forMs: FOR_MS });
      expect(figures.serversKilled).toBeGreaterThan(0);
    },
  );
});
