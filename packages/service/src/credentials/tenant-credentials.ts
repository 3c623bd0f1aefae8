import { isStorable } from '@heddle/engine/stores';
import type { Credential, CredentialQuery, TenantCredentials } from '@heddle/engine';
import type { Kysely } from 'kysely';
import type { Sealer } from '../sealing.ts';
import { OAuthClients } from './oauth-clients.ts';
import { TokenRefresher } from './refresh.ts';
import type { RefreshOptions } from './refresh.ts';
import { findCredentialRow, findOldestCredentialRow, openMaterial } from './store.ts';
import type { CredentialRow, CredentialTables } from './tables.ts';

const DEFAULT_REFRESH_OPTIONS: RefreshOptions = {
  clients: new OAuthClients({ clients: {} }),
  onError: () => undefined,
};

/**
 * Returns a lookup for stored credentials. Blocks can read only the credentials of their workspace. The engine redacts
 * the secrets in everything that the run records. `refresh` configures how access tokens are refreshed. Without it,
 * tokens are used until they expire.
 */
export function storedCredentials(
  database: Kysely<unknown>,
  sealer: Sealer,
  refresh: RefreshOptions = DEFAULT_REFRESH_OPTIONS,
): TenantCredentials {
  const db = database as Kysely<CredentialTables>;
  const refresher = new TokenRefresher(db, sealer, refresh);
  return {
    async find(workspaceId, query) {
      const isFindable = isStorable('id' in query ? query.id : query.provider);
      const row = workspaceId !== undefined && isFindable ? await findRow(db, workspaceId, query) : undefined;
      return row && readCredential(row, { sealer, refresher });
    },
  };
}

function findRow(
  db: Kysely<CredentialTables>,
  workspaceId: string,
  query: CredentialQuery,
): Promise<CredentialRow | undefined> {
  if ('id' in query) return findCredentialRow(db, { workspaceId, id: query.id });
  return findOldestCredentialRow(db, { workspaceId, providerId: query.provider, type: query.type });
}

async function readCredential(
  row: CredentialRow,
  { sealer, refresher }: { sealer: Sealer; refresher: TokenRefresher },
): Promise<Credential | undefined> {
  const material = row.type === 'oauth' ? await refresher.getToken(row) : openMaterial(sealer, row);
  if (!material) return undefined;
  return {
    id: row.id,
    type: row.type,
    provider: row.provider_id,
    name: row.display_name,
    secret: material.type === 'oauth' ? material.accessToken : material.key,
    ...(material.type === 'oauth' && material.expiresMs !== undefined && { expiresMs: material.expiresMs }),
    ...(row.account_id !== null && { account: row.account_id }),
  };
}
