/** The stored credentials of workspaces. */
export { listCredentials, removeStoredCredential, storeCredential } from './credentials/manage.ts';
export type { CredentialInput, StoredCredential } from './credentials/manage.ts';
export { OAuthClients, OAuthError, readOAuthClients } from './credentials/oauth-clients.ts';
export type { Authorization, OAuthClientConfig, OAuthClientsOptions } from './credentials/oauth-clients.ts';
export type { CredentialProviders, KeyProvider } from './credentials/providers.ts';
export type { CredentialEvent, RefreshOptions } from './credentials/refresh.ts';
export { storedCredentials } from './credentials/tenant-credentials.ts';
