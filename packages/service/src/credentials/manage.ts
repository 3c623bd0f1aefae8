import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { requireValid } from '../require-valid.ts';
import type { Sealer } from '../sealing.ts';
import {
  credentialDescription,
  credentialName,
  material as materialSchema,
  MAX_CREDENTIALS,
  providerId as providerSchema,
} from './schemas.ts';
import type { CredentialType, Material } from './schemas.ts';
import { countCredentials, readPageOfCredentials, putCredential, removeCredential } from './store.ts';
import type { CredentialPosition } from './store.ts';
import type { CredentialInfo, CredentialTables } from './tables.ts';

// Management of credentials by the administrator of an installation, without the HTTP API.

/** A database with the tables of the service. */
type Database = Kysely<unknown>;

/** A credential of a workspace, without its secret. */
export interface StoredCredential {
  id: string;
  type: CredentialType;
  provider: string;
  name: string;
  description: string | null;
  account: string | null;
  /** `reconnect`: the provider no longer accepts it. */
  state: 'connected' | 'reconnect';
  createdAt: string;
  updatedAt: string;
}

/** A credential to store. */
export interface CredentialInput {
  workspaceId: string;
  name: string;
  provider: string;
  description?: string | undefined;
  account?: string | undefined;
  material: Material;
}

const PAGE_SIZE = 100;

function withCredentialTables(database: Database): Kysely<CredentialTables> {
  return database as Kysely<CredentialTables>;
}

/**
 * Stores a credential of a workspace, or replaces the secret of the credential with this name. Throws a RangeError for
 * an invalid value, for too many credentials, and for a name that a credential of another type or provider has.
 */
export async function storeCredential(
  database: Database,
  sealer: Sealer,
  input: CredentialInput,
): Promise<{ credential: StoredCredential; isNew: boolean }> {
  requireValid('name', credentialName, input.name);
  requireValid('provider', providerSchema, input.provider);
  if (input.description !== undefined) requireValid('description', credentialDescription, input.description);
  requireValid(input.material.type === 'oauth' ? 'token' : 'key', materialSchema, input.material);
  const { workspaceId, name, provider, description, account = null, material } = input;
  return withCredentialTables(database)
    .transaction()
    .execute(async (db) => {
      const result = await putCredential(db, sealer, {
        ...{ workspaceId, id: randomUUID(), providerId: provider, displayName: name, description },
        ...{ accountId: account, createdBy: null, material, now: new Date().toISOString() },
      });
      if (!result)
        throw new RangeError(`Another credential has the name ${JSON.stringify(name)}: choose another name.`);
      const { row, isNew } = result;
      if (isNew && (await countCredentials(db, workspaceId)) > MAX_CREDENTIALS)
        throw new RangeError(`The workspace has ${MAX_CREDENTIALS} credentials already.`);
      return { credential: viewOf(row), isNew };
    });
}

/** Returns the credentials of a workspace, sorted by name, without their secrets. */
export async function listCredentials(database: Database, workspaceId: string): Promise<StoredCredential[]> {
  const credentials: StoredCredential[] = [];
  const query = { workspaceId, sortBy: 'displayName', sortOrder: 'asc', limit: PAGE_SIZE } as const;
  let afterPosition: CredentialPosition | undefined;
  do {
    const { rows, next } = await readPageOfCredentials(withCredentialTables(database), {
      ...query,
      afterPosition,
    });
    credentials.push(...rows.map(viewOf));
    afterPosition = next;
  } while (afterPosition);
  return credentials;
}

/** Deletes the credential with this name. Returns whether it existed. */
export function removeStoredCredential(
  database: Database,
  key: { workspaceId: string; name: string },
): Promise<boolean> {
  return withCredentialTables(database)
    .transaction()
    .execute((db) => removeCredential(db, key));
}

function viewOf(row: CredentialInfo): StoredCredential {
  const { id, type, description, state } = row;
  return {
    ...{ id, type, description, state },
    provider: row.provider_id,
    name: row.display_name,
    account: row.account_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
