import type { Principal } from '@heddle/api';
import type { ServiceStore } from './store/open.ts';

/** Returns whether the caller is a user who is an admin of the workspace. */
export async function isWorkspaceAdmin(
  { workspaces }: Pick<ServiceStore, 'workspaces'>,
  { userId }: Principal,
  workspaceId: string,
): Promise<boolean> {
  const membership = userId === null ? undefined : await workspaces.findMembership(workspaceId, userId);
  return membership?.role === 'admin';
}
