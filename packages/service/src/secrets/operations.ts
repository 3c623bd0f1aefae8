import { ApiError, auditRow, cursorCodec, defineOperation } from '@heddle/api';
import type { AnyOperation, ApiStore, Principal } from '@heddle/api';
import type { Kysely } from 'kysely';
import * as z from 'zod';
import type { AuditTables } from '../audit.ts';
import type { Sealer } from '../sealing.ts';
import * as schemas from './schemas.ts';
import { pageOfSecrets, removeSecret, setSecret, countSecrets } from './store.ts';
import type { SecretKey } from './store.ts';
import type { SecretInfo, SecretTables } from './tables.ts';

/** What the operations of secrets need. */
export interface SecretServices {
  /** Opened with `openServiceStore`. */
  store: Pick<ApiStore, 'database' | 'workspaces'>;
  sealer: Sealer;
  now: () => number;
}

type Scope = 'workspace' | 'personal';
type Shown = z.output<typeof schemas.secret>;

const SHARED = { tag: 'Secrets', role: 'read', workspaceKeys: false } as const;
const READ = { ...SHARED, scope: 'api:read' } as const;
const WRITE = { ...SHARED, scope: 'api:write' } as const;
const cursors = cursorCodec(schemas.position);

/** Returns the operations of secrets. None of them returns a value. */
export function secretOperations(services: SecretServices): readonly AnyOperation[] {
  return [listOperation(services), setOperation(services), deleteOperation(services)];
}

function tablesOf({ store }: SecretServices): Kysely<SecretTables> {
  return store.database as Kysely<SecretTables>;
}

function listOperation(services: SecretServices): AnyOperation {
  const db = tablesOf(services);
  return defineOperation({
    ...READ,
    id: 'listSecrets',
    method: 'GET',
    path: '/api/v2/secrets',
    summary: 'List secrets without their values',
    resource: 'workspaceInQuery',
    params: z.strictObject({}),
    query: schemas.listQuery,
    success: [{ status: 200, schema: schemas.secret, page: true, description: 'A page of secrets' }],
    errors: [400, 401, 403, 404, 429],
    async handle(_services, { query, principal }) {
      const after = cursors.decode(query.cursor, query);
      const isAdmin = await isSecretAdmin(services, principal, query.workspaceId);
      const userIds = ownersOf(query.scope, principal);
      const { rows, next } = await pageOfSecrets(db, { ...query, userIds, after });
      const page = rows.map((row) => shown(row, isAdmin));
      return { page, nextCursor: next === undefined ? null : cursors.encode([...next], query) };
    },
  });
}

function setOperation(services: SecretServices): AnyOperation {
  const db = tablesOf(services);
  return defineOperation({
    ...WRITE,
    id: 'setSecret',
    method: 'PUT',
    path: '/api/v2/secrets/{name}',
    summary: 'Create a secret or replace its value',
    resource: 'workspaceInBody',
    params: schemas.secretPath,
    query: z.strictObject({}),
    body: schemas.setBody,
    success: [
      { status: 200, schema: schemas.secret, description: 'The secret has a new value' },
      { status: 201, schema: schemas.secret, description: 'The new secret' },
    ],
    errors: [400, 401, 403, 404, 413, 415, 429],
    async handle(_services, { path, body, principal }) {
      const { workspaceId, value, description, scope } = body;
      const userId = ownerOf(scope, principal);
      const key = { workspaceId, userId, name: path.name };
      await expectSecretAdmin(services, principal, { workspaceId, scope });
      const now = new Date(services.now()).toISOString();
      const { row, isNew } = await db.transaction().execute(async (tx) => {
        const result = await setSecret(tx, services.sealer, {
          ...key,
          value,
          description: description ?? undefined,
          now,
        });
        if (result.isNew && (await countSecrets(tx, key)) > schemas.MAX_SECRETS) throw tooMany();
        const action = result.isNew ? 'SECRET_CREATED' : 'SECRET_UPDATED';
        await tx
          .insertInto('audit')
          .values(auditOf(action, key, principal))
          .execute();
        return result;
      });
      return { status: isNew ? 201 : 200, data: shown(row, true) };
    },
  });
}

function deleteOperation(services: SecretServices): AnyOperation {
  const db = tablesOf(services);
  return defineOperation({
    ...WRITE,
    id: 'deleteSecret',
    method: 'DELETE',
    path: '/api/v2/secrets/{name}',
    summary: 'Delete a secret',
    resource: 'workspaceInQuery',
    params: schemas.secretPath,
    query: schemas.deleteQuery,
    success: [{ status: 200, schema: schemas.deletedSecret, description: 'The secret is deleted' }],
    errors: [400, 401, 403, 404, 429],
    async handle(_services, { path, query, principal }) {
      const { workspaceId, scope } = query;
      await expectSecretAdmin(services, principal, query);
      const key = { workspaceId, userId: ownerOf(scope, principal), name: path.name };
      await db.transaction().execute(async (tx) => {
        if (!(await removeSecret(tx, key))) throw new ApiError(404, 'Secret not found');
        await tx
          .insertInto('audit')
          .values(auditOf('SECRET_DELETED', key, principal))
          .execute();
      });
      return { data: { name: path.name, scope, deleted: true } };
    },
  });
}

/** Returns the owner in rows: the calling person, or empty for the workspace. */
function ownerOf(scope: Scope, { userId }: Principal): string {
  if (scope === 'workspace') return '';
  if (userId !== null && userId !== '') return userId;
  throw new ApiError(403, 'A credential without a person has no personal secrets', {
    details: { code: 'PRINCIPAL_KIND_NOT_PERMITTED' },
  });
}

function ownersOf(scope: Scope | undefined, principal: Principal): string[] {
  if (scope !== undefined) return [ownerOf(scope, principal)];
  return principal.userId === null || principal.userId === '' ? [''] : ['', principal.userId];
}

/** True for an admin of the workspace, who may change its secrets. */
async function isSecretAdmin(
  { store }: Pick<SecretServices, 'store'>,
  { userId }: Principal,
  workspaceId: string,
): Promise<boolean> {
  const access = userId === null ? undefined : await store.workspaces.access(workspaceId, userId);
  return access?.role === 'admin';
}

async function expectSecretAdmin(
  services: SecretServices,
  principal: Principal,
  { workspaceId, scope }: { workspaceId: string; scope: Scope },
): Promise<void> {
  if (scope === 'personal' || (await isSecretAdmin(services, principal, workspaceId))) return;
  throw new ApiError(403, 'Only workspace admins can change secrets of the workspace', {
    details: { code: 'SECRET_ADMIN_ACCESS_REQUIRED' },
  });
}

function shown(row: SecretInfo, isAdmin: boolean): Shown {
  const isPersonal = row.user_id !== '';
  return {
    name: row.name,
    scope: isPersonal ? 'personal' : 'workspace',
    description: row.description,
    role: isPersonal || isAdmin ? 'admin' : 'member',
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function auditOf(
  action: string,
  { workspaceId, userId, name }: SecretKey,
  principal: Principal,
): AuditTables['audit'] {
  const details = { scope: userId === '' ? 'workspace' : 'personal' };
  return auditRow({ action, workspaceId, resourceType: 'secret', resourceId: name, details }, principal);
}

function tooMany(): ApiError {
  return new ApiError(400, `There are ${schemas.MAX_SECRETS} secrets already: delete one that is not used`);
}
