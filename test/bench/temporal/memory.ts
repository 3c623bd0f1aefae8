import type { MeasuredValue, Result } from './measure-row.ts';
import { NO_MEASURED_VALUES } from './measure-row.ts';
import type { Line } from './rows.ts';
import { WorkerGroup } from './worker-group.ts';
import type { Layout, ContenderName } from './worker-group.ts';
import type { Setup } from './worker-groups.ts';

/** Number of runs that wait for a person. */
const PAUSED_RUNS = 10_000;
const CONCURRENCY = 50;
/** A client, and the worker that is measured. */
const LAYOUT: Layout = [[], ['engine', 'effects', 'segments']];

interface MemoryRow {
  line: Line;
  /** Maximum number of cached workflows of the worker. */
  maxCachedWorkflows: number;
}

/** Rows with the memory of the worker per open run, for cached and for evicted runs. */
export const MEMORY_ROWS: readonly MemoryRow[] = [
  { line: lineOf('cached'), maxCachedWorkflows: PAUSED_RUNS + 100 },
  { line: lineOf('evicted'), maxCachedWorkflows: 50 },
];

function lineOf(state: string): Line {
  return { name: `memory of a paused run, 10,000 of them, ${state}`, unit: 'KB', target: '–' };
}

/** Measures both contenders, one after the other. */
export async function measureMemory({ line, maxCachedWorkflows }: MemoryRow, setup: Setup): Promise<Result> {
  try {
    const heddle = await measureMemoryPerRun('heddle', maxCachedWorkflows, setup);
    const baseline = await measureMemoryPerRun('baseline', maxCachedWorkflows, setup);
    return { ...NO_MEASURED_VALUES, line, heddle, baseline, ratio: heddle.value / baseline.value };
  } catch (error) {
    return {
      ...NO_MEASURED_VALUES,
      line,
      missingReason: error instanceof Error ? error.message : String(error),
    };
  }
}

async function measureMemoryPerRun(
  contender: ContenderName,
  maxCachedWorkflows: number,
  setup: Setup,
): Promise<MeasuredValue> {
  const group = await WorkerGroup.start({
    ...setup,
    contender,
    layout: LAYOUT,
    settings: { maxCachedWorkflows },
  });
  try {
    // Code that the first runs load does not belong to the memory of runs.
    await group.startPausedRuns(CONCURRENCY, CONCURRENCY);
    const initialMb = await group.readMemoryMb();
    await group.startPausedRuns(PAUSED_RUNS, CONCURRENCY);
    const value = (((await group.readMemoryMb()) - initialMb) * 1024) / PAUSED_RUNS;
    return { value, least: value, most: value };
  } finally {
    await group.stop();
  }
}
