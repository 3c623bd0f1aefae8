import type { TenantEnvironments } from '@heddle/engine';
import type { Kysely } from 'kysely';
import type { Sealer } from '../sealing.ts';
import { readSecretNames, readSecretValues } from './store.ts';
import type { SecretTables } from './tables.ts';

/**
 * Returns the environments of workspaces from their secrets: a run reads `{{NAME}}` of its own workspace. The engine
 * redacts the values in everything that the run records. Personal secrets are not included.
 */
export function secretEnvironments(database: Kysely<unknown>, sealer: Sealer): TenantEnvironments {
  const db = database as Kysely<SecretTables>;
  return {
    names: (workspaceId) => readSecretNames(db, workspaceId),
    values: (workspaceId, names) => readSecretValues(db, sealer, { workspaceId, names }),
  };
}
