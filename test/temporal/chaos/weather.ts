import { expect } from 'vitest';
import { expectWhole, tellFigures } from './chaos.ts';
import type { Figures } from './chaos.ts';
import { openStage } from './stage.ts';
import type { StageOptions } from './stage.ts';
import { storm } from './storm.ts';
import type { Mortal } from './storm.ts';

/** Runs in flight at once. */
const WIDTH = 9;

/** Has a server and three workers killed again and again while runs are in flight, and expects that nothing was lost or doubled; gives the figures. */
export async function weather({
  server,
  forMs,
  ...where
}: Pick<StageOptions, 'namespace' | 'place'> & {
  server: Mortal & { address: string };
  forMs: number;
}): Promise<Figures> {
  const stage = await openStage({ ...where, address: server.address, workers: 3 });
  const outcome = await storm({ ...stage, server, forMs, width: WIDTH });
  const figures = await expectWhole({ ...stage, outcome });
  tellFigures(figures);
  expect(figures.runs).toBeGreaterThanOrEqual(WIDTH);
  expect(figures.workersKilled).toBeGreaterThan(3);
  return figures;
}
