import type { Kysely } from 'kysely';
import type { Sealer, RotatableKeys } from '../sealing.ts';
import { keyIdsInUse, resealBatch } from './store.ts';
import type { SecretTables } from './tables.ts';

/** Values that one step of the rotation seals again. */
const BATCH = 100;

export interface Rotated {
  /** Values that were sealed again. */
  resealed: number;
  /** Id of the key that sealed them. */
  keyId: string;
}

/**
 * Seals all values with a new key. The old key opens values until they are sealed again, so runs go on meanwhile. A
 * rotation that was interrupted is continued by the next one, with the same key. `keys`: those of a folder, which get a
 * new key; undefined: the first of the given keys is the new one.
 */
export async function rotateSecrets(
  db: Kysely<SecretTables>,
  sealer: Sealer,
  keys: RotatableKeys | undefined,
): Promise<Rotated> {
  if (keys) {
    const inUse = await keyIdsInUse(db);
    const isInterrupted = [...inUse].some((id) => id !== sealer.currentKeyId());
    if (!isInterrupted) keys.rotate(inUse);
  }
  let resealed = 0;
  for (;;) {
    const count = await resealBatch(db, sealer, BATCH);
    if (count === 0) return { resealed, keyId: sealer.currentKeyId() };
    resealed += count;
  }
}
