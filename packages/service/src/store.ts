import { openApiStore, openWorkflowOwnership } from '@heddle/api';
import type { ApiStore, ApiStoreOptions, WorkflowOwnership } from '@heddle/api';
import { LOG_MIGRATIONS } from './logs/migrations.ts';

/** The migrations of all areas, each with the name of its area before its own. */
const MIGRATIONS: NonNullable<ApiStoreOptions['migrations']> = Object.fromEntries(
  Object.entries(LOG_MIGRATIONS).map(([name, migration]) => [`logs:${name}`, migration]),
);

/** Opens the store of the HTTP API with the tables of all areas. */
export function openServiceStore(options: ApiStoreOptions = {}): Promise<ApiStore> {
  return openApiStore({ ...options, migrations: MIGRATIONS });
}

/** Opens the part of the store that workers need. */
export function openServiceOwnership(options: Omit<ApiStoreOptions, 'secret'>): Promise<WorkflowOwnership> {
  return openWorkflowOwnership({ ...options, migrations: MIGRATIONS });
}
