import { expect } from 'vitest';
import { expectWhole, tellFigures } from './chaos.ts';
import type { Figures } from './chaos.ts';
import { openEnvironment } from './environment.ts';
import type { EnvironmentOptions } from './environment.ts';
import { injectFaults } from './faults.ts';
import type { KillableServer } from './faults.ts';

/** Number of concurrent runs. */
const WIDTH = 9;

/**
 * Kills a server and three workers repeatedly while runs are in flight, and expects no lost or repeated recorded call.
 * Returns the figures.
 */
export async function runScenario({
  server,
  forMs,
  ...where
}: Pick<EnvironmentOptions, 'namespace' | 'place'> & {
  server: KillableServer & { address: string };
  forMs: number;
}): Promise<Figures> {
  const environment = await openEnvironment({ ...where, address: server.address, workers: 3 });
  const outcome = await injectFaults({ ...environment, server, forMs, width: WIDTH });
  const figures = await expectWhole({ ...environment, outcome });
  tellFigures(figures);
  expect(figures.runs).toBeGreaterThanOrEqual(WIDTH);
  expect(figures.workersKilled).toBeGreaterThan(3);
  return figures;
}
