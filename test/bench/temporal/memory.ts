import type { Figure, Result } from './race.ts';
import { NOTHING } from './race.ts';
import type { Line } from './rows.ts';
import { Team } from './team.ts';
import type { Layout, SideName } from './team.ts';
import type { Ground } from './teams.ts';

/** Runs that wait for a person. */
const PAUSED = 10_000;
const IN_FLIGHT = 50;
/** A client, and the worker that is measured. */
const LAYOUT: Layout = [[], ['engine', 'effects', 'segments']];

interface MemoryRow {
  line: Line;
  /** Workflows that the worker keeps in memory. */
  cached: number;
}

/** Memory of the worker for each run that is open: of those it keeps at hand, and of those it has put away. */
export const MEMORY_ROWS: readonly MemoryRow[] = [
  { line: lineOf('cached'), cached: PAUSED + 100 },
  { line: lineOf('evicted'), cached: 50 },
];

function lineOf(how: string): Line {
  return { name: `memory of a paused run, 10,000 of them, ${how}`, unit: 'KB', target: '–' };
}

/** Measures both sides, one after the other. */
export async function measureMemory({ line, cached }: MemoryRow, ground: Ground): Promise<Result> {
  try {
    const [ours, hand] = [await growth('heddle', cached, ground), await growth('hand', cached, ground)];
    return { ...NOTHING, line, ours, hand, ratio: ours.value / hand.value };
  } catch (error) {
    return { ...NOTHING, line, missing: error instanceof Error ? error.message : String(error) };
  }
}

async function growth(side: SideName, cached: number, ground: Ground): Promise<Figure> {
  const team = await Team.start({ ...ground, side, layout: LAYOUT, mode: { cached } });
  try {
    // What the first runs load is no memory of runs.
    await team.pause(IN_FLIGHT, IN_FLIGHT);
    const before = await team.memory();
    await team.pause(PAUSED, IN_FLIGHT);
    const value = (((await team.memory()) - before) * 1024) / PAUSED;
    return { value, least: value, most: value };
  } finally {
    await team.stop();
  }
}
