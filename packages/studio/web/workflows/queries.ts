import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { client, dataOf } from '../api/client.ts';

/** The workflows of a workspace by name. */
export function workflowsQuery(workspaceId: string, search: string) {
  return infiniteQueryOptions({
    queryKey: ['workflows', workspaceId, search],
    queryFn: ({ pageParam: cursor }) => {
      const page = { limit: 100, ...(cursor !== '' && { cursor }), ...(search !== '' && { search }) };
      const query = { workspaceId, sortBy: 'name', sortOrder: 'asc', ...page } as const;
      return dataOf(client.GET('/api/v2/workflows', { params: { query } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
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
