import { randomUUID } from 'node:crypto';
import { ApiError } from '@heddle/api';
import type { Principal } from '@heddle/api';
import {
  badRequest,
  conflict,
  cursorCodec,
  AUTHENTICATED_PRINCIPALS,
  notFound,
  operationFactory,
  USER_PRINCIPALS,
  workspace,
} from '@heddle/api/areas';
import type { Kysely } from 'kysely';
import * as z from 'zod';
import { requireSealingKey } from '../sealing.ts';
import type { Sealer } from '../sealing.ts';
import { isUniqueViolation } from '../store/database.ts';
import type { ServiceStore } from '../store/open.ts';
import { isWorkspaceAdmin } from '../workspace-admin.ts';
import * as schemas from './api-schemas.ts';
import { findProviders } from './providers.ts';
import type { CredentialProviders } from './providers.ts';
import { MAX_CREDENTIALS } from './schemas.ts';
import type { Material } from './schemas.ts';
import {
  addCredential,
  changeCredential,
  countCredentials,
  findCredentialRow,
  readPageOfCredentials,
  removeCredential,
} from './store.ts';
import type { CredentialInfo, CredentialTables } from './tables.ts';

/** Dependencies of the operations on credentials. */
export interface CredentialServices {
  store: Pick<ServiceStore, 'database' | 'workspaces'>;
  sealer: Sealer;
  providers: CredentialProviders;
  now: () => number;
}

type CredentialView = z.output<typeof schemas.credential>;

const READ_FIELDS = {
  tag: 'Credentials',
  scope: 'api:read',
  role: 'read',
  principals: AUTHENTICATED_PRINCIPALS,
} as const;
const WRITE_FIELDS = { tag: 'Credentials', scope: 'api:write', principals: USER_PRINCIPALS } as const;
/** The common part of the operations that change one credential. Its creator and workspace admins may call them. */
const CHANGE_FIELDS = {
  ...WRITE_FIELDS,
  role: 'read',
  path: '/api/v2/credentials/{credentialId}',
  resource: workspace('query'),
  params: schemas.credentialPath,
  query: schemas.workspaceQuery,
} as const;
const defineOperation = operationFactory<CredentialServices>();

function databaseOf({ store }: CredentialServices): Kysely<CredentialTables> {
  return store.database as Kysely<CredentialTables>;
}

const positionCodec = cursorCodec(schemas.position);

export const listCredentials = defineOperation({
  ...READ_FIELDS,
  id: 'listCredentials',
  capability: 'integrations.manage',
  method: 'GET',
  path: '/api/v2/credentials',
  summary: 'List credentials without their secrets',
  resource: workspace('query'),
  params: z.strictObject({}),
  query: schemas.listQuery,
  success: [{ status: 200, schema: schemas.credential, isPage: true, description: 'A page of credentials' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { query, principal }) {
    const afterPosition = positionCodec.decode(query.cursor, query);
    const isAdmin = await isWorkspaceAdmin(services.store, principal, query.workspaceId);
    const types =
      query.type &&
      (query.type === 'oauth' ? (['oauth'] as const) : (['api_key', 'service_account'] as const));
    const { rows, next } = await readPageOfCredentials(databaseOf(services), {
      ...query,
      types,
      afterPosition,
    });
    const page = rows.map((row) => viewOf(row, isAdmin || isCreator(row, principal)));
    return { page, nextCursor: positionCodec.encode(next, query) };
  },
});

export const listCredentialProviders = defineOperation({
  ...READ_FIELDS,
  id: 'listCredentialProviders',
  capability: 'integrations.manage',
  method: 'GET',
  path: '/api/v2/credentials/providers',
  summary: 'List the providers whose API keys or accounts can be stored',
  resource: workspace('query'),
  params: z.strictObject({}),
  query: schemas.providersQuery,
  success: [{ status: 200, schema: schemas.provider, isPage: true, description: 'All providers' }],
  errors: [400, 401, 403, 404, 429],
  async handle({ providers }, { query }) {
    return { page: await findProviders(providers, query.search), nextCursor: null };
  },
});

export const createServiceAccountCredential = defineOperation({
  ...WRITE_FIELDS,
  role: 'write',
  id: 'createServiceAccountCredential',
  capability: 'integrations.manage',
  audit: { resourceType: 'credential', actions: ['CREDENTIAL_CREATED'] },
  method: 'POST',
  path: '/api/v2/credentials',
  summary: 'Store an API key or the key of a service account',
  resource: workspace('body'),
  params: z.strictObject({}),
  query: z.strictObject({}),
  body: schemas.createBody,
  success: [{ status: 201, schema: schemas.credential, description: 'The credential, without its secret' }],
  errors: [400, 401, 403, 404, 409, 413, 415, 429, 503],
  async handle(services, { body, principal, recordAudit }) {
    const { workspaceId, providerId, displayName = providerId, description, id = randomUUID() } = body;
    const material = parseMaterial(body.credentials);
    requireSealingKey(services.sealer);
    const row = await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        const addedRow = await addCredential(tx, services.sealer, {
          ...{ workspaceId, id, providerId, displayName, description, material },
          ...{ accountId: null, createdBy: principal.userId, now: isoNow(services) },
        });
        if (!addedRow) throw nameConflict(displayName);
        if ((await countCredentials(tx, workspaceId)) > MAX_CREDENTIALS)
          throw badRequest(`There are ${MAX_CREDENTIALS} credentials already: delete one that is not used`);
        await recordAudit({ resourceId: id, details: { displayName, providerId } }, tx);
        return addedRow;
      });
    return { status: 201, data: viewOf(row, true) };
  },
});

export const updateCredential = defineOperation({
  ...CHANGE_FIELDS,
  id: 'updateCredential',
  capability: 'integrations.manage',
  audit: { resourceType: 'credential', actions: ['CREDENTIAL_UPDATED'] },
  method: 'PATCH',
  summary: 'Rename a credential or replace its key',
  body: schemas.updateBody,
  success: [{ status: 200, schema: schemas.credential, description: 'The credential, without its secret' }],
  errors: [400, 401, 403, 404, 409, 413, 415, 429, 503],
  async handle(services, { path, query, body, principal, recordAudit }) {
    const row = await findChangeableCredential(services, principal, { ...query, id: path.credentialId });
    const { displayName, description } = body;
    const material = newMaterialOf(row, body);
    if (material) requireSealingKey(services.sealer);
    const changes = { displayName, description, material, now: isoNow(services) };
    const changedRow = await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        const nextRow = await changeCredential(tx, services.sealer, { row, changes });
        if (!nextRow) throw notFound('Credential');
        const details = { displayName: nextRow.display_name, hasNewKey: material !== undefined };
        await recordAudit({ resourceId: row.id, details }, tx);
        return nextRow;
      })
      .catch((error: unknown) => {
        throw displayName !== undefined && isUniqueViolation(error) ? nameConflict(displayName) : error;
      });
    return { data: viewOf(changedRow, true) };
  },
});

export const deleteCredential = defineOperation({
  ...CHANGE_FIELDS,
  id: 'deleteCredential',
  capability: 'integrations.manage',
  audit: { resourceType: 'credential', actions: ['CREDENTIAL_DELETED'] },
  method: 'DELETE',
  summary: 'Delete a credential',
  success: [{ status: 200, schema: schemas.deletedCredential, description: 'The credential is deleted' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { path, query, principal, recordAudit }) {
    const key = { workspaceId: query.workspaceId, id: path.credentialId };
    const row = await findChangeableCredential(services, principal, key);
    await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        if (!(await removeCredential(tx, key))) throw notFound('Credential');
        const details = { displayName: row.display_name, providerId: row.provider_id };
        await recordAudit({ resourceId: key.id, details }, tx);
      });
    return { data: { id: key.id, deleted: true } };
  },
});

/** Returns the credential. Throws 404 if there is none, and 403 if the caller may not change it. */
async function findChangeableCredential(
  services: CredentialServices,
  principal: Principal,
  key: { workspaceId: string; id: string },
): Promise<CredentialInfo> {
  const row = await findCredentialRow(databaseOf(services), key);
  if (!row) throw notFound('Credential');
  if (isCreator(row, principal) || (await isWorkspaceAdmin(services.store, principal, key.workspaceId)))
    return row;
  throw new ApiError(403, 'Only its creator and workspace admins can change this credential', {
    details: { code: 'CREDENTIAL_ADMIN_ACCESS_REQUIRED' },
  });
}

function isCreator({ created_by: creator }: CredentialInfo, { userId }: Principal): boolean {
  return creator !== null && creator === userId;
}

/** Returns the material (the secret part) of a new credential: the API key in `keyJson`, or a service account's key. */
function parseMaterial(text: string): Material {
  const key = schemas.keyJson.safeParse(tryParseJson(text));
  if (key.success) return { type: 'api_key', key: key.data.apiToken };
  if (text.isWellFormed()) return { type: 'service_account', key: text };
  throw badRequest('credentials is not valid Unicode');
}

function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the new material; undefined to keep the current one. */
function newMaterialOf(
  { type }: CredentialInfo,
  { apiToken, serviceAccountJson }: z.output<typeof schemas.updateBody>,
): Material | undefined {
  if (apiToken === undefined && serviceAccountJson === undefined) return undefined;
  if (type === 'api_key' && apiToken !== undefined) return { type, key: apiToken };
  if (type === 'service_account' && serviceAccountJson !== undefined)
    return { type, key: serviceAccountJson };
  const fields = { api_key: 'apiToken', service_account: 'serviceAccountJson', oauth: undefined };
  const field = fields[type];
  throw badRequest(
    field === undefined
      ? 'The account of this credential must be connected again to change its tokens'
      : `The secret of this credential can only be replaced with ${field}`,
  );
}

function isoNow({ now }: CredentialServices): string {
  return new Date(now()).toISOString();
}

function viewOf(row: CredentialInfo, mayChange: boolean): CredentialView {
  return {
    id: row.id,
    type: row.type === 'oauth' ? 'oauth' : 'service_account',
    displayName: row.display_name,
    description: row.description,
    providerId: row.provider_id,
    accountId: row.account_id,
    hasServiceAccountKey: row.type !== 'oauth',
    role: mayChange ? 'admin' : 'member',
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function nameConflict(name: string): ApiError {
  return conflict(`A credential named "${name}", or with this id, already exists in this workspace`);
}
