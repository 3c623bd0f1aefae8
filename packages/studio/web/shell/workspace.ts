import { useQuery } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import { workspacesQuery } from '../api/queries.ts';

export const WorkspaceContext = createContext('');

/** Returns the id of the workspace that the pages show. */
export function useWorkspaceId(): string {
  return useContext(WorkspaceContext);
}

const KEY = 'heddle-workspace';

/** Returns the workspaces of the user. `current`: the one that was shown last, otherwise the first. */
export function useWorkspaces() {
  const workspaces = useQuery(workspacesQuery);
  const all = workspaces.data?.data ?? [];
  const stored = localStorage.getItem(KEY);
  return { ...workspaces, all, current: all.find(({ id }) => id === stored) ?? all[0] };
}

export function rememberWorkspace(id: string): void {
  localStorage.setItem(KEY, id);
}
