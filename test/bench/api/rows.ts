import { atLeast, atMost, NO_TARGET, ratio } from '../rows.ts';
import type { TableRow } from '../rows.ts';
import type { RequestSpec, LoadSample } from './load.ts';
import type { Server } from './server.ts';
import type { Storage, ContenderName, ReadName } from './contender.ts';
import type { StreamsSample } from './streams.ts';

/** A line of the table. It shows one figure of the samples of a row. */
export interface ApiLine<Sample> extends TableRow {
  figure: keyof Sample;
  /** If set, the line shows by how much Heddle exceeds this contender, per round. */
  differenceTo?: ContenderName;
}

interface CommonRow {
  /** Selects rows for `--only`. */
  name: string;
  storage: Storage;
  contenders: readonly ContenderName[];
  /** Factor for the duration of a sample. */
  durationFactor?: number;
}

/** One measurement of repeated requests or of concurrent streams, and the lines that show it. */
export type ApiRow = CommonRow &
  (
    | { lines: readonly ApiLine<LoadSample>[]; request(server: Server): RequestSpec }
    | { lines: readonly ApiLine<StreamsSample>[]; streams: { full: number; quick: number } }
  );

const ALL_CONTENDERS: readonly ContenderName[] = ['heddle', 'hono', 'constant'];
const MAX_OVERHEAD_MS = 0.5;
/** Upper bound for the cost of a refusal, as a multiple of a constant response. */
const MAX_REFUSAL_RATIO = 3;

/** Names of the contenders in the table. */
export const CONTENDER_NAMES: { readonly [contender in ContenderName]: string } = {
  heddle: 'heddle',
  hono: 'Hono',
  constant: 'baseline',
};

const withPeers = {
  peers: [CONTENDER_NAMES.hono],
  hasBaseline: true,
  target: NO_TARGET,
  met: () => undefined,
};
const withPeersOnly = { ...withPeers, hasBaseline: false };
const withoutPeers = { peers: [], hasBaseline: false, target: NO_TARGET, met: () => undefined };

const STORAGES: readonly (readonly [Storage, string])[] = [
  ['memory', 'in memory'],
  ['folder', 'in a data folder'],
];

/** Returns a function that creates the request of a run. `fields` are added to the body. */
function runRequestOf(fields: object): (server: Server) => Pick<RequestSpec, 'path' | 'headers' | 'body'> {
  return (server) => ({ ...server.endpoint('run'), body: JSON.stringify({ ...fields, input: {} }) });
}

function sequentialRow([storage, label]: readonly [Storage, string]): ApiRow {
  const name = `synchronous run, ${label}`;
  const runRequest = runRequestOf({});
  const bounded = {
    target: `≤ ${MAX_OVERHEAD_MS} ms`,
    met: ({ ours }: { ours?: number | undefined }) => atMost(ours, MAX_OVERHEAD_MS),
  };
  return {
    ...{ name, storage, contenders: ALL_CONTENDERS },
    request: (server) => ({ ...runRequest(server), connections: 1, status: 200, text: '"n":1' }),
    lines: [
      { ...withPeers, name, unit: 'ms', figure: 'p50' },
      {
        ...withoutPeers,
        ...bounded,
        name: `${name}: over Hono`,
        unit: 'ms',
        figure: 'p50',
        differenceTo: 'hono',
      },
      { ...withPeers, name: `${name}: CPU time`, unit: 'ms', figure: 'cpuMs' },
      {
        ...withoutPeers,
        name: `${name}: CPU time over Hono`,
        unit: 'ms',
        figure: 'cpuMs',
        differenceTo: 'hono',
      },
    ],
  };
}

function concurrentRow(
  [storage, label]: readonly [Storage, string],
  mode: 'synchronous' | 'asynchronous',
): ApiRow {
  const name = `${mode} runs, 32 concurrent, ${label}`;
  const isAsync = mode === 'asynchronous';
  const runRequest = runRequestOf(isAsync ? { async: true } : {});
  const expected = isAsync ? { status: 202, text: '"runId"', isAsync } : { status: 200, text: '"n":1' };
  // A constant response has no run that continues after it.
  const compared = isAsync ? withPeersOnly : withPeers;
  return {
    ...{ name, storage, contenders: isAsync ? ['heddle', 'hono'] : ALL_CONTENDERS },
    request: (server) => ({ ...runRequest(server), connections: 32, ...expected }),
    lines: [
      { ...compared, name, unit: 'runs/s', figure: 'perSecond', isRate: true },
      { ...compared, name: `${name}: response time, p50`, unit: 'ms', figure: 'p50' },
      { ...compared, name: `${name}: response time, p99`, unit: 'ms', figure: 'p99' },
      { ...compared, name: `${name}: CPU time`, unit: 'ms', figure: 'cpuMs' },
    ],
  };
}

const DELIVERIES = 'webhook deliveries, 32 concurrent, in a data folder';
const MIN_RATIO_TO_HONO = 0.4;

/** Deliveries that are stored with their runs before they are answered. Hono stores and runs nothing. */
const deliveries: ApiRow = {
  ...{ name: DELIVERIES, storage: 'folder', contenders: ['heddle', 'hono'] },
  // Node.js accepts one connection in each turn of its event loop, and a turn takes up to 12 ms in Heddle. Short
  // samples would measure the time until all connections are accepted.
  durationFactor: 4,
  request: (server) => ({
    ...{ ...server.endpoint('hook'), body: '{"order":7}' },
    ...{ connections: 32, status: 200, text: '"runId"' },
    startsRuns: server.contender === 'heddle',
  }),
  lines: [
    {
      ...{ ...withPeersOnly, name: DELIVERIES, unit: '/s', figure: 'perSecond', isRate: true },
      target: `≥ ${MIN_RATIO_TO_HONO}× Hono`,
      met: ({ ours, peers }) => atLeast(ratio(ours, peers.get(CONTENDER_NAMES.hono)), MIN_RATIO_TO_HONO),
    },
    { ...withPeersOnly, name: `${DELIVERIES}: response time, p99`, unit: 'ms', figure: 'p99' },
    { ...withPeersOnly, name: `${DELIVERIES}: CPU time`, unit: 'ms', figure: 'cpuMs' },
  ],
};

const streams: ApiRow = {
  ...{ name: 'open streams', storage: 'memory', contenders: ALL_CONTENDERS },
  streams: { full: 1000, quick: 200 },
  lines: [
    { ...withPeers, name: 'open streams: first frame, p50', unit: 'ms', figure: 'firstP50' },
    { ...withPeers, name: 'open streams: first frame, p99', unit: 'ms', figure: 'firstP99' },
    { ...withPeers, name: 'open streams: all ended', unit: 'ms', figure: 'allEndedMs' },
    { ...withPeers, name: 'open streams: memory', unit: 'KB/stream', figure: 'perStreamKb' },
  ],
};

const READ_P99_MS = 50;

/** Rows that read from 10,000 workflows and 100,000 runs. `query` selects and sorts the items of the list. */
const READS: {
  readonly [name: string]: { endpoint: ReadName; query?: string; text: string };
} = {
  'list of 10,000 workflows: a page': { endpoint: 'workflows', text: '"Workflow ' },
  'list of 10,000 workflows: a page sorted by last update': {
    ...{ endpoint: 'workflows', query: '&sortBy=updatedAt&sortOrder=desc', text: '"Workflow ' },
  },
  'list of 10,000 workflows: a page without matches': {
    ...{ endpoint: 'workflows', query: '&search=none', text: '"data":[]' },
  },
  'list of 10,000 workflows: one workflow': { endpoint: 'workflow', text: '"Step"' },
  'log of 100,000 runs: a page': { endpoint: 'logs', text: '"runId"' },
  'log of 100,000 runs: a page sorted by duration': {
    ...{ endpoint: 'logs', query: '&sortBy=durationMs', text: '"runId"' },
  },
  'log of 100,000 runs: a page of failed runs': {
    ...{ endpoint: 'logs', query: '&status=failed&details=full', text: '"failed"' },
  },
  'log of 100,000 runs: a page without matches': {
    ...{ endpoint: 'logs', query: '&triggers=none&workflowName=none', text: '"data":[]' },
  },
  'log of 100,000 runs: one run': { endpoint: 'log', text: '"traceSpans"' },
  'log of 100,000 runs: statistics of all': {
    ...{ endpoint: 'stats', text: '"totalRuns"' },
  },
};

const FILLED: readonly (readonly [Storage, string])[] = [
  ['filled', ''],
  ['filled postgres', ', PostgreSQL'],
];

function readRow(key: string, [storage, label]: readonly [Storage, string]): ApiRow {
  const { endpoint, query = '', text } = READS[key] as (typeof READS)[string];
  const name = key + label;
  const bounded = {
    target: `≤ ${READ_P99_MS} ms`,
    met: ({ ours }: { ours?: number | undefined }) => atMost(ours, READ_P99_MS),
  };
  return {
    ...{ name, storage, contenders: ['heddle'] },
    request(server) {
      const { path, headers } = server.endpoint(endpoint);
      return { method: 'GET', path: path + query, headers, connections: 1, status: 200, text };
    },
    lines: [
      { ...withoutPeers, name: `${name}: p50`, unit: 'ms', figure: 'p50' },
      { ...withoutPeers, ...bounded, name: `${name}: p99`, unit: 'ms', figure: 'p99' },
    ],
  };
}

type Refusal = Pick<RequestSpec, 'status' | 'text'> & { request(server: Server): Partial<RequestSpec> };

function withKey(server: Server, key: string): { [name: string]: string } {
  return { ...server.endpoint('run').headers, 'X-API-Key': key };
}

const REFUSALS: { readonly [key: string]: Refusal } = {
  'no key, 401': { status: 401, text: 'UNAUTHORIZED', request: () => ({ headers: {} }) },
  'an unknown key, 401': {
    ...{ status: 401, text: 'UNAUTHORIZED' },
    request: (server) => ({ headers: withKey(server, `sk-heddle-${'x'.repeat(43)}`) }),
  },
  'an unknown path, 404': {
    ...{ status: 404, text: 'NOT_FOUND' },
    request: () => ({ path: '/api/v2/nothing' }),
  },
  'an unknown workflow, 404': {
    ...{ status: 404, text: 'NOT_FOUND' },
    request: () => ({ path: '/api/v2/workflows/none/execute' }),
  },
};

function refusalRow(key: string, storage: Storage): ApiRow {
  const { status, text, request } = REFUSALS[key] as Refusal;
  const name = `refusals: ${key}`;
  const runRequest = runRequestOf({});
  return {
    ...{ name, storage, contenders: ['heddle', 'constant'] },
    request(server) {
      const base = { ...runRequest(server), connections: 32 };
      const isConstant = server.contender === 'constant';
      return isConstant
        ? { ...base, status: 200, text: '"n":1' }
        : { ...base, ...request(server), status, text };
    },
    lines: [
      {
        ...withPeers,
        ...{ name, unit: '/s', figure: 'perSecond', isRate: true, peers: [] },
        target: `≤ ${MAX_REFUSAL_RATIO}× the baseline`,
        met: ({ ratioToBaseline }) => atMost(ratioToBaseline, MAX_REFUSAL_RATIO),
      },
      { ...withPeers, peers: [], name: `${name}: CPU time`, unit: 'ms', figure: 'cpuMs' },
    ],
  };
}

export const API_ROWS: readonly ApiRow[] = [
  ...STORAGES.map((storage) => sequentialRow(storage)),
  ...STORAGES.map((storage) => concurrentRow(storage, 'synchronous')),
  ...STORAGES.map((storage) => concurrentRow(storage, 'asynchronous')),
  deliveries,
  streams,
  ...Object.keys(REFUSALS).map((key) => refusalRow(key, 'folder')),
  ...FILLED.flatMap((storage) => Object.keys(READS).map((key) => readRow(key, storage))),
];
