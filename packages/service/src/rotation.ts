import type { Kysely } from 'kysely';
import { credentialKeyIds, resealCredentials } from './credentials/store.ts';
import type { CredentialTables } from './credentials/tables.ts';
import { hookKeyIds, resealHooks } from './triggers/hooks/secret.ts';
import type { HookTables } from './triggers/hooks/database.ts';
import type { RotatableKeys, Sealer } from './sealing.ts';
import { keyIdsInUse, resealBatch } from './secrets/store.ts';
import type { SecretTables } from './secrets/tables.ts';

export interface Rotated {
  /** Values that were sealed again. */
  resealed: number;
  /** Id of the key that sealed them. */
  keyId: string;
}

/** Values that one step reads. */
const BATCH = 100;

/**
 * Seals all values of secrets, credentials and webhooks with a new key. The old key opens values until they are sealed again, so
 * runs continue in the meantime. A rotation that was interrupted is continued by the next one, with the same key. `keys`:
 * those of a folder, which get a new key; undefined: the first of the given keys is the new one. Throws a SealingError
 * for a value that cannot be opened.
 */
export async function rotateStoredSecrets(
  database: Kysely<unknown>,
  sealer: Sealer,
  keys: RotatableKeys | undefined,
): Promise<Rotated> {
  const secrets = database as Kysely<SecretTables>;
  const credentials = database as Kysely<CredentialTables>;
  const hooks = database as Kysely<HookTables>;
  if (keys) {
    const inUse = new Set([
      ...(await keyIdsInUse(secrets)),
      ...(await credentialKeyIds(credentials)),
      ...(await hookKeyIds(hooks)),
    ]);
    const isInterrupted = [...inUse].some((id) => id !== sealer.currentKeyId());
    if (!isInterrupted) keys.rotate(inUse);
  }
  let resealed = 0;
  for (;;) {
    const count =
      (await resealBatch(secrets, sealer, BATCH)) +
      (await resealCredentials(credentials, sealer, BATCH)) +
      (await resealHooks(hooks, sealer, BATCH));
    if (count === 0) return { resealed, keyId: sealer.currentKeyId() };
    resealed += count;
  }
}
