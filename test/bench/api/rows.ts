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

const fieldsWithPeers = {
  peers: [CONTENDER_NAMES.hono],
  hasBaseline: true,
  target: NO_TARGET,
  isTargetMet: () => undefined,
};
const fieldsWithPeersOnly = { ...fieldsWithPeers, hasBaseline: false };
const fieldsWithoutPeers = { peers: [], hasBaseline: false, target: NO_TARGET, isTargetMet: () => undefined };

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
  const boundFields = {
    target: `≤ ${MAX_OVERHEAD_MS} ms`,
    isTargetMet: ({ heddle }: { heddle?: number | undefined }) => atMost(heddle, MAX_OVERHEAD_MS),
  };
  return {
    ...{ name, storage, contenders: ALL_CONTENDERS },
    request: (server) => ({
      ...runRequest(server),
      connections: 1,
      expectedStatus: 200,
      expectedText: '"n":1',
    }),
    lines: [
      { ...fieldsWithPeers, name, unit: 'ms', figure: 'p50' },
      {
        ...fieldsWithoutPeers,
        ...boundFields,
        name: `${name}: over Hono`,
        unit: 'ms',
        figure: 'p50',
        differenceTo: 'hono',
      },
      { ...fieldsWithPeers, name: `${name}: CPU time`, unit: 'ms', figure: 'cpuMs' },
      {
        ...fieldsWithoutPeers,
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
  const expectedResponse = isAsync
    ? { expectedStatus: 202, expectedText: '"runId"', isAsync }
    : { expectedStatus: 200, expectedText: '"n":1' };
  // A constant response has no run that continues after it.
  const comparisonFields = isAsync ? fieldsWithPeersOnly : fieldsWithPeers;
  return {
    ...{ name, storage, contenders: isAsync ? ['heddle', 'hono'] : ALL_CONTENDERS },
    request: (server) => ({ ...runRequest(server), connections: 32, ...expectedResponse }),
    lines: [
      { ...comparisonFields, name, unit: 'runs/s', figure: 'perSecond', isRate: true },
      { ...comparisonFields, name: `${name}: response time, p50`, unit: 'ms', figure: 'p50' },
      { ...comparisonFields, name: `${name}: response time, p99`, unit: 'ms', figure: 'p99' },
      { ...comparisonFields, name: `${name}: CPU time`, unit: 'ms', figure: 'cpuMs' },
    ],
  };
}

const DELIVERIES_NAME = 'webhook deliveries, 32 concurrent, in a data folder';
const MIN_RATIO_TO_HONO = 0.4;

/** Deliveries that are stored with their runs before they are acknowledged. Hono stores and runs nothing. */
const deliveriesRow: ApiRow = {
  ...{ name: DELIVERIES_NAME, storage: 'folder', contenders: ['heddle', 'hono'] },
  // Node.js accepts one connection in each iteration of its event loop, and an iteration takes up to 12 ms in Heddle.
  // Short samples would measure the time until all connections are accepted.
  durationFactor: 4,
  request: (server) => ({
    ...{ ...server.endpoint('webhook'), body: '{"order":7}' },
    ...{ connections: 32, expectedStatus: 200, expectedText: '"runId"' },
    startsRuns: server.contender === 'heddle',
  }),
  lines: [
    {
      ...{ ...fieldsWithPeersOnly, name: DELIVERIES_NAME, unit: '/s', figure: 'perSecond', isRate: true },
      target: `≥ ${MIN_RATIO_TO_HONO}× Hono`,
      isTargetMet: ({ heddle, peers }) =>
        atLeast(ratio(heddle, peers.get(CONTENDER_NAMES.hono)), MIN_RATIO_TO_HONO),
    },
    { ...fieldsWithPeersOnly, name: `${DELIVERIES_NAME}: response time, p99`, unit: 'ms', figure: 'p99' },
    { ...fieldsWithPeersOnly, name: `${DELIVERIES_NAME}: CPU time`, unit: 'ms', figure: 'cpuMs' },
  ],
};

const streamsRow: ApiRow = {
  ...{ name: 'open streams', storage: 'memory', contenders: ALL_CONTENDERS },
  streams: { full: 1000, quick: 200 },
  lines: [
    { ...fieldsWithPeers, name: 'open streams: first event, p50', unit: 'ms', figure: 'firstEventP50Ms' },
    { ...fieldsWithPeers, name: 'open streams: first event, p99', unit: 'ms', figure: 'firstEventP99Ms' },
    { ...fieldsWithPeers, name: 'open streams: all ended', unit: 'ms', figure: 'allEndedMs' },
    { ...fieldsWithPeers, name: 'open streams: memory', unit: 'KB/stream', figure: 'memoryPerStreamKb' },
  ],
};

const MAX_READ_P99_MS = 50;

/** Rows that read from 10,000 workflows and 100,000 runs. `query` selects and sorts the items of the list. */
const READS: {
  readonly [name: string]: { endpoint: ReadName; query?: string; expectedText: string };
} = {
  'list of 10,000 workflows: a page': { endpoint: 'workflows', expectedText: '"Workflow ' },
  'list of 10,000 workflows: a page sorted by last update': {
    ...{ endpoint: 'workflows', query: '&sortBy=updatedAt&sortOrder=desc', expectedText: '"Workflow ' },
  },
  'list of 10,000 workflows: a page without matches': {
    ...{ endpoint: 'workflows', query: '&search=none', expectedText: '"data":[]' },
  },
  'list of 10,000 workflows: one workflow': { endpoint: 'workflow', expectedText: '"Step"' },
  'log of 100,000 runs: a page': { endpoint: 'logs', expectedText: '"runId"' },
  'log of 100,000 runs: a page sorted by duration': {
    ...{ endpoint: 'logs', query: '&sortBy=durationMs', expectedText: '"runId"' },
  },
  'log of 100,000 runs: a page of failed runs': {
    ...{ endpoint: 'logs', query: '&status=failed&details=full', expectedText: '"failed"' },
  },
  'log of 100,000 runs: a page without matches': {
    ...{ endpoint: 'logs', query: '&triggers=none&workflowName=none', expectedText: '"data":[]' },
  },
  'log of 100,000 runs: one run': { endpoint: 'log', expectedText: '"traceSpans"' },
  'log of 100,000 runs: statistics of all': {
    ...{ endpoint: 'stats', expectedText: '"totalRuns"' },
  },
};

const FILLED_STORAGES: readonly (readonly [Storage, string])[] = [
  ['filled', ''],
  ['filled postgres', ', PostgreSQL'],
];

function readRow(key: string, [storage, label]: readonly [Storage, string]): ApiRow {
  const { endpoint, query = '', expectedText } = READS[key] as (typeof READS)[string];
  const name = key + label;
  const boundFields = {
    target: `≤ ${MAX_READ_P99_MS} ms`,
    isTargetMet: ({ heddle }: { heddle?: number | undefined }) => atMost(heddle, MAX_READ_P99_MS),
  };
  return {
    ...{ name, storage, contenders: ['heddle'] },
    request(server) {
      const { path, headers } = server.endpoint(endpoint);
      return {
        method: 'GET',
        path: path + query,
        headers,
        connections: 1,
        expectedStatus: 200,
        expectedText,
      };
    },
    lines: [
      { ...fieldsWithoutPeers, name: `${name}: p50`, unit: 'ms', figure: 'p50' },
      { ...fieldsWithoutPeers, ...boundFields, name: `${name}: p99`, unit: 'ms', figure: 'p99' },
    ],
  };
}

type Refusal = Pick<RequestSpec, 'expectedStatus' | 'expectedText'> & {
  request(server: Server): Partial<RequestSpec>;
};

function headersWithKey(server: Server, key: string): { [name: string]: string } {
  return { ...server.endpoint('run').headers, 'X-API-Key': key };
}

const REFUSALS: { readonly [key: string]: Refusal } = {
  'no key, 401': { expectedStatus: 401, expectedText: 'UNAUTHORIZED', request: () => ({ headers: {} }) },
  'an unknown key, 401': {
    ...{ expectedStatus: 401, expectedText: 'UNAUTHORIZED' },
    request: (server) => ({ headers: headersWithKey(server, `sk-heddle-${'x'.repeat(43)}`) }),
  },
  'an unknown path, 404': {
    ...{ expectedStatus: 404, expectedText: 'NOT_FOUND' },
    request: () => ({ path: '/api/v2/nothing' }),
  },
  'an unknown workflow, 404': {
    ...{ expectedStatus: 404, expectedText: 'NOT_FOUND' },
    request: () => ({ path: '/api/v2/workflows/none/execute' }),
  },
};

function refusalRow(key: string, storage: Storage): ApiRow {
  const { expectedStatus, expectedText, request } = REFUSALS[key] as Refusal;
  const name = `refusals: ${key}`;
  const runRequest = runRequestOf({});
  return {
    ...{ name, storage, contenders: ['heddle', 'constant'] },
    request(server) {
      const base = { ...runRequest(server), connections: 32 };
      const isConstant = server.contender === 'constant';
      return isConstant
        ? { ...base, expectedStatus: 200, expectedText: '"n":1' }
        : { ...base, ...request(server), expectedStatus, expectedText };
    },
    lines: [
      {
        ...fieldsWithPeers,
        ...{ name, unit: '/s', figure: 'perSecond', isRate: true, peers: [] },
        target: `≤ ${MAX_REFUSAL_RATIO}× the baseline`,
        isTargetMet: ({ ratioToBaseline }) => atMost(ratioToBaseline, MAX_REFUSAL_RATIO),
      },
      { ...fieldsWithPeers, peers: [], name: `${name}: CPU time`, unit: 'ms', figure: 'cpuMs' },
    ],
  };
}

export const API_ROWS: readonly ApiRow[] = [
  ...STORAGES.map((storage) => sequentialRow(storage)),
  ...STORAGES.map((storage) => concurrentRow(storage, 'synchronous')),
  ...STORAGES.map((storage) => concurrentRow(storage, 'asynchronous')),
  deliveriesRow,
  streamsRow,
  ...Object.keys(REFUSALS).map((key) => refusalRow(key, 'folder')),
  ...FILLED_STORAGES.flatMap((storage) => Object.keys(READS).map((key) => readRow(key, storage))),
];
