import type { TenantCredentials } from '@heddle/engine';
import type { BlockOptions } from './block-options.ts';
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
 * Returns the stored credentials of a workspace for workflows without one, as `heddle run` runs them. Failures without a caller go to
 * `report`. Throws a usage error if there is no such workspace.
 */
export async function workspaceCredentials(
  options: StoreOptions & BlockOptions,
  given: string,
  report: (error: unknown) => void,
): Promise<WorkspaceCredentials> {
  expectData(options);
  const { workspaceId } = await withServiceStore(options, (store) => workspaceOf(store, given));
  const records = lazyWorkflowOwnership(options, report);
  return {
    credentials: { find: (_tenant, query) => records.credentials.find(workspaceId, query) },
    close: () => records.close(),
  };
}
