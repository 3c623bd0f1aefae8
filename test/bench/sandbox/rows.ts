import { atLeast, atMost, NO_TARGET } from '../rows.ts';
import type { Row } from '../rows.ts';

const PEERS = ['node:vm', 'isolated-vm', 'quickjs-emscripten', 'worker_threads', 'n8n-task-runner'] as const;

/** Number of concurrent executions in the pipelined rows, and of expressions in a batch. */
const CONCURRENCY = 32;
const BATCH_SIZE = 100;

/** Number of rounds of rows with long samples. */
const LONG_ROUNDS = 5;

type RowSettings = Pick<Row, 'name' | 'workload' | 'contender'> & Partial<Row>;

const row = (settings: RowSettings): Row => ({
  size: 1,
  unit: 'ms',
  scale: 1,
  peers: [],
  hasBaseline: false,
  target: NO_TARGET,
  isTargetMet: () => undefined,
  ...settings,
});

/** Returns a row with an upper bound. */
const boundedRow = (max: number, unit: string, settings: RowSettings): Row =>
  row({ unit, target: `≤ ${max} ${unit}`, isTargetMet: ({ heddle }) => atMost(heddle, max), ...settings });

/** Returns a row of executions per second, with a lower bound. */
const rateRow = (min: number, settings: RowSettings): Row =>
  row({
    unit: '/s',
    isRate: true,
    scale: CONCURRENCY * 1000,
    size: CONCURRENCY,
    target: `≥ ${min.toLocaleString('en-US')}/s`,
    isTargetMet: ({ heddle }) => atLeast(heddle, min),
    ...settings,
  });

const warmRow = (level: 'standard' | 'strict'): Row =>
  boundedRow(0.35, 'ms', {
    name: `JavaScript, warm, one by one, ${level}`,
    workload: 'sandbox',
    contender: `heddle-${level}`,
    peers: PEERS,
    hasBaseline: true,
  });

const memoryRow = (level: 'standard' | 'strict', peers: readonly string[]): Row =>
  row({
    name: `JavaScript, memory of a process, ${level}`,
    workload: 'sandbox memory',
    contender: `heddle-${level}`,
    size: 100,
    unit: 'MB',
    peers,
    hasBaseline: true,
    rounds: 3,
  });

const JAVASCRIPT_ROWS: readonly Row[] = [
  row({
    name: 'JavaScript, start of a program to its first result',
    workload: 'sandbox program',
    rounds: LONG_ROUNDS,
    contender: 'heddle-standard',
    peers: PEERS,
    hasBaseline: true,
  }),
  row({
    name: 'JavaScript, new sandbox to its first result',
    workload: 'sandbox start',
    rounds: LONG_ROUNDS,
    contender: 'heddle-standard',
  }),
  warmRow('standard'),
  warmRow('strict'),
  boundedRow(1.2, 'ms', {
    name: 'JavaScript, an isolate for each execution, one by one',
    workload: 'sandbox',
    contender: 'heddle-isolates',
    peers: PEERS,
  }),
  rateRow(800, {
    name: 'JavaScript, an isolate for each execution, on two cores',
    workload: 'sandbox on two cores',
    rounds: LONG_ROUNDS,
    contender: 'heddle-isolates',
    peers: PEERS,
  }),
  rateRow(2000, {
    name: `JavaScript, contexts, ${CONCURRENCY} pipelined`,
    workload: 'sandbox in flight',
    contender: 'heddle-standard',
    // Threads are measured in the row above; pipelining does not affect them.
    peers: PEERS.filter((name) => name !== 'worker_threads'),
    hasBaseline: true,
  }),
  boundedRow(0.1, 'ms', {
    name: `each of ${BATCH_SIZE} expressions in a batch`,
    workload: 'expressions',
    contender: 'heddle-standard',
    size: BATCH_SIZE,
    scale: 1 / BATCH_SIZE,
    peers: PEERS.filter((name) => name !== 'n8n-task-runner'),
    hasBaseline: true,
  }),
  row({
    name: 'JavaScript with lodash, dayjs and zod, warm',
    rounds: LONG_ROUNDS,
    workload: 'sandbox packages',
    contender: 'heddle-standard',
    image: 'javascript',
    peers: PEERS,
  }),
  memoryRow('standard', PEERS),
  memoryRow('strict', []),
];

const PYTHON_ROWS: readonly Row[] = [
  row({
    name: 'Python, start of a program to its first result',
    workload: 'sandbox program',
    rounds: LONG_ROUNDS,
    contender: 'heddle-python',
    peers: ['cpython'],
  }),
  row({
    name: 'Python, new sandbox to its first result',
    workload: 'sandbox start',
    rounds: LONG_ROUNDS,
    contender: 'heddle-python',
  }),
  boundedRow(10, 'ms', {
    name: 'Python, warm, one by one',
    workload: 'sandbox',
    contender: 'heddle-python',
    peers: ['cpython'],
  }),
  boundedRow(200, 'ms', {
    name: 'Python, cold from the snapshot',
    workload: 'sandbox fresh',
    contender: 'heddle-python',
    peers: ['cpython'],
    rounds: 3,
  }),
  boundedRow(600, 'ms', {
    name: 'Python with pydantic, from the restored snapshot to the end of the import',
    workload: 'sandbox packages',
    contender: 'heddle-python',
    image: 'python',
    peers: ['cpython'],
    rounds: 3,
  }),
  boundedRow(250, 'MB', {
    name: 'Python, memory of a process',
    workload: 'sandbox memory',
    contender: 'heddle-python',
    size: 10,
    peers: ['cpython'],
    rounds: 3,
  }),
];

/** The rows of `--sandbox`. */
export const SANDBOX_ROWS: readonly Row[] = [...JAVASCRIPT_ROWS, ...PYTHON_ROWS];
