import type { Area } from '@heddle/api';
import type { Sealer } from '../sealing.ts';
import type { ServiceStore } from '../store/open.ts';
import { CREDENTIAL_MIGRATIONS } from './migrations.ts';
import {
  createServiceAccountCredential,
  deleteCredential,
  listCredentials,
  updateCredential,
} from './operations.ts';
import type { CredentialServices } from './operations.ts';

export const CREDENTIALS = {
  listCredentials,
  createServiceAccountCredential,
  updateCredential,
  deleteCredential,
} as const;

/** Returns the area of stored credentials, which `sealer` seals. */
export function credentials(options: {
  store: ServiceStore;
  sealer: Sealer;
}): Area<CredentialServices, typeof CREDENTIALS> {
  return {
    name: 'credentials',
    operations: CREDENTIALS,
    migrations: CREDENTIAL_MIGRATIONS,
    services: ({ now }) => ({ ...options, now }),
  };
}
