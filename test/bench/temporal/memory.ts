import type { Figure, Result } from './measure-row.ts';
import { NO_FIGURES } from './measure-row.ts';
import type { Line } from './rows.ts';
import { WorkerGroup } from './worker-group.ts';
import type { Layout, ContenderName } from './worker-group.ts';
import type { Setup } from './worker-groups.ts';

/** Number of runs that wait for a person. */
const PAUSED_RUNS = 10_000;
const IN_FLIGHT = 50;
/** A client, and the worker that is measured. */
const LAYOUT: Layout = [[], ['engine', 'effects', 'segments']];

interface MemoryRow {
  line: Line;
  /** Maximum number of cached workflows of the worker. */
  cached: number;
}

/** Rows with the memory of the worker per open run, for cached and for evicted runs. */
export const MEMORY_ROWS: readonly MemoryRow[] = [
  { line: lineOf('cached'), cached: PAUSED_RUNS + 100 },
  { line: lineOf('evicted'), cached: 50 },
];

function lineOf(state: string): Line {
  return { name: `memory of a paused run, 10,000 of them, ${state}`, unit: 'KB', target: '–' };
}

/** Measures both contenders, one after the other. */
export async function measureMemory({ line, cached }: MemoryRow, setup: Setup): Promise<Result> {
  try {
    const ours = await memoryPerRun('heddle', cached, setup);
    const baseline = await memoryPerRun('baseline', cached, setup);
    return { ...NO_FIGURES, line, ours, baseline, ratio: ours.value / baseline.value };
  } catch (error) {
    return { ...NO_FIGURES, line, missing: error instanceof Error ? error.message : String(error) };
  }
}

async function memoryPerRun(
  contender: ContenderName,
  cachedWorkflows: number,
  setup: Setup,
): Promise<Figure> {
  const group = await WorkerGroup.start({
    ...setup,
    contender,
    layout: LAYOUT,
    mode: { cachedWorkflows },
  });
  try {
    // Code that the first runs load does not belong to the memory of runs.
    await group.startPausedRuns(IN_FLIGHT, IN_FLIGHT);
    const initialMb = await group.memoryMb();
    await group.startPausedRuns(PAUSED_RUNS, IN_FLIGHT);
    const value = (((await group.memoryMb()) - initialMb) * 1024) / PAUSED_RUNS;
    return { value, least: value, most: value };
  } finally {
    await group.stop();
  }
}
