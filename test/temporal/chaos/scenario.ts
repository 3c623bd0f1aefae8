import { expect } from 'vitest';
import { expectNothingLost, writeStats } from './stats.ts';
import type { ChaosStats } from './stats.ts';
import { openEnvironment } from './environment.ts';
import type { EnvironmentOptions } from './environment.ts';
import { injectFaults } from './faults.ts';
import type { KillableServer } from './faults.ts';

/** Number of concurrent runs. */
const CONCURRENCY = 9;

/**
 * Kills a server and its three workers repeatedly while runs are in flight. Expects that no call is lost and none is
 * recorded twice. Returns the statistics.
 */
export async function runScenario({
  server,
  durationMs,
  ...options
}: Pick<EnvironmentOptions, 'namespace' | 'store'> & {
  server: KillableServer & { address: string };
  durationMs: number;
}): Promise<ChaosStats> {
  const environment = await openEnvironment({ ...options, address: server.address, workerCount: 3 });
  const outcome = await injectFaults({ ...environment, server, durationMs, concurrency: CONCURRENCY });
  const stats = await expectNothingLost({ ...environment, outcome });
  writeStats(stats);
  expect(stats.runs).toBeGreaterThanOrEqual(CONCURRENCY);
  expect(stats.workersKilled).toBeGreaterThan(3);
  return stats;
}
