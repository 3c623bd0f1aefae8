import type { Kysely } from 'kysely';
import { findSealingKeyIdsOfCredentials, resealCredentials } from './credentials/store.ts';
import type { CredentialTables } from './credentials/tables.ts';
import { findSealingKeyIdsOfRegistrations, resealRegistrations } from './triggers/registrations/secret.ts';
import type { WebhookRegistrationTables } from './triggers/registrations/database.ts';
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
  const registrationDb = database as Kysely<WebhookRegistrationTables>;
  if (keys) {
    const usedKeyIds = new Set([
      ...(await findSealingKeyIdsOfSecrets(secretDb)),
      ...(await findSealingKeyIdsOfCredentials(credentialDb)),
      ...(await findSealingKeyIdsOfRegistrations(registrationDb)),
    ]);
    const isInterrupted = [...usedKeyIds].some((id) => id !== sealer.currentKeyId());
    if (!isInterrupted) keys.rotate(usedKeyIds);
  }
  let resealedCount = 0;
  for (;;) {
    const count =
      (await resealSecrets(secretDb, sealer, BATCH_SIZE)) +
      (await resealCredentials(credentialDb, sealer, BATCH_SIZE)) +
      (await resealRegistrations(registrationDb, sealer, BATCH_SIZE));
    if (count === 0) return { resealed: resealedCount, keyId: sealer.currentKeyId() };
    resealedCount += count;
  }
}
