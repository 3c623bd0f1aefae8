import type { Kysely, Selectable } from 'kysely';
import { SealingError } from '../sealing.ts';
import type { Sealer } from '../sealing.ts';
import { containsCondition, readPage } from '../paging.ts';
import { countOf } from '../store/database.ts';
import { recordEvents } from '../triggers/events/outbox.ts';
import type { ServiceEvent } from '../triggers/events/outbox.ts';
import { retryRegistrations } from '../triggers/registrations/retry.ts';
import { material as materialSchema } from './schemas.ts';
import type { CredentialType, Material } from './schemas.ts';
import type { CredentialInfo, CredentialRow, CredentialTables } from './tables.ts';

export type Db = Kysely<CredentialTables>;

/** The primary key of a credential. */
export interface CredentialKey {
  workspaceId: string;
  id: string;
}

/** A credential to add. Its material is its secret part, such as a key or tokens. */
export interface NewCredential extends CredentialKey {
  providerId: string;
  displayName: string;
  /** Undefined: none; when a credential is replaced, it keeps its description. */
  description: string | undefined;
  accountId: string | null;
  /** The id of the user who created the credential and may change it. Admins may also change it. */
  createdBy: string | null;
  material: Material;
  /** ISO 8601. */
  now: string;
}

export interface CredentialsQuery {
  workspaceId: string;
  types?: readonly CredentialType[] | undefined;
  providerId?: string | undefined;
  search?: string | undefined;
  sortBy: 'displayName' | 'createdAt' | 'updatedAt';
  sortOrder: 'asc' | 'desc';
  limit: number;
  afterPosition?: CredentialPosition | undefined;
}

/** The value of the sort column and the id in the last row of a page. */
export type CredentialPosition = readonly [value: string, id: string];

const COLUMNS = [
  ...['workspace_id', 'id', 'type', 'provider_id', 'display_name', 'description', 'account_id'],
  ...['state', 'version', 'created_by', 'created_at', 'updated_at'],
] as unknown as readonly (keyof CredentialInfo)[];
const SORT_COLUMNS = {
  displayName: 'display_name',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
} as const;

type BoundRow = Pick<CredentialRow, 'workspace_id' | 'id' | 'provider_id'>;

/** Returns the associated data of sealed material, so that it cannot be opened in another row. */
function associatedDataOf({ workspace_id, id, provider_id }: BoundRow): string[] {
  return ['credential', workspace_id, id, provider_id];
}

/** Seals the material. Returns the columns that store it. */
export function sealMaterial(
  sealer: Sealer,
  row: BoundRow,
  material: Material,
): Pick<CredentialRow, 'key_id' | 'sealed'> {
  const { keyId, sealed } = sealer.seal(JSON.stringify(material), associatedDataOf(row));
  return { key_id: keyId, sealed };
}

/** Opens the material of a row. Throws a SealingError if it belongs to another row, or the row has another type. */
export function openMaterial(sealer: Sealer, row: CredentialRow): Material {
  const text = sealer.open({ keyId: row.key_id, sealed: row.sealed }, associatedDataOf(row));
  const material = materialSchema.parse(JSON.parse(text));
  if (material.type === row.type) return material;
  throw new SealingError(
    'NOT_AUTHENTIC',
    `The type of the credential ${row.id} was changed in the database.`,
  );
}

/** Adds a credential. `db` must be a transaction. Returns undefined if the workspace has one with this id or name. */
export async function addCredential(
  db: Db,
  sealer: Sealer,
  credential: NewCredential,
): Promise<CredentialInfo | undefined> {
  const { workspaceId, id, providerId, displayName, description, accountId, createdBy, material, now } =
    credential;
  const boundRow = { workspace_id: workspaceId, id, provider_id: providerId };
  const addedRow = await db
    .insertInto('credentials')
    .values({
      ...boundRow,
      ...sealMaterial(sealer, boundRow, material),
      type: material.type,
      display_name: displayName,
      description: description ?? null,
      account_id: accountId,
      state: 'connected',
      version: 1,
      refresh_owner: null,
      refresh_until: null,
      created_by: createdBy,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(COLUMNS)
    .executeTakeFirst();
  if (!addedRow) return undefined;
  // Registrations may still refer to a deleted credential with this id, and have failed since then.
  await retryRegistrations(db, { workspaceId, credentialId: id });
  await recordChange(db, addedRow, 'created');
  return addedRow;
}

/** Records the change as an event for the triggers of the workspace. */
function recordChange(db: Db, row: CredentialInfo, change: 'created' | 'updated' | 'deleted'): Promise<void> {
  return recordEvents(db, [credentialEvent('credential_changed', row, change)]);
}

/** Returns the event of a credential, without its secret. */
export function credentialEvent(
  kind: 'credential_changed' | 'credential_reconnect',
  row: Pick<CredentialInfo, 'workspace_id' | 'id' | 'display_name' | 'provider_id'>,
  change: 'created' | 'updated' | 'deleted' | null,
): ServiceEvent {
  const { workspace_id: workspaceId, id, display_name: name, provider_id: provider } = row;
  const details = { credential: { id, name, provider, change } };
  return { kind, workspaceId, subjectId: id, details, happenedMs: Date.now() };
}

/** Changes to a credential. Undefined: the current value is kept. */
export interface CredentialChanges {
  displayName?: string | undefined;
  description?: string | null | undefined;
  accountId?: string | null;
  /** New material. The credential is then connected. */
  material?: Material | undefined;
  /** ISO 8601. */
  now: string;
}

/**
 * Changes a credential. `db` must be a transaction. Returns undefined if it was removed. Throws the database's error if
 * another credential has the name.
 */
export async function changeCredential(
  db: Db,
  sealer: Sealer,
  { row, changes }: { row: CredentialInfo; changes: CredentialChanges },
): Promise<CredentialInfo | undefined> {
  const { displayName, description, accountId, material, now } = changes;
  const changedRow = await db
    .updateTable('credentials')
    .set((eb) => ({
      ...(displayName !== undefined && { display_name: displayName }),
      ...(description !== undefined && { description }),
      ...(accountId !== undefined && { account_id: accountId }),
      ...(material && {
        ...sealMaterial(sealer, row, material),
        state: 'connected' as const,
        version: eb('version', '+', 1),
        refresh_owner: null,
        refresh_until: null,
      }),
      updated_at: now,
    }))
    .where('workspace_id', '=', row.workspace_id)
    .where('id', '=', row.id)
    .returning(COLUMNS)
    .executeTakeFirst();
  if (!changedRow) return undefined;
  if (material) await retryRegistrations(db, { workspaceId: row.workspace_id, credentialId: row.id });
  await recordChange(db, changedRow, 'updated');
  return changedRow;
}

/**
 * Adds a credential, or replaces the material of the credential with the same name. Returns undefined if that
 * credential has another type or provider, or another credential has the id.
 */
export async function putCredential(
  db: Db,
  sealer: Sealer,
  credential: NewCredential,
): Promise<{ row: CredentialInfo; isNew: boolean } | undefined> {
  const addedRow = await addCredential(db, sealer, credential);
  if (addedRow) return { row: addedRow, isNew: true };
  const { workspaceId, displayName, providerId, description, accountId, material, now } = credential;
  const existingRow = await findByName(db, workspaceId, displayName);
  if (!existingRow || existingRow.type !== material.type || existingRow.provider_id !== providerId)
    return undefined;
  const changes = { description, accountId, material, now };
  const row = await changeCredential(db, sealer, { row: existingRow, changes });
  // Another caller has removed the credential in the meantime.
  return row ? { row, isNew: false } : putCredential(db, sealer, credential);
}

function findByName(
  db: Db,
  workspaceId: string,
  name: string,
): Promise<Selectable<CredentialRow> | undefined> {
  return db
    .selectFrom('credentials')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('display_name', '=', name)
    .executeTakeFirst();
}

/** Deletes a credential, by its id or its name. `db` must be a transaction. Returns whether it existed. */
export async function removeCredential(
  db: Db,
  { workspaceId, ...key }: { workspaceId: string } & ({ id: string } | { name: string }),
): Promise<boolean> {
  const [column, value] = 'id' in key ? (['id', key.id] as const) : (['display_name', key.name] as const);
  const removedRow = await db
    .deleteFrom('credentials')
    .where('workspace_id', '=', workspaceId)
    .where(column, '=', value)
    .returning(COLUMNS)
    .executeTakeFirst();
  if (removedRow) await recordChange(db, removedRow, 'deleted');
  return removedRow !== undefined;
}

/** Returns the number of credentials of the workspace. */
export async function countCredentials(db: Db, workspaceId: string): Promise<number> {
  return countOf(db.selectFrom('credentials').where('workspace_id', '=', workspaceId));
}

/** Returns a page of credentials without their material, and the position of its last row if more follow. */
export async function readPageOfCredentials(
  db: Db,
  query: CredentialsQuery,
): Promise<{ rows: CredentialInfo[]; next: CredentialPosition | undefined }> {
  const { workspaceId, types, providerId, search } = query;
  const column = SORT_COLUMNS[query.sortBy];
  let selectQuery = db.selectFrom('credentials').select(COLUMNS).where('workspace_id', '=', workspaceId);
  if (types !== undefined) selectQuery = selectQuery.where('type', 'in', [...types]);
  if (providerId !== undefined) selectQuery = selectQuery.where('provider_id', '=', providerId);
  if (search !== undefined) selectQuery = selectQuery.where(containsCondition('display_name', search));
  return readPage(selectQuery, [column, 'id'], query, (row): CredentialPosition => [row[column], row.id]);
}

/** Returns the row with this id; undefined if the workspace has none. */
export function findCredentialRow(
  db: Db,
  { workspaceId, id }: CredentialKey,
): Promise<CredentialRow | undefined> {
  return db
    .selectFrom('credentials')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Returns the oldest credential of this provider and type; undefined if the workspace has none. */
export function findOldestCredentialRow(
  db: Db,
  { workspaceId, providerId, type }: { workspaceId: string; providerId: string; type: CredentialType },
): Promise<CredentialRow | undefined> {
  return db
    .selectFrom('credentials')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('provider_id', '=', providerId)
    .where('type', '=', type)
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
}

/** Returns the ids of the keys that have sealed the material in the table. */
export async function findSealingKeyIdsOfCredentials(db: Db): Promise<Set<string>> {
  const rows = await db.selectFrom('credentials').select('key_id').distinct().execute();
  return new Set(rows.map((row) => row.key_id));
}

/**
 * Finds up to `limit` rows that another key has sealed, and seals them with the current key. Returns the number
 * of these rows; 0 if the current key has sealed all. Skips a row whose material another call has replaced in the
 * meantime.
 */
export async function resealCredentials(db: Db, sealer: Sealer, limit: number): Promise<number> {
  const rows = await db
    .selectFrom('credentials')
    .selectAll()
    .where('key_id', '!=', sealer.currentKeyId())
    .orderBy('workspace_id')
    .orderBy('id')
    .limit(limit)
    .execute();
  for (const row of rows) {
    await db
      .updateTable('credentials')
      .set(sealMaterial(sealer, row, openMaterial(sealer, row)))
      .where('workspace_id', '=', row.workspace_id)
      .where('id', '=', row.id)
      .where('sealed', '=', row.sealed)
      .execute();
  }
  return rows.length;
}
