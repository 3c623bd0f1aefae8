import { queryOptions } from '@tanstack/react-query';
import { client, dataOf } from '../api/client.ts';

/** Maximum number of entries of each list on the settings page. */
export const MAX_ENTRIES = 100;

export function secretsQuery(workspaceId: string) {
  return queryOptions({
    queryKey: ['secrets', workspaceId],
    queryFn: async () => {
      const query = { workspaceId, limit: MAX_ENTRIES, sortBy: 'name' } as const;
      return (await dataOf(client.GET('/api/v2/secrets', { params: { query } }))).data;
    },
  });
}

export function credentialsQuery(workspaceId: string) {
  return queryOptions({
    queryKey: ['credentials', workspaceId],
    queryFn: async () => {
      const query = { workspaceId, limit: MAX_ENTRIES, sortBy: 'displayName' } as const;
      return (await dataOf(client.GET('/api/v2/credentials', { params: { query } }))).data;
    },
  });
}

export function sandboxesQuery(workspaceId: string) {
  return queryOptions({
    queryKey: ['sandboxes', workspaceId],
    queryFn: async () => {
      const query = { workspaceId, limit: MAX_ENTRIES, sortBy: 'name' } as const;
      return (await dataOf(client.GET('/api/v2/sandboxes', { params: { query } }))).data;
    },
    refetchInterval: 5000,
  });
}

export function apiKeysQuery(workspaceId: string) {
  return queryOptions({
    queryKey: ['api-keys', workspaceId],
    queryFn: async () => {
      const url = '/api/v2/workspaces/{workspaceId}/api-keys';
      const params = { path: { workspaceId }, query: { limit: MAX_ENTRIES } };
      return (await dataOf(client.GET(url, { params }))).data;
    },
    retry: false,
  });
}
