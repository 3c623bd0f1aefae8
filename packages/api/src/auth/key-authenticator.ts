import type { KeyStore } from '../areas/keys/store.ts';
import type { Authenticator } from './principal.ts';

/** Knows the API keys of the store, and no other credentials. */
export function keyAuthenticator(keys: KeyStore, now: () => number): Authenticator {
  return {
    async authenticate({ apiKey }) {
      if (apiKey === undefined) return null;
      const row = await keys.find(apiKey, now());
      if (!row) return null;
      return {
        kind: row.kind,
        credentialId: row.id,
        userId: row.user_id,
        workspaceId: row.workspace_id,
        scopes: ['api:read', 'api:write'],
        expiresAt: row.expires_at,
      };
    },
  };
}
