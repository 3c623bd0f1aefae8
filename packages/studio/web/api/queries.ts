import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client, dataOf } from './client.ts';
import type { paths } from './schema.ts';

/** The response body of a successful GET of this path. */
export type GetResponseBody<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;

export type Overview = GetResponseBody<'/api/v2/logs/{runId}/overview'>['data'];
export type Pause = Overview['pauses'][number];
export type Span = GetResponseBody<'/api/v2/logs/{runId}/spans'>['data'][number];
export type BlockState = GetResponseBody<'/api/v2/logs/{runId}/states'>['data']['blocks'][number];
export type ValuePage = GetResponseBody<'/api/v2/logs/{runId}/value'>['data'];
export type LogEntry = GetResponseBody<'/api/v2/logs'>['data'][number];
export type LogStats = GetResponseBody<'/api/v2/logs/stats'>['data'];
export type SearchPage = GetResponseBody<'/api/v2/logs/search'>['data'];
export type Graph = Overview['graph'];

/** Polling interval for the list of runs, and for a run that has not ended. */
const POLL_INTERVAL_MS = 2000;
/** Maximum age of data that the router has loaded: a page shows older data, but also requests it again. */
const STALE_MS = 1000;
const PAGE_SIZE = 50;

/** Filters of the list of runs, as query parameters of the HTTP API. */
export interface RunFilters {
  workspaceId: string;
  workflowIds?: string;
  workflowName?: string;
  status?: string;
  triggers?: string;
  runId?: string;
  startDate?: string;
  minDurationMs?: number;
  minCost?: number;
}

export const workspacesQuery = queryOptions({
  queryKey: ['workspaces'],
  queryFn: () => dataOf(client.GET('/api/v2/workspaces', { params: { query: { limit: 100 } } })),
  staleTime: Infinity,
});

/** The runs, newest first. The loaded pages are polled while the list is visible. */
export function runsQuery(filters: RunFilters) {
  return infiniteQueryOptions({
    queryKey: ['runs', filters],
    queryFn: ({ pageParam: cursor }) =>
      dataOf(
        client.GET('/api/v2/logs', {
          params: {
            query: { ...filters, details: 'full', limit: PAGE_SIZE, ...(cursor !== '' && { cursor }) },
          },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: POLL_INTERVAL_MS,
    placeholderData: keepPreviousData,
  });
}

/** The runs that contain `text`, newest first. Each page reads a bounded number of runs. */
export function searchQuery(filters: RunFilters, text: string, part: 'any' | 'input' | 'output' | 'error') {
  return infiniteQueryOptions({
    queryKey: ['search', filters, text, part],
    queryFn: async ({ pageParam: cursor }) => {
      const query = { ...filters, text, in: part, ...(cursor !== '' && { cursor }) };
      return (await dataOf(client.GET('/api/v2/logs/search', { params: { query } }))).data;
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

/** Statistics of the runs since `startDate`, in total, by workflow and by time segment. */
export function statsQuery(query: {
  workspaceId: string;
  startDate: string;
  segmentCount: number;
  percentiles: boolean;
  workflowIds?: string;
}) {
  return queryOptions({
    queryKey: ['stats', query],
    queryFn: async () => (await dataOf(client.GET('/api/v2/logs/stats', { params: { query } }))).data,
    refetchInterval: 10_000,
    placeholderData: keepPreviousData,
  });
}

export function overviewQuery(runId: string) {
  return queryOptions({
    queryKey: ['run', runId, 'overview'],
    queryFn: async () =>
      (await dataOf(client.GET('/api/v2/logs/{runId}/overview', { params: { path: { runId } } }))).data,
    staleTime: STALE_MS,
    // The event stream ends when the run waits for a person. Polling then detects a timer or another person's answer.
    refetchInterval: ({ state }) =>
      state.data && isNonTerminal(state.data.status) ? POLL_INTERVAL_MS : false,
  });
}

/** The states of the blocks. `scope`: the span id of an iteration; empty: the whole run. */
export function statesQuery(runId: string, scope: string) {
  return queryOptions({
    queryKey: ['run', runId, 'states', scope],
    queryFn: async () => {
      const query = scope === '' ? {} : { scope };
      const params = { path: { runId }, query };
      return (await dataOf(client.GET('/api/v2/logs/{runId}/states', { params }))).data;
    },
    staleTime: STALE_MS,
    // While another iteration is loading, the page keeps the states that it shows.
    placeholderData: (previous, query) => (query?.queryKey[1] === runId ? previous : undefined),
  });
}

/** Filters of the list of spans of a run. */
export interface SpanFilters {
  /** Id of the span that contains the listed spans. */
  under?: string;
  /** Only the direct children of `under`. */
  direct?: boolean;
  status?: Span['status'];
  /** Number of an iteration or branch. */
  index?: number;
  limit?: number;
}

export function spansQuery(runId: string, filters: SpanFilters) {
  return infiniteQueryOptions({
    queryKey: ['run', runId, 'spans', filters],
    queryFn: ({ pageParam: cursor }) => {
      const query = { limit: 500, ...filters, ...(cursor !== '' && { cursor }) };
      return dataOf(client.GET('/api/v2/logs/{runId}/spans', { params: { path: { runId }, query } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

/** A part of a value: the span, its input or output, and a path in it. */
export interface ValueAddress {
  spanId: string;
  part: 'input' | 'output';
  path: string;
}

/** Returns the query parameters of an address, without empty ones. */
export function valueParameters({ spanId, part, path }: ValueAddress) {
  return { part, ...(spanId !== '' && { spanId }), ...(path !== '' && { path }) };
}

export function valueQuery(
  runId: string,
  address: ValueAddress,
  start: { offset?: number; entry?: number } = {},
) {
  return queryOptions({
    queryKey: ['run', runId, 'value', address, start],
    queryFn: async () => {
      const query = { ...valueParameters(address), ...start };
      const params = { path: { runId }, query };
      return (await dataOf(client.GET('/api/v2/logs/{runId}/value', { params }))).data;
    },
    retry: false,
  });
}

/** True for a run that can still change. */
export function isNonTerminal(status: string): boolean {
  return !['completed', 'failed', 'cancelled'].includes(status);
}
