import type { Kysely } from 'kysely';
import { findSealingKeyIdsOfCredentials, resealCredentials } from './credentials/store.ts';
import type { CredentialTables } from './credentials/tables.ts';
import { findSealingKeyIdsOfHooks, resealHooks } from './triggers/hooks/secret.ts';
import type { HookTables } from './triggers/hooks/database.ts';
import type { RotatableKeys, Sealer } from './sealing.ts';
import { findSealingKeyIdsOfSecrets, resealSecrets } from './secrets/store.ts';
import type { SecretTables } from './secrets/tables.ts';

export interface ResealResult {
  /** Number of values that were sealed again. */
  resealed: number;
  /** Id of the key that sealed them. */
  keyId: string;
}

/** Maximum number of values that one statement reads. */
const BATCH_SIZE = 100;

/**
 * Seals all values of secrets, credentials and webhooks with a new key. The old key opens values until they are sealed
 * again, so runs continue in the meantime. The next call continues an interrupted one, with the same key. `keys`:
 * the keys of a folder, to which a new key is added; undefined: the current key of `sealer` is the new one. Throws a
 * SealingError for a value that cannot be opened.
 */
export async function resealStoredSecrets(
  database: Kysely<unknown>,
  sealer: Sealer,
  keys: RotatableKeys | undefined,
): Promise<ResealResult> {
  const secretDb = database as Kysely<SecretTables>;
  const credentialDb = database as Kysely<CredentialTables>;
  const hookDb = database as Kysely<HookTables>;
  if (keys) {
    const usedKeyIds = new Set([
      ...(await findSealingKeyIdsOfSecrets(secretDb)),
      ...(await findSealingKeyIdsOfCredentials(credentialDb)),
      ...(await findSealingKeyIdsOfHooks(hookDb)),
    ]);
    const isInterrupted = [...usedKeyIds].some((id) => id !== sealer.currentKeyId());
    if (!isInterrupted) keys.rotate(usedKeyIds);
  }
  let resealedCount = 0;
  for (;;) {
    const count =
      (await resealSecrets(secretDb, sealer, BATCH_SIZE)) +
      (await resealCredentials(credentialDb, sealer, BATCH_SIZE)) +
      (await resealHooks(hookDb, sealer, BATCH_SIZE));
    if (count === 0) return { resealed: resealedCount, keyId: sealer.currentKeyId() };
    resealedCount += count;
  }
}
