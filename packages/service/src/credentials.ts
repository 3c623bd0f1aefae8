/** The stored credentials of workspaces. */
export { listCredentials, removeStoredCredential, storeCredential } from './credentials/manage.ts';
export type { CredentialToStore, StoredCredential } from './credentials/manage.ts';
export { storedCredentials } from './credentials/tenant-credentials.ts';
