import type { ApiStore } from '../store/open.ts';
import { unauthorized } from './authorize.ts';
import type { Principal } from './principal.ts';

/** Says whether workflows of a workspace may be public. */
export type AllowsPublicRuns = (workspaceId: string) => Promise<boolean> | boolean;

/**
 * Who calls a public workflow without a credential: nobody, on behalf of its workspace. Throws 401 for every other
 * workflow, whatever keeps it from being public: who may not run it learns nothing of it.
 */
export async function publicCaller(
  { store, allowsPublicRuns }: { store: Pick<ApiStore, 'workflows'>; allowsPublicRuns: AllowsPublicRuns },
  workflowId: string | undefined,
): Promise<Principal> {
  const row = workflowId === undefined ? undefined : await store.workflows.find(workflowId);
  const live = row && row.archived_at === null && row.active_version !== null && row.public_api === 1;
  if (!live || !(await allowsPublicRuns(row.workspace_id))) throw unauthorized('Unauthorized');
  return {
    kind: 'workspace',
    credentialId: `public:${row.id}`,
    userId: null,
    workspaceId: row.workspace_id,
    scopes: ['api:write'],
    expiresAt: null,
    anonymous: true,
  };
}
