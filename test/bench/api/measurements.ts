import { atLeast, atMost, NO_TARGET, ratio } from '../rows.ts';
import type { TableRow } from '../rows.ts';
import type { RequestSpec, LoadSample } from './load.ts';
import type { Server } from './server.ts';
import type { Storage, ContenderName, ReadName } from './contender.ts';
import type { StreamsSample } from './streams.ts';

/** A row of the table. It shows one metric of the samples of a measurement. */
export interface ApiRow<Sample> extends TableRow {
  metric: keyof Sample;
  /** If set, the row shows by how much Heddle exceeds this contender, per round. */
  differenceTo?: ContenderName;
}

interface CommonMeasurement {
  /** Selects measurements for `--only`. */
  name: string;
  storage: Storage;
  contenders: readonly ContenderName[];
  /** Factor for the duration of a sample. */
  durationFactor?: number;
}

/** One measurement of repeated requests or of concurrent streams, and the rows that show it. */
export type ApiMeasurement = CommonMeasurement &
  (
    | { rows: readonly ApiRow<LoadSample>[]; request(server: Server): RequestSpec }
    | { rows: readonly ApiRow<StreamsSample>[]; streams: { full: number; quick: number } }
  );

const ALL_CONTENDERS: readonly ContenderName[] = ['heddle', 'hono', 'constant'];
const MAX_OVERHEAD_MS = 0.5;
/** Upper bound for the cost of an error response, as a multiple of a constant response. */
const MAX_ERROR_RESPONSE_RATIO = 3;

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

function createSequentialMeasurement([storage, label]: readonly [Storage, string]): ApiMeasurement {
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
    rows: [
      { ...fieldsWithPeers, name, unit: 'ms', metric: 'p50' },
      {
        ...fieldsWithoutPeers,
        ...boundFields,
        name: `${name}: over Hono`,
        unit: 'ms',
        metric: 'p50',
        differenceTo: 'hono',
      },
      { ...fieldsWithPeers, name: `${name}: CPU time`, unit: 'ms', metric: 'cpuMs' },
      {
        ...fieldsWithoutPeers,
        name: `${name}: CPU time over Hono`,
        unit: 'ms',
        metric: 'cpuMs',
        differenceTo: 'hono',
      },
    ],
  };
}

function createConcurrentMeasurement(
  [storage, label]: readonly [Storage, string],
  mode: 'synchronous' | 'asynchronous',
): ApiMeasurement {
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
    rows: [
      { ...comparisonFields, name, unit: 'runs/s', metric: 'perSecond', isRate: true },
      { ...comparisonFields, name: `${name}: response time, p50`, unit: 'ms', metric: 'p50' },
      { ...comparisonFields, name: `${name}: response time, p99`, unit: 'ms', metric: 'p99' },
      { ...comparisonFields, name: `${name}: CPU time`, unit: 'ms', metric: 'cpuMs' },
    ],
  };
}

const DELIVERIES_NAME = 'webhook deliveries, 32 concurrent, in a data folder';
const MIN_RATIO_TO_HONO = 0.4;

/** Deliveries that are stored with their runs before they are acknowledged. Hono stores and runs nothing. */
const deliveriesMeasurement: ApiMeasurement = {
  ...{ name: DELIVERIES_NAME, storage: 'folder', contenders: ['heddle', 'hono'] },
  // Node.js accepts one connection in each iteration of its event loop, and an iteration takes up to 12 ms in Heddle.
  // Short samples would measure the time until all connections are accepted.
  durationFactor: 4,
  request: (server) => ({
    ...{ ...server.endpoint('webhook'), body: '{"order":7}' },
    ...{ connections: 32, expectedStatus: 200, expectedText: '"runId"' },
    startsRuns: server.contender === 'heddle',
  }),
  rows: [
    {
      ...{ ...fieldsWithPeersOnly, name: DELIVERIES_NAME, unit: '/s', metric: 'perSecond', isRate: true },
      target: `≥ ${MIN_RATIO_TO_HONO}× Hono`,
      isTargetMet: ({ heddle, peers }) =>
        atLeast(ratio(heddle, peers.get(CONTENDER_NAMES.hono)), MIN_RATIO_TO_HONO),
    },
    { ...fieldsWithPeersOnly, name: `${DELIVERIES_NAME}: response time, p99`, unit: 'ms', metric: 'p99' },
    { ...fieldsWithPeersOnly, name: `${DELIVERIES_NAME}: CPU time`, unit: 'ms', metric: 'cpuMs' },
  ],
};

const streamsMeasurement: ApiMeasurement = {
  ...{ name: 'open streams', storage: 'memory', contenders: ALL_CONTENDERS },
  streams: { full: 1000, quick: 200 },
  rows: [
    { ...fieldsWithPeers, name: 'open streams: first event, p50', unit: 'ms', metric: 'firstEventP50Ms' },
    { ...fieldsWithPeers, name: 'open streams: first event, p99', unit: 'ms', metric: 'firstEventP99Ms' },
    { ...fieldsWithPeers, name: 'open streams: all ended', unit: 'ms', metric: 'allEndedMs' },
    { ...fieldsWithPeers, name: 'open streams: memory', unit: 'KB/stream', metric: 'memoryPerStreamKb' },
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

const SEEDED_STORAGES: readonly (readonly [Storage, string])[] = [
  ['seeded', ''],
  ['seeded postgres', ', PostgreSQL'],
];

function createReadMeasurement(key: string, [storage, label]: readonly [Storage, string]): ApiMeasurement {
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
    rows: [
      { ...fieldsWithoutPeers, name: `${name}: p50`, unit: 'ms', metric: 'p50' },
      { ...fieldsWithoutPeers, ...boundFields, name: `${name}: p99`, unit: 'ms', metric: 'p99' },
    ],
  };
}

type ErrorResponseCase = Pick<RequestSpec, 'expectedStatus' | 'expectedText'> & {
  request(server: Server): Partial<RequestSpec>;
};

function headersWithKey(server: Server, key: string): { [name: string]: string } {
  return { ...server.endpoint('run').headers, 'X-API-Key': key };
}

const ERROR_RESPONSES: { readonly [key: string]: ErrorResponseCase } = {
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

function createErrorResponseMeasurement(key: string, storage: Storage): ApiMeasurement {
  const { expectedStatus, expectedText, request } = ERROR_RESPONSES[key] as ErrorResponseCase;
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
    rows: [
      {
        ...fieldsWithPeers,
        ...{ name, unit: '/s', metric: 'perSecond', isRate: true, peers: [] },
        target: `≤ ${MAX_ERROR_RESPONSE_RATIO}× the baseline`,
        isTargetMet: ({ ratioToBaseline }) => atMost(ratioToBaseline, MAX_ERROR_RESPONSE_RATIO),
      },
      { ...fieldsWithPeers, peers: [], name: `${name}: CPU time`, unit: 'ms', metric: 'cpuMs' },
    ],
  };
}

export const API_MEASUREMENTS: readonly ApiMeasurement[] = [
  ...STORAGES.map((storage) => createSequentialMeasurement(storage)),
  ...STORAGES.map((storage) => createConcurrentMeasurement(storage, 'synchronous')),
  ...STORAGES.map((storage) => createConcurrentMeasurement(storage, 'asynchronous')),
  deliveriesMeasurement,
  streamsMeasurement,
  ...Object.keys(ERROR_RESPONSES).map((key) => createErrorResponseMeasurement(key, 'folder')),
  ...SEEDED_STORAGES.flatMap((storage) =>
    Object.keys(READS).map((key) => createReadMeasurement(key, storage)),
  ),
];
