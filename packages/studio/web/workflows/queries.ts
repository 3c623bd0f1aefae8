import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { client, dataOf } from '../api/client.ts';
import type { GetResponseBody } from '../api/queries.ts';

export type Trigger = GetResponseBody<'/api/v2/triggers'>['data'][number];
export type Webhook = GetResponseBody<'/api/v2/webhooks'>['data'][number];

/** The workflows of a workspace, sorted by name. `folderPath`: only those directly in this folder; absent: all. */
export function workflowsQuery(workspaceId: string, search: string, folderPath?: string) {
  return infiniteQueryOptions({
    queryKey: ['workflows', workspaceId, search, folderPath],
    queryFn: ({ pageParam: cursor }) => {
      const pagination = { limit: 100, ...(cursor !== '' && { cursor }), ...(search !== '' && { search }) };
      const folder = folderPath === undefined ? {} : { folderPath };
      const query = { workspaceId, sortBy: 'name', sortOrder: 'asc', ...pagination, ...folder } as const;
      return dataOf(client.GET('/api/v2/workflows', { params: { query } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

/** All folders of a workspace. */
export function foldersQuery(workspaceId: string) {
  return queryOptions({
    queryKey: ['folders', workspaceId],
    queryFn: async () =>
      (await dataOf(client.GET('/api/v2/workflows/folders', { params: { query: { workspaceId } } }))).data,
  });
}

export function workflowQuery(workflowId: string) {
  return queryOptions({
    queryKey: ['workflow', workflowId],
    queryFn: async () =>
      (await dataOf(client.GET('/api/v2/workflows/{workflowId}', { params: { path: { workflowId } } }))).data,
  });
}

/** The deployed versions, newest first. */
export function versionsQuery(workflowId: string) {
  return infiniteQueryOptions({
    queryKey: ['workflow', workflowId, 'versions'],
    queryFn: ({ pageParam: cursor }) => {
      const query = { limit: 50, ...(cursor !== '' && { cursor }) };
      const url = '/api/v2/workflows/{workflowId}/versions';
      return dataOf(client.GET(url, { params: { path: { workflowId }, query } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

export function deploymentQuery(workflowId: string) {
  return queryOptions({
    queryKey: ['workflow', workflowId, 'deployment'],
    queryFn: async () => {
      const url = '/api/v2/workflows/{workflowId}/deployment';
      return (await dataOf(client.GET(url, { params: { path: { workflowId } } }))).data;
    },
  });
}

/** The first hundred triggers of a workflow. */
export function triggersQuery(workspaceId: string, workflowId: string) {
  return queryOptions({
    queryKey: ['triggers', workspaceId, workflowId],
    queryFn: async () => {
      const query = { workspaceId, workflowId, limit: 100 };
      return (await dataOf(client.GET('/api/v2/triggers', { params: { query } }))).data;
    },
    refetchInterval: 10_000,
  });
}

/** The first hundred webhooks among the triggers of a workflow. */
export function webhooksQuery(workspaceId: string, workflowId: string) {
  return queryOptions({
    queryKey: ['webhooks', workspaceId, workflowId],
    queryFn: async () => {
      const query = { workspaceId, workflowId, limit: 100 };
      return (await dataOf(client.GET('/api/v2/webhooks', { params: { query } }))).data;
    },
    refetchInterval: 10_000,
  });
}

export function comparisonQuery(workflowId: string, base: string, target: string) {
  return queryOptions({
    queryKey: ['workflow', workflowId, 'compare', base, target],
    queryFn: async () => {
      const url = '/api/v2/workflows/{workflowId}/versions/compare';
      const params = { path: { workflowId }, query: { base, target } };
      return (await dataOf(client.GET(url, { params }))).data;
    },
  });
}

/** The draft of a workflow. */
export function draftQuery(workflowId: string) {
  return queryOptions({
    queryKey: ['workflow', workflowId, 'draft'],
    queryFn: async () => {
      const params = { path: { workflowId } };
      return (await dataOf(client.GET('/api/v2/workflows/{workflowId}/state', { params }))).data;
    },
  });
}

/** A deployed version with its blocks. */
export function versionQuery(workflowId: string, version: number) {
  return queryOptions({
    queryKey: ['workflow', workflowId, 'version', version],
    queryFn: async () => {
      const url = '/api/v2/workflows/{workflowId}/versions/{version}';
      const params = { path: { workflowId, version: String(version) } };
      return (await dataOf(client.GET(url, { params }))).data;
    },
    staleTime: Infinity,
  });
}
