const MIN_SEGMENT_MS = 60_000;
/** Maximum number of workflows in a result, those with the most runs first. */
const MAX_WORKFLOWS = 200;
/** Maximum number of periods of all workflows in a result: with many periods it has fewer workflows. */
const MAX_SEGMENTS = 20_000;

/** A period of the statistics of one workflow. */
export interface StatsRow {
  workflow_id: string;
  /** Number of the period, from 0. */
  segment: number;
  /** Number of runs. */
  total: number;
  /** Number of failed runs. */
  errors: number;
  /** Sum of the durations, in milliseconds, of the `ended` runs. */
  duration: number;
  /** Number of ended runs, which have a duration. */
  ended: number;
  /** Sum of the known costs, in millionths of a dollar. */
  cost: number;
}

/** A period of the statistics. */
export interface Segment {
  timestamp: string;
  totalExecutions: number;
  successfulExecutions: number;
  avgDurationMs: number;
}

/** The window of the statistics, in equal periods. */
export interface Window {
  fromMs: number;
  toMs: number;
  segmentMs: number;
  count: number;
}

/** Returns the window between the two times in at most `segmentCount` periods of at least a minute. */
export function windowOf(fromMs: number, toMs: number, segmentCount: number): Window {
  const segmentMs = Math.max(MIN_SEGMENT_MS, Math.floor((toMs - fromMs) / segmentCount));
  const count = Math.min(segmentCount, Math.max(1, Math.ceil((toMs - fromMs) / segmentMs)));
  return { fromMs, toMs, segmentMs, count };
}

/**
 * Returns the periods of the window; `to` is exclusive. The last period also includes the remainder from rounding and
 * the end of the window.
 */
export function periodsOf({ fromMs, toMs, segmentMs, count }: Window) {
  return Array.from({ length: count }, (_, segment) => ({
    segment,
    from: fromMs + segment * segmentMs,
    to: segment === count - 1 ? toMs + 1 : fromMs + (segment + 1) * segmentMs,
  }));
}

interface Sums {
  total: number;
  errors: number;
  duration: number;
  ended: number;
  cost: number;
}

/** Returns the statistics from counts per workflow and period. `names`: the names of the workflows, by id. */
export function statsOf(rows: readonly StatsRow[], window: Window, names: ReadonlyMap<string, string>) {
  const { fromMs, toMs, segmentMs } = window;
  const workflows = [...Map.groupBy(rows, (row) => row.workflow_id)].map(([workflowId, workflowRows]) => ({
    workflowId,
    workflowRows,
    sums: sumsOf(workflowRows),
  }));
  const sortedWorkflows = workflows.toSorted(
    (a, b) => b.sums.total - a.sums.total || (a.workflowId < b.workflowId ? -1 : 1),
  );
  const totals = sumsOf(rows);
  const limit = Math.min(MAX_WORKFLOWS, Math.max(1, Math.floor(MAX_SEGMENTS / window.count)));
  return {
    workflows: sortedWorkflows.slice(0, limit).map(({ workflowId, workflowRows, sums }) => ({
      workflowId,
      workflowName: names.get(workflowId) ?? '',
      segments: segmentsOf(workflowRows, window),
      totalExecutions: sums.total,
      totalSuccessful: sums.total - sums.errors,
      totalCost: sums.cost / 1e6,
      overallSuccessRate: sums.total === 0 ? 0 : ((sums.total - sums.errors) / sums.total) * 100,
    })),
    workflowsTruncated: sortedWorkflows.length > limit,
    aggregateSegments: segmentsOf(rows, window),
    totalRuns: totals.total,
    totalErrors: totals.errors,
    avgLatency: averageDurationOf(totals),
    totalCost: totals.cost / 1e6,
    timeBounds: { start: new Date(fromMs).toISOString(), end: new Date(toMs).toISOString() },
    segmentMs,
  };
}

function segmentsOf(rows: readonly StatsRow[], { fromMs, segmentMs, count }: Window): Segment[] {
  const rowsBySegment = Map.groupBy(rows, ({ segment }) => segment);
  return Array.from({ length: count }, (_, index) => {
    const sums = sumsOf(rowsBySegment.get(index) ?? []);
    return {
      timestamp: new Date(fromMs + index * segmentMs).toISOString(),
      totalExecutions: sums.total,
      successfulExecutions: sums.total - sums.errors,
      avgDurationMs: averageDurationOf(sums),
    };
  });
}

function sumsOf(rows: readonly Sums[]): Sums {
  const sums = { total: 0, errors: 0, duration: 0, ended: 0, cost: 0 };
  for (const { total, errors, duration, ended, cost } of rows) {
    sums.total += total;
    sums.errors += errors;
    sums.duration += duration;
    sums.ended += ended;
    sums.cost += cost;
  }
  return sums;
}

function averageDurationOf({ duration, ended }: Sums): number {
  return ended === 0 ? 0 : duration / ended;
}
