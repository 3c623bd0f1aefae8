import { ApiError } from '@heddle/api';
import type { Principal } from '@heddle/api';
import {
  badRequest,
  cursorCodec,
  notFound,
  operationFactory,
  USER_PRINCIPALS,
  workspace,
} from '@heddle/api/areas';
import type { Kysely } from 'kysely';
import * as z from 'zod';
import { requireSealingKey } from '../sealing.ts';
import type { Sealer } from '../sealing.ts';
import type { ServiceStore } from '../store/open.ts';
import { isWorkspaceAdmin } from '../workspace-admin.ts';
import * as schemas from './schemas.ts';
import { readPageOfSecrets, removeSecret, setSecret, countSecrets } from './store.ts';
import type { SecretInfo, SecretTables } from './tables.ts';

/** Dependencies of the operations of secrets. */
export interface SecretServices {
  store: Pick<ServiceStore, 'database' | 'workspaces'>;
  sealer: Sealer;
  now: () => number;
}

type Scope = 'workspace' | 'personal';
type SecretView = z.output<typeof schemas.secret>;

const COMMON_FIELDS = { tag: 'Secrets', role: 'read', principals: USER_PRINCIPALS } as const;
const READ_FIELDS = { ...COMMON_FIELDS, scope: 'api:read' } as const;
const WRITE_FIELDS = { ...COMMON_FIELDS, scope: 'api:write' } as const;
const defineOperation = operationFactory<SecretServices>();

function databaseOf({ store }: SecretServices): Kysely<SecretTables> {
  return store.database as Kysely<SecretTables>;
}

const positionCodec = cursorCodec(schemas.secretPosition);

export const listSecrets = defineOperation({
  ...READ_FIELDS,
  id: 'listSecrets',
  method: 'GET',
  path: '/api/v2/secrets',
  summary: 'List secrets without their values',
  resource: workspace('query'),
  params: z.strictObject({}),
  query: schemas.listQuery,
  success: [{ status: 200, schema: schemas.secret, isPage: true, description: 'A page of secrets' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { query, principal }) {
    const afterPosition = positionCodec.decode(query.cursor, query);
    const isAdmin = await isWorkspaceAdmin(services.store, principal, query.workspaceId);
    const userIds = ownerIdsOf(query.scope, principal);
    const { rows, next } = await readPageOfSecrets(databaseOf(services), {
      ...query,
      userIds,
      afterPosition,
    });
    const page = rows.map((row) => viewOf(row, isAdmin));
    return { page, nextCursor: positionCodec.encode(next, query) };
  },
});

export const setSecretOperation = defineOperation({
  ...WRITE_FIELDS,
  id: 'setSecret',
  audit: { resourceType: 'secret', actions: ['SECRET_CREATED', 'SECRET_UPDATED'] },
  method: 'PUT',
  path: '/api/v2/secrets/{name}',
  summary: 'Create a secret or replace its value',
  capability: 'secrets.manage',
  resource: workspace('body'),
  params: schemas.secretPath,
  query: z.strictObject({}),
  body: schemas.setBody,
  success: [
    { status: 200, schema: schemas.secret, description: 'The secret has a new value' },
    { status: 201, schema: schemas.secret, description: 'The new secret' },
  ],
  errors: [400, 401, 403, 404, 413, 415, 429, 503],
  async handle(services, { path, body, principal, recordAudit }) {
    const { workspaceId, value, description, scope } = body;
    const userId = ownerIdOf(scope, principal);
    const key = { workspaceId, userId, name: path.name };
    await requireSecretAdmin(services, principal, { workspaceId, scope });
    requireSealingKey(services.sealer);
    const now = new Date(services.now()).toISOString();
    const { row, isNew } = await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        const result = await setSecret(tx, services.sealer, {
          ...key,
          value,
          description: description ?? undefined,
          now,
        });
        if (result.isNew && (await countSecrets(tx, key)) > schemas.MAX_SECRETS) throw tooManySecretsError();
        const action = result.isNew ? 'SECRET_CREATED' : 'SECRET_UPDATED';
        await recordAudit({ action, resourceId: path.name, details: { scope } }, tx);
        return result;
      });
    return { status: isNew ? 201 : 200, data: viewOf(row, true) };
  },
});

export const deleteSecret = defineOperation({
  ...WRITE_FIELDS,
  id: 'deleteSecret',
  audit: { resourceType: 'secret', actions: ['SECRET_DELETED'] },
  method: 'DELETE',
  path: '/api/v2/secrets/{name}',
  summary: 'Delete a secret',
  capability: 'secrets.manage',
  resource: workspace('query'),
  params: schemas.secretPath,
  query: schemas.deleteQuery,
  success: [{ status: 200, schema: schemas.deletedSecret, description: 'The secret is deleted' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { path, query, principal, recordAudit }) {
    const { workspaceId, scope } = query;
    await requireSecretAdmin(services, principal, query);
    const key = { workspaceId, userId: ownerIdOf(scope, principal), name: path.name };
    await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        if (!(await removeSecret(tx, key))) throw notFound('Secret');
        await recordAudit({ resourceId: path.name, details: { scope } }, tx);
      });
    return { data: { name: path.name, scope, deleted: true } };
  },
});

/** Returns the owner as in the column `user_id`: the id of the calling user; empty for the workspace. */
function ownerIdOf(scope: Scope, { userId }: Principal): string {
  if (scope === 'workspace') return '';
  if (userId !== null && userId !== '') return userId;
  throw new ApiError(403, 'A credential without a user has no personal secrets', {
    details: { code: 'PRINCIPAL_KIND_NOT_PERMITTED' },
  });
}

function ownerIdsOf(scope: Scope | undefined, principal: Principal): string[] {
  if (scope !== undefined) return [ownerIdOf(scope, principal)];
  return principal.userId === null || principal.userId === '' ? [''] : ['', principal.userId];
}

async function requireSecretAdmin(
  services: SecretServices,
  principal: Principal,
  { workspaceId, scope }: { workspaceId: string; scope: Scope },
): Promise<void> {
  if (scope === 'personal' || (await isWorkspaceAdmin(services.store, principal, workspaceId))) return;
  throw new ApiError(403, 'Only workspace admins can change secrets of the workspace', {
    details: { code: 'SECRET_ADMIN_ACCESS_REQUIRED' },
  });
}

function viewOf(row: SecretInfo, isAdmin: boolean): SecretView {
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

function tooManySecretsError(): ApiError {
  return badRequest(`There are ${schemas.MAX_SECRETS} secrets already: delete one that is not used`);
}
