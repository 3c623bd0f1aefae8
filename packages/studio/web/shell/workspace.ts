import { useQuery } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import { workspacesQuery } from '../api/queries.ts';

export const WorkspaceContext = createContext('');

/** Returns the id of the workspace that the pages show. */
export function useWorkspaceId(): string {
  return useContext(WorkspaceContext);
}

const STORAGE_KEY = 'heddle-workspace';

/** Returns the workspaces of the user. `currentWorkspace`: the one that was shown last, otherwise the first. */
export function useWorkspaces() {
  const query = useQuery(workspacesQuery);
  const workspaces = query.data?.data ?? [];
  const storedId = localStorage.getItem(STORAGE_KEY);
  const currentWorkspace = workspaces.find(({ id }) => id === storedId) ?? workspaces[0];
  return { ...query, workspaces, currentWorkspace };
}

export function rememberWorkspace(id: string): void {
  localStorage.setItem(STORAGE_KEY, id);
}
