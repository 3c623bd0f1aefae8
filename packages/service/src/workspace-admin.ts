import type { Principal } from '@heddle/api';
import type { ServiceStore } from './store/open.ts';

/** Returns whether the caller is a person who is an admin of the workspace. */
export async function isWorkspaceAdmin(
  { workspaces }: Pick<ServiceStore, 'workspaces'>,
  { userId }: Principal,
  workspaceId: string,
): Promise<boolean> {
  const access = userId === null ? undefined : await workspaces.membership(workspaceId, userId);
  return access?.role === 'admin';
}
