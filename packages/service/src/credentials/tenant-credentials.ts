import type { Credential, CredentialQuery, TenantCredentials } from '@heddle/engine';
import type { Kysely } from 'kysely';
import type { Sealer } from '../sealing.ts';
import { findCredentialRow, oldestCredentialRow, openMaterial } from './store.ts';
import type { CredentialRow, CredentialTables } from './tables.ts';

/**
 * Returns the credentials of workspaces: a block reads those of its own workspace. The engine redacts the secrets in everything
 * that the run records.
 */
export function storedCredentials(database: Kysely<unknown>, sealer: Sealer): TenantCredentials {
  const db = database as Kysely<CredentialTables>;
  return {
    async find(workspaceId, query) {
      const row = workspaceId === undefined ? undefined : await rowOf(db, workspaceId, query);
      return row && credentialOf(sealer, row);
    },
  };
}

function rowOf(
  db: Kysely<CredentialTables>,
  workspaceId: string,
  query: CredentialQuery,
): Promise<CredentialRow | undefined> {
  if ('id' in query) return findCredentialRow(db, { workspaceId, id: query.id });
  return oldestCredentialRow(db, { workspaceId, providerId: query.provider, type: query.type });
}

function credentialOf(sealer: Sealer, row: CredentialRow): Credential {
  const material = openMaterial(sealer, row);
  return {
    id: row.id,
    type: row.type,
    provider: row.provider_id,
    name: row.display_name,
    secret: material.type === 'oauth' ? material.accessToken : material.key,
    ...(row.account_id !== null && { account: row.account_id }),
  };
}
