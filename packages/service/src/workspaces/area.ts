import type { Area } from '@heddle/api';
import type { ServiceStore } from '../store/open.ts';
import { WORKSPACE_MIGRATIONS } from './migrations.ts';
import { createWorkspaceApiKey, listWorkspaceApiKeys, revokeWorkspaceApiKey } from './key-operations.ts';
import { getWorkspace, listWorkspaceAuditLogs, listWorkspaceMembers, listWorkspaces } from './operations.ts';
import type { WorkspaceServices } from './operations.ts';

export const WORKSPACE_OPERATIONS = {
  ...{ listWorkspaces, getWorkspace, listWorkspaceMembers, listWorkspaceAuditLogs },
  ...{ listWorkspaceApiKeys, createWorkspaceApiKey, revokeWorkspaceApiKey },
} as const;

/** Returns the area (a module of API operations) for workspaces: their members, API keys and audit logs. */
export function workspaces({
  store,
}: {
  store: ServiceStore;
}): Area<WorkspaceServices, typeof WORKSPACE_OPERATIONS> {
  return {
    name: 'workspaces',
    operations: WORKSPACE_OPERATIONS,
    migrations: WORKSPACE_MIGRATIONS,
    services: ({ now }) => ({ store, now }),
  };
}
