import { BlockError, isBlockError } from '@heddle/core/blocks';

export type CredentialType = 'api_key' | 'service_account' | 'oauth';

/** A query for a tenant's credential: by id, or the oldest of a provider and type. */
export type CredentialQuery = { id: string } | { provider: string; type: CredentialType };

/** A credential for a block. It is valid when it is read, and is not stored. */
export interface Credential {
  id: string;
  type: CredentialType;
  provider: string;
  /** The display name. */
  name: string;
  /** The key, the key file of the service account, or the access token. */
  secret: string;
  /** The expiry time of the secret, in milliseconds since the epoch; absent: unknown. */
  expiresMs?: number;
  /** The account at the provider, if known. */
  account?: string;
}

/** Source of the credentials that tenants have stored. */
export interface TenantCredentials {
  /**
   * Returns the credential of the tenant for a block that is about to use it; undefined if there is none. `tenant` is
   * undefined for a workflow without a tenant. A BlockError fails the block; other errors are reported, and the block
   * fails with CREDENTIAL_UNAVAILABLE.
   */
  find(
    this: void,
    tenant: string | undefined,
    query: CredentialQuery,
  ): Promise<Credential | undefined> | Credential | undefined;
}

/** The parts of a run that `findCredential` uses. */
export interface CredentialContext {
  credentials: TenantCredentials | undefined;
  tenant: () => Promise<string | undefined>;
  /** Redacts the secret in all data of the run from now on. */
  addSecret(name: string, value: string): void;
  onError(error: unknown): void;
}

/**
 * Returns a credential of the run's tenant; undefined if there is none. Throws a BlockError if it cannot be used now.
 */
export async function findCredential(
  context: CredentialContext,
  query: CredentialQuery,
): Promise<Credential | undefined> {
  if (!context.credentials) return undefined;
  try {
    const credential = await context.credentials.find(await context.tenant(), query);
    if (credential) context.addSecret(credential.name, credential.secret);
    return credential;
  } catch (error) {
    if (isBlockError(error)) throw error;
    context.onError(error);
    throw new BlockError('CREDENTIAL_UNAVAILABLE', 'The stored credentials cannot be read now.', {
      retryable: true,
    });
  }
}
