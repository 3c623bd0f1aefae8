import { atLeast, atMost, NO_TARGET, ratio } from '../rows.ts';
import type { Line } from '../rows.ts';
import type { Shot, Took } from './load.ts';
import type { Server } from './server.ts';
import type { Storage, ContenderName, ReadName } from './contender.ts';
import type { StreamsTook } from './streams.ts';

/** A line of a row, which shows one figure of its samples. */
export interface ApiLine<Sample> extends Line {
  figure: keyof Sample;
  /** The line shows the difference between Heddle and this contender, per round. */
  over?: ContenderName;
}

interface Common {
  /** Selects rows for `--only`. */
  name: string;
  storage: Storage;
  contenders: readonly ContenderName[];
  /** Factor for the duration of a sample. */
  longer?: number;
}

/** One measurement, of repeated requests or of concurrent streams, and its lines. */
export type ApiRow = Common &
  (
    | { lines: readonly ApiLine<Took>[]; shot(server: Server): Shot }
    | { lines: readonly ApiLine<StreamsTook>[]; streams: { full: number; quick: number } }
  );

const ALL: readonly ContenderName[] = ['heddle', 'hono', 'constant'];
const NO_MORE_MS = 0.5;
/** Upper bound for the cost of a refusal, as a multiple of a constant response. */
const REFUSAL_TIMES = 3;

/** Names of the contenders in the table. */
export const NAMES: { readonly [contender in ContenderName]: string } = {
  heddle: 'heddle',
  hono: 'Hono',
  constant: 'floor',
};

const beside = { peers: [NAMES.hono], floor: true, target: NO_TARGET, met: () => undefined };
const alone = { peers: [], floor: false, target: NO_TARGET, met: () => undefined };

const STORAGES: readonly (readonly [Storage, string])[] = [
  ['memory', 'in memory'],
  ['folder', 'in a data folder'],
];

function runs(more: object): (server: Server) => Pick<Shot, 'path' | 'headers' | 'body'> {
  return (server) => ({ ...server.endpoint('run'), body: JSON.stringify({ ...more, input: {} }) });
}

function oneByOne([storage, where]: readonly [Storage, string]): ApiRow {
  const name = `synchronous run, ${where}`;
  const asked = runs({});
  const within = {
    target: `≤ ${NO_MORE_MS} ms`,
    met: ({ ours }: { ours?: number | undefined }) => atMost(ours, NO_MORE_MS),
  };
  return {
    ...{ name, storage, contenders: ALL },
    shot: (server) => ({ ...asked(server), connections: 1, status: 200, says: '"n":1' }),
    lines: [
      { ...beside, name, unit: 'ms', figure: 'p50' },
      { ...alone, ...within, name: `${name}: over Hono`, unit: 'ms', figure: 'p50', over: 'hono' },
      { ...beside, name: `${name}: processor time`, unit: 'ms', figure: 'cpuMs' },
      { ...alone, name: `${name}: processor time over Hono`, unit: 'ms', figure: 'cpuMs', over: 'hono' },
    ],
  };
}

function inFlight(
  [storage, where]: readonly [Storage, string],
  mode: 'synchronous' | 'asynchronous',
): ApiRow {
  const name = `${mode} runs, 32 at once, ${where}`;
  const later = mode === 'asynchronous';
  const asked = runs(later ? { async: true } : {});
  const answers = later ? { status: 202, says: '"runId"', later } : { status: 200, says: '"n":1' };
  // A constant response has no run that continues after it.
  const compared = later ? { ...beside, floor: false } : beside;
  return {
    ...{ name, storage, contenders: later ? ['heddle', 'hono'] : ALL },
    shot: (server) => ({ ...asked(server), connections: 32, ...answers }),
    lines: [
      { ...compared, name, unit: 'runs/s', figure: 'perSecond', isRate: true },
      { ...compared, name: `${name}: answer, p50`, unit: 'ms', figure: 'p50' },
      { ...compared, name: `${name}: answer, p99`, unit: 'ms', figure: 'p99' },
      { ...compared, name: `${name}: processor time`, unit: 'ms', figure: 'cpuMs' },
    ],
  };
}

const DELIVERIES = 'webhook deliveries, 32 at once, in a data folder';
const LEAST_OF_HONO = 0.4;

/** Deliveries that are stored with their runs before they are answered. Hono stores and runs nothing. */
const deliveries: ApiRow = {
  ...{ name: DELIVERIES, storage: 'folder', contenders: ['heddle', 'hono'] },
  // Node.js accepts one connection in each turn of its event loop, and a turn takes up to 12 ms in Heddle: short samples would
  // measure that.
  longer: 4,
  shot: (server) => ({
    ...{ ...server.endpoint('hook'), body: '{"order":7}' },
    ...{ connections: 32, status: 200, says: '"runId"' },
    startsRuns: server.contender === 'heddle',
  }),
  lines: [
    {
      ...{ ...beside, floor: false, name: DELIVERIES, unit: '/s', figure: 'perSecond', isRate: true },
      target: `≥ ${LEAST_OF_HONO}× Hono`,
      met: ({ ours, peers }) => atLeast(ratio(ours, peers.get(NAMES.hono)), LEAST_OF_HONO),
    },
    { ...beside, floor: false, name: `${DELIVERIES}: answer, p99`, unit: 'ms', figure: 'p99' },
    { ...beside, floor: false, name: `${DELIVERIES}: processor time`, unit: 'ms', figure: 'cpuMs' },
  ],
};

const streams: ApiRow = {
  ...{ name: 'open streams', storage: 'memory', contenders: ALL },
  streams: { full: 1000, quick: 200 },
  lines: [
    { ...beside, name: 'open streams: first frame, p50', unit: 'ms', figure: 'firstP50' },
    { ...beside, name: 'open streams: first frame, p99', unit: 'ms', figure: 'firstP99' },
    { ...beside, name: 'open streams: all ended', unit: 'ms', figure: 'allEndedMs' },
    { ...beside, name: 'open streams: memory', unit: 'KB/stream', figure: 'perStreamKb' },
  ],
};

const READ_P99_MS = 50;

/** Rows that read 10,000 workflows and 100,000 runs. `more`: filters of the list. */
const READS: {
  readonly [name: string]: { endpoint: ReadName; more?: string; says: string };
} = {
  'list of 10,000 workflows: a page': { endpoint: 'workflows', says: '"Workflow ' },
  'list of 10,000 workflows: a page by change': {
    ...{ endpoint: 'workflows', more: '&sortBy=updatedAt&sortOrder=desc', says: '"Workflow ' },
  },
  'list of 10,000 workflows: a page without matches': {
    ...{ endpoint: 'workflows', more: '&search=none', says: '"data":[]' },
  },
  'list of 10,000 workflows: one workflow': { endpoint: 'workflow', says: '"Step"' },
  'log of 100,000 runs: a page': { endpoint: 'logs', says: '"runId"' },
  'log of 100,000 runs: a page by duration': {
    ...{ endpoint: 'logs', more: '&sortBy=durationMs', says: '"runId"' },
  },
  'log of 100,000 runs: a page of failed runs': {
    ...{ endpoint: 'logs', more: '&status=failed&details=full', says: '"failed"' },
  },
  'log of 100,000 runs: a page without matches': {
    ...{ endpoint: 'logs', more: '&triggers=none&workflowName=none', says: '"data":[]' },
  },
  'log of 100,000 runs: one run': { endpoint: 'log', says: '"traceSpans"' },
  'log of 100,000 runs: statistics of all': {
    ...{ endpoint: 'stats', says: '"totalRuns"' },
  },
};

const FILLED: readonly (readonly [Storage, string])[] = [
  ['filled', ''],
  ['filled postgres', ', PostgreSQL'],
];

function read(what: string, [storage, where]: readonly [Storage, string]): ApiRow {
  const { endpoint, more = '', says } = READS[what] as (typeof READS)[string];
  const name = what + where;
  const within = {
    target: `≤ ${READ_P99_MS} ms`,
    met: ({ ours }: { ours?: number | undefined }) => atMost(ours, READ_P99_MS),
  };
  return {
    ...{ name, storage, contenders: ['heddle'] },
    shot(server) {
      const { path, headers } = server.endpoint(endpoint);
      return { method: 'GET', path: path + more, headers, connections: 1, status: 200, says };
    },
    lines: [
      { ...alone, name: `${name}: p50`, unit: 'ms', figure: 'p50' },
      { ...alone, ...within, name: `${name}: p99`, unit: 'ms', figure: 'p99' },
    ],
  };
}

type Asked = Pick<Shot, 'status' | 'says'> & { asked(server: Server): Partial<Shot> };

function withKey(server: Server, key: string): { [name: string]: string } {
  return { ...server.endpoint('run').headers, 'X-API-Key': key };
}

const REFUSALS: { readonly [what: string]: Asked } = {
  'no key, 401': { status: 401, says: 'UNAUTHORIZED', asked: () => ({ headers: {} }) },
  'an unknown key, 401': {
    ...{ status: 401, says: 'UNAUTHORIZED' },
    asked: (server) => ({ headers: withKey(server, `sk-heddle-${'x'.repeat(43)}`) }),
  },
  'an unknown path, 404': {
    ...{ status: 404, says: 'NOT_FOUND' },
    asked: () => ({ path: '/api/v2/nothing' }),
  },
  'an unknown workflow, 404': {
    ...{ status: 404, says: 'NOT_FOUND' },
    asked: () => ({ path: '/api/v2/workflows/none/execute' }),
  },
};

function refused(what: string, storage: Storage): ApiRow {
  const { status, says, asked } = REFUSALS[what] as Asked;
  const name = `refusals: ${what}`;
  const plain = runs({});
  return {
    ...{ name, storage, contenders: ['heddle', 'constant'] },
    shot(server) {
      const base = { ...plain(server), connections: 32 };
      const isConstant = server.contender === 'constant';
      return isConstant
        ? { ...base, status: 200, says: '"n":1' }
        : { ...base, ...asked(server), status, says };
    },
    lines: [
      {
        ...beside,
        ...{ name, unit: '/s', figure: 'perSecond', isRate: true, peers: [] },
        target: `≤ ${REFUSAL_TIMES}× the floor`,
        met: ({ ratioToFloor }) => atMost(ratioToFloor, REFUSAL_TIMES),
      },
      { ...beside, peers: [], name: `${name}: processor time`, unit: 'ms', figure: 'cpuMs' },
    ],
  };
}

export const API_ROWS: readonly ApiRow[] = [
  ...STORAGES.map((storage) => oneByOne(storage)),
  ...STORAGES.map((storage) => inFlight(storage, 'synchronous')),
  ...STORAGES.map((storage) => inFlight(storage, 'asynchronous')),
  deliveries,
  streams,
  ...Object.keys(REFUSALS).map((what) => refused(what, 'folder')),
  ...FILLED.flatMap((storage) => Object.keys(READS).map((what) => read(what, storage))),
];
