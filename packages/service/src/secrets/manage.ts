import type { Kysely } from 'kysely';
import type { Sealer } from '../sealing.ts';
import { MAX_SECRETS, secretName, secretValue } from './schemas.ts';
import { countSecrets, readPageOfSecrets, removeSecret, setSecret } from './store.ts';
import type { SecretPosition } from './store.ts';
import type { SecretTables } from './tables.ts';

// Functions with which the administrator of an installation manages secrets without the HTTP API.

/** A database with the tables of the service. */
type Database = Kysely<unknown>;

/** A secret of a workspace, without its value. */
export interface StoredSecret {
  name: string;
  description: string | null;
  createdAt: string;
  updatedAt: string;
}

/** A workspace, and the name of a secret in it. */
export interface SecretRef {
  workspaceId: string;
  name: string;
}

/** Number of secrets that one query reads. */
const BATCH_SIZE = 100;

function asSecretDatabase(database: Database): Kysely<SecretTables> {
  return database as Kysely<SecretTables>;
}

/**
 * Creates a secret of a workspace, or replaces its value. Returns whether it is new. Throws a RangeError for an invalid
 * name or value and for too many secrets.
 */
export async function setStoredSecret(
  database: Database,
  sealer: Sealer,
  secret: SecretRef & { value: string; description?: string | undefined },
): Promise<boolean> {
  const nameResult = secretName.safeParse(secret.name);
  if (!nameResult.success)
    throw new RangeError(`The name is invalid: ${nameResult.error.issues[0]?.message}.`);
  const valueResult = secretValue.safeParse(secret.value);
  if (!valueResult.success)
    throw new RangeError(`The value is invalid: ${valueResult.error.issues[0]?.message}.`);
  const key = { workspaceId: secret.workspaceId, userId: '', name: secret.name };
  return asSecretDatabase(database)
    .transaction()
    .execute(async (db) => {
      const now = new Date().toISOString();
      const { value: text, description } = secret;
      const { isNew } = await setSecret(db, sealer, { ...key, value: text, description, now });
      if (isNew && (await countSecrets(db, key)) > MAX_SECRETS)
        throw new RangeError(`The workspace has ${MAX_SECRETS} secrets already.`);
      return isNew;
    });
}

/** Returns the secrets of a workspace, sorted by name, without their values. */
export async function listSecrets(database: Database, workspaceId: string): Promise<StoredSecret[]> {
  const secrets: StoredSecret[] = [];
  const query = { workspaceId, userIds: [''], sortBy: 'name', sortOrder: 'asc', limit: BATCH_SIZE } as const;
  let afterPosition: SecretPosition | undefined;
  do {
    const { rows, next } = await readPageOfSecrets(asSecretDatabase(database), { ...query, afterPosition });
    for (const { name, description, created_at: createdAt, updated_at: updatedAt } of rows)
      secrets.push({ name, description, createdAt, updatedAt });
    afterPosition = next;
  } while (afterPosition);
  return secrets;
}

/** Deletes a secret of a workspace. Returns whether it existed. */
export function removeStoredSecret(database: Database, { workspaceId, name }: SecretRef): Promise<boolean> {
  return removeSecret(asSecretDatabase(database), { workspaceId, userId: '', name });
}
