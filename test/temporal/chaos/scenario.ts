import { expect } from 'vitest';
import { expectNothingLost, writeFigures } from './figures.ts';
import type { Figures } from './figures.ts';
import { openEnvironment } from './environment.ts';
import type { EnvironmentOptions } from './environment.ts';
import { injectFaults } from './faults.ts';
import type { KillableServer } from './faults.ts';

/** Number of concurrent runs. */
const CONCURRENCY = 9;

/**
 * Kills a server and its three workers repeatedly while runs are in flight. Expects that no call is lost and none is
 * recorded twice. Returns the figures.
 */
export async function runScenario({
  server,
  durationMs,
  ...options
}: Pick<EnvironmentOptions, 'namespace' | 'store'> & {
  server: KillableServer & { address: string };
  durationMs: number;
}): Promise<Figures> {
  const environment = await openEnvironment({ ...options, address: server.address, workerCount: 3 });
  const outcome = await injectFaults({ ...environment, server, durationMs, concurrency: CONCURRENCY });
  const figures = await expectNothingLost({ ...environment, outcome });
  writeFigures(figures);
  expect(figures.runs).toBeGreaterThanOrEqual(CONCURRENCY);
  expect(figures.workersKilled).toBeGreaterThan(3);
  return figures;
}
