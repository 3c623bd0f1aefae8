import type { TenantCredentials } from '@heddle/engine';
import type { TenantSkills } from '@heddle/service/skills';
import type { BlockOptions } from './block-options.ts';
import { workspaceOf } from './commands/keys.ts';
import { lazyWorkerStore, withServiceStore } from './serve/service-store.ts';
import { requireDataFolder } from './store-options.ts';
import type { StoreOptions } from './store-options.ts';

/** The credentials and skills that a workspace has stored for its blocks. */
export interface WorkspaceResources {
  credentials: TenantCredentials;
  skills: TenantSkills;
  close(): Promise<void>;
}

/**
 * Returns the stored credentials and skills of a workspace. Workflows of `heddle run` belong to no workspace, so every
 * workflow of the process can use them. `onError` gets errors of background work. Throws a usage error for an unknown
 * workspace.
 */
export async function openWorkspaceResources(
  options: StoreOptions & BlockOptions,
  workspace: string,
  onError: (error: unknown) => void,
): Promise<WorkspaceResources> {
  requireDataFolder(options);
  const { workspaceId } = await withServiceStore(options, (store) => workspaceOf(store, workspace));
  const workerStore = lazyWorkerStore(options, onError);
  return {
    credentials: { find: (_tenant, query) => workerStore.credentials.find(workspaceId, query) },
    skills: {
      find: (_tenant, references) => workerStore.skills.find(workspaceId, references),
      read: (_tenant, id) => workerStore.skills.read(workspaceId, id),
    },
    close: () => workerStore.close(),
  };
}
