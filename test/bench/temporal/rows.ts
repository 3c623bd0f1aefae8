import type { Layout } from './worker-group.ts';
import type { Job, RuntimeSettings } from './contender.ts';

/** Numbers of rounds, and of runs of each contender per round. */
export interface SamplingOptions {
  rounds: number;
  runs: number;
}

/** A metric of a row: one line of the printed table. */
export interface Line {
  name: string;
  /** `ms`: a quantile of the times of runs; `runs/s`: the median of the rounds; `KB`: memory per run. */
  unit: 'ms' | 'runs/s' | 'KB';
  /** Default 0.5. */
  quantile?: number;
  target: string;
  /** Upper bound of Heddle's time per run, as a multiple of the baseline's. */
  maxRatio?: number;
}

/** A job for both contenders. Its metrics are one or more lines of the printed table. */
export interface Row {
  name: string;
  job: Job;
  settings?: RuntimeSettings;
  layout?: Layout;
  concurrency?: number;
  /** Warm-up runs of each contender; default 2. */
  warmUpRuns?: number;
  full: SamplingOptions;
  quick: SamplingOptions;
  /** True if the row takes too long for `--quick`. */
  fullOnly?: boolean;
  baseline: {
    job: Job;
    /** The factor by which this job is smaller than that of Heddle. The times of this job are multiplied by it. */
    scale?: number;
    /** What this job does, if it differs from that of Heddle. */
    note?: string;
    /** A smaller job, for `--quick`. */
    quick?: { job: Job; scale: number };
  };
  lines: readonly Line[];
}

const MAX_CONCURRENT = 200;
const ALL_ROLES = ['engine', 'effects', 'segments'] as const;
/** A client with a worker for workflows, and a worker in another process for compute blocks. */
const SEPARATE_SEGMENTS: Layout = [['engine', 'effects'], ['segments']];

function durationLine(name: string, target: string, maxRatio?: number): Line {
  return { name, unit: 'ms', target, ...(maxRatio !== undefined && { maxRatio }) };
}

function loopRow(
  iterations: number,
  sampling: { full: SamplingOptions; quick: SamplingOptions; warmUpRuns: number },
): Row {
  const name = `loop of ${iterations.toLocaleString('en-US')} iterations that compute`;
  return {
    name,
    job: { graph: 'loop', size: iterations },
    ...sampling,
    baseline: {
      job: { graph: 'loop', size: 200 },
      scale: iterations / 200,
      quick: { job: { graph: 'loop', size: 40 }, scale: iterations / 40 },
      note: 'a part of the activities, scaled',
    },
    lines: [durationLine(name, '≤ 0.01× one activity per iteration', 0.01)],
  };
}

/** Returns the row of chains of ten blocks, a hundred in flight, with a client and `workers` other processes. */
function throughputRow(workers: number): Row {
  const name = `runs of 10 compute blocks, 100 in flight, ${workers} worker${workers > 1 ? 's' : ''}`;
  return {
    name,
    job: { graph: 'compute', size: 10 },
    layout: [[], ...Array.from({ length: workers }, () => ALL_ROLES)],
    concurrency: 100,
    warmUpRuns: 10,
    full: { rounds: 2, runs: 100 },
    quick: { rounds: 1, runs: 40 },
    fullOnly: workers > 1,
    baseline: { job: { graph: 'compute', size: 10 } },
    lines: [{ name, unit: 'runs/s', target: '–' }],
  };
}

const CHAIN_SAMPLING = { full: { rounds: 15, runs: 4 }, quick: { rounds: 4, runs: 3 } } as const;

export const ROWS: readonly Row[] = [
  {
    name: '10 compute blocks',
    job: { graph: 'compute', size: 10 },
    ...CHAIN_SAMPLING,
    baseline: { job: { graph: 'empty', size: 10 }, note: 'an empty workflow' },
    lines: [durationLine('10 compute blocks, compared with an empty workflow', '≤ 1.2×', 1.2)],
  },
  {
    name: '10 compute blocks, segments on a separate worker',
    job: { graph: 'compute', size: 10 },
    settings: { localSegments: false },
    layout: SEPARATE_SEGMENTS,
    ...CHAIN_SAMPLING,
    baseline: { job: { graph: 'compute', size: 1 }, note: 'one activity' },
    lines: [
      durationLine(
        '10 compute blocks, segments on a separate worker, compared with one activity',
        '≤ 1.3×',
        1.3,
      ),
    ],
  },
  {
    name: '10 compute blocks, checkpoint "block"',
    job: { graph: 'compute', size: 10 },
    settings: { checkpoint: 'block' },
    ...CHAIN_SAMPLING,
    baseline: { job: { graph: 'compute', size: 10 } },
    lines: [durationLine('10 compute blocks, checkpoint "block"', '–')],
  },
  {
    name: '10 effect blocks',
    job: { graph: 'effects', size: 10 },
    ...CHAIN_SAMPLING,
    baseline: { job: { graph: 'effects', size: 10 } },
    lines: [durationLine('10 effect blocks', '≤ 1.1×', 1.1)],
  },
  loopRow(1000, { full: { rounds: 5, runs: 1 }, quick: { rounds: 1, runs: 1 }, warmUpRuns: 1 }),
  loopRow(100_000, { full: { rounds: 1, runs: 1 }, quick: { rounds: 1, runs: 1 }, warmUpRuns: 0 }),
  {
    name: '1,000 branches that compute',
    warmUpRuns: 0,
    job: { graph: 'branches', size: 1000, maxConcurrent: MAX_CONCURRENT },
    full: { rounds: 5, runs: 1 },
    quick: { rounds: 1, runs: 1 },
    baseline: {
      job: { graph: 'branches', size: 1000, maxConcurrent: MAX_CONCURRENT },
      quick: { job: { graph: 'branches', size: 200, maxConcurrent: MAX_CONCURRENT }, scale: 5 },
    },
    lines: [durationLine('1,000 branches that compute', '–')],
  },
  {
    name: '10,000 branches that compute',
    warmUpRuns: 0,
    job: { graph: 'branches', size: 10_000, maxConcurrent: MAX_CONCURRENT },
    full: { rounds: 2, runs: 1 },
    quick: { rounds: 1, runs: 1 },
    baseline: {
      job: { graph: 'branches', size: 1000, maxConcurrent: MAX_CONCURRENT },
      scale: 10,
      quick: { job: { graph: 'branches', size: 200, maxConcurrent: MAX_CONCURRENT }, scale: 50 },
      note: 'a part of the branches, scaled: 10,000 activities do not fit into one history',
    },
    lines: [durationLine('10,000 branches that compute', '–')],
  },
  {
    name: '1,000 branches with effects',
    warmUpRuns: 0,
    fullOnly: true,
    job: { graph: 'effect branches', size: 1000, maxConcurrent: MAX_CONCURRENT },
    full: { rounds: 5, runs: 1 },
    quick: { rounds: 1, runs: 1 },
    baseline: { job: { graph: 'effect branches', size: 1000, maxConcurrent: MAX_CONCURRENT } },
    lines: [durationLine('1,000 branches with effects', '–')],
  },
  {
    name: 'one compute block',
    job: { graph: 'compute', size: 1 },
    full: { rounds: 20, runs: 10 },
    quick: { rounds: 4, runs: 5 },
    baseline: { job: { graph: 'compute', size: 1 } },
    lines: [
      { name: 'one compute block, p50', unit: 'ms', target: '–' },
      { name: 'one compute block, p99', unit: 'ms', quantile: 0.99, target: '–' },
    ],
  },
  throughputRow(1),
  throughputRow(2),
  throughputRow(4),
];
