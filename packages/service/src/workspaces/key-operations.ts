import {
  badRequest,
  cursorCodec,
  notFound,
  operationFactory,
  USER_PRINCIPALS,
  workspace,
} from '@heddle/api/areas';
import type { Db } from '../store/database.ts';
import type { ApiKeyInfo } from '../store/keys.ts';
import { pageOf } from '../paging.ts';
import type { WorkspaceServices } from './operations.ts';
import * as schemas from './schemas.ts';

/** Maximum number of valid keys of a workspace. */
const MAX_KEYS = 100;

const defineOperation = operationFactory<WorkspaceServices>();
const ADMIN_FIELDS = { tag: 'API Keys', role: 'admin', principals: USER_PRINCIPALS } as const;
const positionCodec = cursorCodec(schemas.createdAtPosition);

export const listWorkspaceApiKeys = defineOperation({
  ...ADMIN_FIELDS,
  id: 'listWorkspaceApiKeys',
  method: 'GET',
  path: '/api/v2/workspaces/{workspaceId}/api-keys',
  summary: 'List the valid API keys of a workspace, without their values',
  scope: 'api:read',
  resource: workspace('path'),
  params: schemas.workspacePath,
  query: schemas.keysQuery,
  success: [
    { status: 200, schema: schemas.apiKey, isPage: true, description: 'A page of keys, oldest first' },
  ],
  errors: [400, 401, 403, 404, 429],
  async handle({ store }, { query: { limit, cursor } }, workspaceId) {
    const listParameters = { workspaceId };
    const afterPosition = positionCodec.decode(cursor, listParameters);
    const keys = await store.keys.listByWorkspace(workspaceId, { limit: limit + 1, after: afterPosition });
    const { rows, next } = pageOf(keys, limit, (row): [string, string] => [row.created_at, row.id]);
    return { page: rows.map(viewOf), nextCursor: positionCodec.encode(next, listParameters) };
  },
});

export const createWorkspaceApiKey = defineOperation({
  ...ADMIN_FIELDS,
  id: 'createWorkspaceApiKey',
  audit: { resourceType: 'api_key', actions: ['API_KEY_CREATED'] },
  method: 'POST',
  path: '/api/v2/workspaces/{workspaceId}/api-keys',
  summary: 'Create an API key of a workspace. Only this response contains its value',
  scope: 'api:write',
  resource: workspace('path'),
  params: schemas.workspacePath,
  query: schemas.emptyObject,
  body: schemas.createKeyBody,
  success: [{ status: 201, schema: schemas.createdKey, description: 'The key, which cannot be read again' }],
  errors: [400, 401, 403, 404, 413, 415, 429],
  async handle({ store, now }, { body, recordAudit }, workspaceId) {
    const { name, expiresAt = null } = body;
    if (expiresAt !== null && Date.parse(expiresAt) <= now())
      throw badRequest('expiresAt must be in the future');
    const data = await (store.database as Db).transaction().execute(async (tx) => {
      const createdKey = await store.keys.create({ workspaceId }, name, expiresAt, tx);
      const validKeys = await store.keys.listByWorkspace(workspaceId, { limit: MAX_KEYS + 1 }, tx);
      if (validKeys.length > MAX_KEYS)
        throw badRequest(`The workspace already has ${MAX_KEYS} keys: revoke one that is not used`);
      await recordAudit({ resourceId: createdKey.id, details: { name } }, tx);
      const row = validKeys.find(({ id }) => id === createdKey.id) as ApiKeyInfo;
      return { ...viewOf(row), key: createdKey.key };
    });
    return { status: 201, data };
  },
});

export const revokeWorkspaceApiKey = defineOperation({
  ...ADMIN_FIELDS,
  id: 'revokeWorkspaceApiKey',
  audit: { resourceType: 'api_key', actions: ['API_KEY_REVOKED'] },
  method: 'DELETE',
  path: '/api/v2/workspaces/{workspaceId}/api-keys/{keyId}',
  summary: 'Revoke a key of a workspace',
  scope: 'api:write',
  resource: workspace('path'),
  params: schemas.keyPath,
  query: schemas.emptyObject,
  success: [{ status: 200, schema: schemas.revokedKey, description: 'The key is rejected from now on' }],
  errors: [400, 401, 403, 404, 429],
  async handle({ store }, { path: { keyId }, recordAudit }, workspaceId) {
    await (store.database as Db).transaction().execute(async (tx) => {
      // A key of a user, or of another workspace, is treated like an unknown id.
      if (!(await store.keys.revoke(keyId, { workspaceId, db: tx }))) throw notFound('API key');
      await recordAudit({ resourceId: keyId }, tx);
    });
    return { data: { id: keyId, revoked: true } };
  },
});

function viewOf(row: ApiKeyInfo) {
  const { id, name, hint, created_at, expires_at, last_used_at } = row;
  return { id, name, hint, createdAt: created_at, expiresAt: expires_at, lastUsedAt: last_used_at };
}
