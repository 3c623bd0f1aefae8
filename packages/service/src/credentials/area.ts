import type { Area } from '@heddle/api';
import type { Sealer } from '../sealing.ts';
import type { ServiceStore } from '../store/open.ts';
import { CREDENTIAL_MIGRATIONS } from './migrations.ts';
import {
  createServiceAccountCredential,
  deleteCredential,
  listCredentialProviders,
  listCredentials,
  updateCredential,
} from './operations.ts';
import type { CredentialServices } from './operations.ts';
import type { CredentialProviders } from './providers.ts';

export const CREDENTIAL_OPERATIONS = {
  listCredentials,
  listCredentialProviders,
  createServiceAccountCredential,
  updateCredential,
  deleteCredential,
} as const;

/**
 * Returns the area (a module of API operations with its own tables) of stored credentials. `sealer` encrypts their
 * secrets. Without `providers`, no providers are listed.
 */
export function credentials({
  store,
  sealer,
  providers = { listKeyProviders: () => [], oauthProviderIds: [] },
}: {
  store: ServiceStore;
  sealer: Sealer;
  providers?: CredentialProviders | undefined;
}): Area<CredentialServices, typeof CREDENTIAL_OPERATIONS> {
  return {
    name: 'credentials',
    operations: CREDENTIAL_OPERATIONS,
    migrations: CREDENTIAL_MIGRATIONS,
    services: ({ now }) => ({ store, sealer, providers, now }),
  };
}
