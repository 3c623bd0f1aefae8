import type { TenantCredentials } from '@heddle/engine';
import { workspaceOf } from './commands/keys.ts';
import { lazyWorkflowOwnership, withServiceStore } from './serve/service-store.ts';
import { expectData } from './store-options.ts';
import type { StoreOptions } from './store-options.ts';

/** The stored credentials of one workspace. */
export interface WorkspaceCredentials {
  credentials: TenantCredentials;
  close(): Promise<void>;
}

/**
 * Returns the stored credentials of a workspace for workflows without one, as `heddle run` runs them. Throws a usage error if
 * there is no such workspace.
 */
export async function workspaceCredentials(
  options: StoreOptions,
  given: string,
): Promise<WorkspaceCredentials> {
  expectData(options);
  const { workspaceId } = await withServiceStore(options, (store) => workspaceOf(store, given));
  const records = lazyWorkflowOwnership(options);
  return {
    credentials: { find: (_tenant, query) => records.credentials.find(workspaceId, query) },
    close: () => records.close(),
  };
}
