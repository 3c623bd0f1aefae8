import type { Metrics } from './metrics.ts';
import type { WorkloadName } from './workload.ts';

/** A row of the printed table: its title, unit, peers and target. */
export interface TableRow {
  name: string;
  unit: string;
  /** True if the unit is a rate, so that larger is better. */
  isRate?: true;
  peers: readonly string[];
  /** True if the row also measures the baseline: the workload without an engine. */
  hasBaseline: boolean;
  target: string;
  /** Returns whether the target is met; undefined if a metric is missing. `earlierMetrics`: those of earlier rows. */
  isTargetMet(metrics: Metrics, earlierMetrics: ReadonlyMap<string, Metrics>): boolean | undefined;
}

/** A row that measures a workload. */
export interface Row extends TableRow {
  workload: WorkloadName;
  size: number;
  /** Factor from milliseconds (or MB) per run to the unit. A rate is this factor divided by the milliseconds. */
  scale: number;
  /** The contender that is measured as Heddle. Default: `heddle`. */
  contender?: string;
  /** The image (installed packages) that the contender uses. */
  image?: 'javascript' | 'python';
  /** Maximum number of rounds, for rows with long samples. */
  rounds?: number;
  /** Time limit of the start, and of each sample. Default: a minute. */
  limitMs?: number;
}

/** The target of rows without one. */
export const NO_TARGET = '–';

const GRAPH_PEERS = ['aws-local-stepfunctions', 'node-red', 'xstate', 'n8n-core', 'langgraph'] as const;

export const atMost = (value: number | undefined, max: number): boolean | undefined =>
  value === undefined ? undefined : value <= max;

export const atLeast = (value: number | undefined, min: number): boolean | undefined =>
  value === undefined ? undefined : value >= min;

/** Returns Heddle's metric of this row as a multiple of its metric of the row `smallerRow`. */
function growth(
  metrics: Metrics,
  earlierMetrics: ReadonlyMap<string, Metrics>,
  smallerRow: string,
): number | undefined {
  const base = earlierMetrics.get(smallerRow)?.heddle;
  return base === undefined || metrics.heddle === undefined ? undefined : metrics.heddle / base;
}

function allMet(...results: (boolean | undefined)[]): boolean | undefined {
  if (results.includes(false)) return false;
  return results.includes(undefined) ? undefined : true;
}

export const ROWS: readonly Row[] = [
  {
    name: 'chain of 10 blocks, in memory',
    workload: 'chain',
    size: 10,
    unit: 'µs/block',
    scale: 100,
    peers: GRAPH_PEERS,
    hasBaseline: true,
    target: '≤ 1× the fastest JSON-graph peer, ≤ 3 µs',
    isTargetMet: ({ heddle, peers }) =>
      allMet(atMost(ratio(heddle, peers.get(GRAPH_PEERS[0])), 1), atMost(heddle, 3)),
  },
  {
    name: 'loop of 1,000 iterations',
    workload: 'loop',
    size: 1000,
    unit: 'µs/iteration',
    scale: 1,
    peers: ['node-red', 'aws-local-stepfunctions', 'xstate', 'n8n-core', 'langgraph'],
    hasBaseline: true,
    target: '≤ 1× the fastest peer',
    isTargetMet: ({ ratioToBestPeer }) => atMost(ratioToBestPeer, 1),
  },
  {
    name: 'loop of 100,000 iterations',
    workload: 'loop',
    size: 100_000,
    unit: 'µs/iteration',
    scale: 0.01,
    peers: ['node-red', 'aws-local-stepfunctions', 'xstate'],
    hasBaseline: true,
    target: '≤ 1× the fastest peer, ≤ 1.1× an iteration of 1,000',
    isTargetMet: (metrics, earlierMetrics) =>
      allMet(
        atMost(metrics.ratioToBestPeer, 1),
        atMost(growth(metrics, earlierMetrics, 'loop of 1,000 iterations'), 1.1),
      ),
    rounds: 3,
  },
  {
    name: 'fan-out of 100 with join',
    workload: 'fan-out',
    size: 100,
    unit: 'ms',
    scale: 1,
    peers: ['node-red', 'aws-local-stepfunctions', 'xstate', 'n8n-core', 'langgraph'],
    hasBaseline: true,
    target: '≤ 1× the fastest peer',
    isTargetMet: ({ ratioToBestPeer }) => atMost(ratioToBestPeer, 1),
  },
  {
    name: 'fan-out of 10,000 with join',
    workload: 'fan-out',
    size: 10_000,
    unit: 'ms',
    scale: 1,
    peers: ['node-red', 'aws-local-stepfunctions'],
    hasBaseline: true,
    target: '≤ 1× the fastest peer, ≤ 110× that of 100',
    isTargetMet: (metrics, earlierMetrics) =>
      allMet(
        atMost(metrics.ratioToBestPeer, 1),
        atMost(growth(metrics, earlierMetrics, 'fan-out of 100 with join'), 110),
      ),
    rounds: 3,
  },
  {
    name: 'durable chain of 10, SQLite',
    workload: 'durable',
    size: 1,
    unit: 'ms',
    scale: 1,
    peers: ['langgraph-sqlite', 'bullmq'],
    hasBaseline: true,
    target: '≤ 2× the baseline, ≤ 1/10 of LangGraph with SQLite',
    isTargetMet: ({ heddle, ratioToBaseline, peers }) =>
      allMet(atMost(ratioToBaseline, 2), atMost(ratio(heddle, peers.get('langgraph-sqlite')), 0.1)),
  },
  {
    name: 'durable chain of 10, 32 in flight',
    workload: 'durable in flight',
    size: 32,
    unit: 'µs/block',
    scale: 1000 / 320,
    peers: ['langgraph-sqlite', 'bullmq'],
    hasBaseline: true,
    target: '≤ 2× the baseline',
    isTargetMet: ({ ratioToBaseline }) => atMost(ratioToBaseline, 2),
  },
  {
    name: 'sandboxed JavaScript, one by one',
    workload: 'sandbox',
    size: 1,
    unit: 'ms',
    scale: 1,
    peers: ['n8n-task-runner'],
    hasBaseline: true,
    target: '≤ 0.35 ms, ≤ 1/4 of n8n',
    isTargetMet: ({ heddle, ratioToBestPeer }) => allMet(atMost(heddle, 0.35), atMost(ratioToBestPeer, 0.25)),
  },
  {
    name: 'sandboxed JavaScript, 32 pipelined',
    workload: 'sandbox in flight',
    size: 32,
    unit: 'ms',
    scale: 1 / 32,
    peers: ['n8n-task-runner'],
    hasBaseline: true,
    target: '≤ 0.3 ms',
    isTargetMet: ({ heddle }) => atMost(heddle, 0.3),
  },
  {
    name: 'compile of 1,000 blocks',
    workload: 'compile',
    size: 1000,
    unit: 'ms',
    scale: 1,
    peers: [],
    hasBaseline: false,
    target: '≤ 15 ms',
    isTargetMet: ({ heddle }) => atMost(heddle, 15),
  },
  {
    name: 'compile of 10,000 blocks',
    workload: 'compile',
    size: 10_000,
    unit: 'ms',
    scale: 1,
    peers: [],
    hasBaseline: false,
    target: '≤ 150 ms, ≤ 11× that of 1,000',
    isTargetMet: (metrics, earlierMetrics) =>
      allMet(
        atMost(metrics.heddle, 150),
        atMost(growth(metrics, earlierMetrics, 'compile of 1,000 blocks'), 11),
      ),
  },
  {
    name: 'cold start to the first record',
    workload: 'cold start',
    size: 0,
    unit: 'ms',
    scale: 1,
    peers: ['xstate', 'aws-local-stepfunctions', 'node-red', 'n8n-core', 'langgraph'],
    hasBaseline: true,
    target: '≤ 80 ms over node -e 0',
    isTargetMet: ({ heddle, baseline }) => atMost(difference(heddle, baseline), 80),
  },
  {
    name: 'memory of the CLI',
    workload: 'memory at start',
    size: 0,
    unit: 'MB',
    scale: 1,
    peers: ['xstate', 'aws-local-stepfunctions', 'node-red', 'n8n-core', 'langgraph'],
    hasBaseline: true,
    target: '≤ 80 MB',
    isTargetMet: ({ heddle }) => atMost(heddle, 80),
    rounds: 3,
  },
  {
    name: 'live memory with 64 MB of outputs, minus that with 16 MB, 1,000 blocks',
    workload: 'memory of outputs',
    size: 1000,
    unit: 'MB',
    scale: 1,
    peers: [],
    hasBaseline: false,
    target: '≤ 8 MB of live memory',
    isTargetMet: ({ heddle }) => atMost(heddle, 8),
    rounds: 3,
  },
  {
    name: 'agent, a round with a tool, in memory',
    workload: 'agent',
    size: 10,
    unit: 'ms/round',
    scale: 1 / 11,
    peers: ['ai-sdk', 'langgraph'],
    hasBaseline: true,
    target: '≤ 0.4 ms over the baseline, ≤ 1× the AI SDK',
    isTargetMet: ({ heddle, baseline, peers }) =>
      allMet(atMost(difference(heddle, baseline), 0.4), atMost(ratio(heddle, peers.get('ai-sdk')), 1)),
  },
  {
    name: 'agent, a round with a tool, SQLite',
    workload: 'durable agent',
    size: 10,
    unit: 'ms/round',
    scale: 1 / 11,
    peers: ['langgraph-sqlite'],
    hasBaseline: true,
    target: '≤ 1 ms over the baseline, ≤ 1/4 of LangGraph with SQLite',
    isTargetMet: ({ heddle, baseline, peers }) =>
      allMet(
        atMost(difference(heddle, baseline), 1),
        atMost(ratio(heddle, peers.get('langgraph-sqlite')), 0.25),
      ),
  },
  {
    name: 'step in a block with 100 steps, SQLite',
    workload: 'steps',
    size: 100,
    unit: 'ms/step',
    scale: 1 / 100,
    peers: [],
    hasBaseline: true,
    target: '≤ 1 ms',
    isTargetMet: ({ heddle }) => atMost(heddle, 1),
  },
  {
    name: 'step in a block with 1,000 steps, SQLite',
    workload: 'steps',
    size: 1000,
    unit: 'ms/step',
    scale: 1 / 1000,
    peers: [],
    hasBaseline: true,
    target: '≤ 1 ms, ≤ 1.1× a step in a block with 100',
    isTargetMet: (metrics, earlierMetrics) =>
      allMet(
        atMost(metrics.heddle, 1),
        atMost(growth(metrics, earlierMetrics, 'step in a block with 100 steps, SQLite'), 1.1),
      ),
  },
  {
    name: 'latency of the first emission to a listener in the same process, data folder',
    workload: 'first text',
    size: 1,
    unit: 'ms',
    scale: 1,
    peers: [],
    hasBaseline: true,
    target: '≤ 2 ms over the baseline',
    isTargetMet: ({ heddle, baseline }) => atMost(difference(heddle, baseline), 2),
  },
  {
    name: 'latency of the first emission to a listener in another process, data folder',
    workload: 'first text in another process',
    size: 1,
    unit: 'ms',
    scale: 1,
    peers: [],
    hasBaseline: true,
    target: '≤ 20 ms over the baseline',
    isTargetMet: ({ heddle, baseline }) => atMost(difference(heddle, baseline), 20),
  },
  {
    name: '10,000 hourly schedules: CPU time while nothing is due',
    workload: 'schedules idle',
    size: 10_000,
    unit: '% of a core',
    scale: 1,
    peers: [],
    hasBaseline: false,
    target: '≤ 1 %',
    isTargetMet: ({ heddle }) => atMost(heddle, 1),
  },
  {
    name: '10,000 hourly schedules: delay from the start of a minute to its last run start',
    workload: 'schedules due',
    size: 10_000,
    unit: 'ms',
    scale: 1,
    peers: [],
    hasBaseline: false,
    target: '≤ 1,000 ms',
    isTargetMet: ({ heddle }) => atMost(heddle, 1000),
  },
  {
    name: '10,000 schedules due at the same time: delay to the last run start',
    workload: 'schedules due together',
    size: 10_000,
    unit: 's',
    scale: 1 / 1000,
    peers: [],
    hasBaseline: false,
    target: '≤ 60 s',
    isTargetMet: ({ heddle }) => atMost(heddle, 60),
    rounds: 1,
    limitMs: 600_000,
  },
  {
    name: '10,000 hourly schedules: heap per schedule, after a minute with runs',
    workload: 'schedules memory',
    size: 10_000,
    unit: 'KB',
    scale: 1,
    peers: [],
    hasBaseline: false,
    target: '≤ 2 KB',
    isTargetMet: ({ heddle }) => atMost(heddle, 2),
    rounds: 1,
  },
];

function difference(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a - b;
}

export function ratio(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a / b;
}
