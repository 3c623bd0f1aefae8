import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { SealedValue, Sealer } from '../../sealing.ts';
import type { WebhookRegistrationTables } from './database.ts';
import type { WebhookRegistrationRow } from './tables.ts';

type Db = Kysely<WebhookRegistrationTables>;
type RegistrationKey = Pick<WebhookRegistrationRow, 'workflow_id' | 'block_id'>;

const SECRET_BYTES = 32;

/** Returns a secret with which a provider can sign: 64 hexadecimal characters. */
export function newRegistrationSecret(): string {
  return randomBytes(SECRET_BYTES).toString('hex');
}

function associatedDataOf({ workflow_id, block_id }: RegistrationKey): string[] {
  return ['provider hook', workflow_id, block_id];
}

/** Seals a secret. Returns its columns. */
export function sealSecret(
  sealer: Sealer,
  key: RegistrationKey,
  secret: string,
): Pick<WebhookRegistrationRow, 'key_id' | 'sealed'> {
  const { keyId: key_id, sealed } = sealer.seal(secret, associatedDataOf(key));
  return { key_id, sealed };
}

/** Returns the secret of a row; undefined if it has none. Throws a SealingError. */
export function openSecret(sealer: Sealer, row: WebhookRegistrationRow): string | undefined {
  const sealedValue = sealedValueOf(row);
  return sealedValue && sealer.open(sealedValue, associatedDataOf(row));
}

function sealedValueOf({ key_id: keyId, sealed }: WebhookRegistrationRow): SealedValue | undefined {
  return keyId === null || sealed === null ? undefined : { keyId, sealed };
}

/** Returns the secret with which the provider signs for a trigger; undefined if no registration was created for it. */
export async function findRegistrationSecret(
  db: Db,
  sealer: Sealer,
  key: RegistrationKey,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('provider_hooks')
    .selectAll()
    .where('workflow_id', '=', key.workflow_id)
    .where('block_id', '=', key.block_id)
    .executeTakeFirst();
  return row && openSecret(sealer, row);
}

/** Returns the ids of the keys with which secrets of registrations are sealed. */
export async function findSealingKeyIdsOfRegistrations(db: Db): Promise<Set<string>> {
  const rows = await db
    .selectFrom('provider_hooks')
    .select('key_id')
    .distinct()
    .where('key_id', 'is not', null)
    .execute();
  return new Set(rows.flatMap(({ key_id: id }) => id ?? []));
}

/**
 * Reseals with the current key up to `limit` secrets that were sealed with another key. Returns the number of these
 * secrets; 0: all secrets are sealed with the current key.
 */
export async function resealRegistrations(db: Db, sealer: Sealer, limit: number): Promise<number> {
  const rows = await db
    .selectFrom('provider_hooks')
    .selectAll()
    .where('key_id', '!=', sealer.currentKeyId())
    .orderBy('workflow_id')
    .orderBy('block_id')
    .limit(limit)
    .execute();
  for (const row of rows)
    await db
      .updateTable('provider_hooks')
      .set(sealSecret(sealer, row, openSecret(sealer, row) ?? ''))
      .where('workflow_id', '=', row.workflow_id)
      .where('block_id', '=', row.block_id)
      .where('sealed', '=', row.sealed)
      .execute();
  return rows.length;
}
