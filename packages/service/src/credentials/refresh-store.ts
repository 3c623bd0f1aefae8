import type { Sealer } from '../sealing.ts';
import { recordEvents } from '../triggers/events/outbox.ts';
import type { AuditStore } from '../store/audit.ts';
import type { OAuthMaterial } from './schemas.ts';
import { credentialEvent, sealMaterial } from './store.ts';
import type { CredentialKey, Db } from './store.ts';
import type { CredentialRow } from './tables.ts';

/** The exclusive right to refresh a token for a limited time. Times are ISO 8601. */
export interface RefreshLease {
  /** Id of the process. */
  owner: string;
  now: string;
  expiresAt: string;
}

/**
 * Acquires the lease. Returns the current row; undefined if another process has the lease, or the credential is not a
 * connected OAuth credential.
 */
export function acquireRefreshLease(
  db: Db,
  { workspaceId, id }: CredentialKey,
  { owner, now, expiresAt }: RefreshLease,
): Promise<CredentialRow | undefined> {
  return db
    .updateTable('credentials')
    .set({ refresh_owner: owner, refresh_until: expiresAt })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('type', '=', 'oauth')
    .where('state', '=', 'connected')
    .where((eb) => eb.or([eb('refresh_until', 'is', null), eb('refresh_until', '<=', now)]))
    .returningAll()
    .executeTakeFirst();
}

/** Releases the lease. */
export async function releaseRefreshLease(db: Db, row: CredentialRow, owner: string): Promise<void> {
  await updateIfUnchanged(db, row)
    .set({ refresh_owner: null, refresh_until: null })
    .where('refresh_owner', '=', owner)
    .execute();
}

/** Stores new tokens and releases the lease. Returns false if the row has changed since it was read. */
export async function storeTokens(
  db: Db,
  sealer: Sealer,
  { row, material, now }: { row: CredentialRow; material: OAuthMaterial; now: string },
): Promise<boolean> {
  const { numUpdatedRows } = await updateIfUnchanged(db, row)
    .set({
      ...sealMaterial(sealer, row, material),
      // Another process may have set `reconnect` in the meantime: its refresh was refused, because this one succeeded.
      state: 'connected',
      version: row.version + 1,
      refresh_owner: null,
      refresh_until: null,
      updated_at: now,
    })
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/**
 * Marks the credential for reconnection, with an audit record. Returns false if the row has changed since it was read.
 */
export function markReconnectRequired(
  db: Db,
  audit: AuditStore,
  { row, now }: { row: CredentialRow; now: string },
): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    const { numUpdatedRows } = await updateIfUnchanged(tx, row)
      .set({ state: 'reconnect', refresh_owner: null, refresh_until: null, updated_at: now })
      .where('state', '=', 'connected')
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return false;
    const event = {
      action: 'CREDENTIAL_RECONNECT_REQUIRED',
      workspaceId: row.workspace_id,
      resourceType: 'credential',
      resourceId: row.id,
      details: { displayName: row.display_name, providerId: row.provider_id },
    };
    await audit.record(event, tx);
    await recordEvents(tx, [credentialEvent('credential_reconnect', row, null)]);
    return true;
  });
}

/** Returns an update of the row that has no effect if the material has changed since the row was read. */
function updateIfUnchanged(db: Db, { workspace_id, id, version }: CredentialRow) {
  return db
    .updateTable('credentials')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .where('version', '=', version);
}
