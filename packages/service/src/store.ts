import { openApiStore, openWorkflowOwnership } from '@heddle/api';
import type { ApiStore, ApiStoreOptions, WorkflowOwnership } from '@heddle/api';
import type { TenantEnvironments } from '@heddle/engine';
import { LOG_MIGRATIONS } from './logs/migrations.ts';
import { SANDBOX_MIGRATIONS } from './sandboxes/migrations.ts';
import type { Sealer } from './sealing.ts';
import { secretEnvironments } from './secrets/environments.ts';
import { SECRET_MIGRATIONS } from './secrets/migrations.ts';
import { TRANSFER_MIGRATIONS } from './transfer/migrations.ts';
import { WORKFLOW_MIGRATIONS } from './workflows/migrations.ts';

const MIGRATIONS: NonNullable<ApiStoreOptions['migrations']> = {
  logs: LOG_MIGRATIONS,
  sandboxes: SANDBOX_MIGRATIONS,
  secrets: SECRET_MIGRATIONS,
  transfer: TRANSFER_MIGRATIONS,
  workflows: WORKFLOW_MIGRATIONS,
};

/** Opens the store of the HTTP API with the tables of all areas. */
export function openServiceStore(options: ApiStoreOptions = {}): Promise<ApiStore> {
  return openApiStore({ ...options, migrations: MIGRATIONS });
}

/** What workers need of the store. */
export interface ServiceOwnership extends WorkflowOwnership {
  /** The secrets of workspaces. */
  secrets: TenantEnvironments;
}

/** Opens the part of the store that workers need. `sealer` opens secrets. */
export async function openServiceOwnership(
  options: Omit<ApiStoreOptions, 'secret'>,
  sealer: Sealer,
): Promise<ServiceOwnership> {
  const ownership = await openWorkflowOwnership({ ...options, migrations: MIGRATIONS });
  return { ...ownership, secrets: secretEnvironments(ownership.database, sealer) };
}
