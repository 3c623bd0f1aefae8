import { describe, expect, it } from 'vitest';
import { errorIn, createTestApi } from '../../../../test/support/api.ts';
import { requestOf } from '../../../../test/support/requests.ts';
import { SERVED_OPERATIONS } from '../../../../test/support/served-operations.ts';
import { deployTriggers } from '../../../../test/support/trigger-workflow.ts';
import { block, workflow } from '../../../../test/support/workflow.ts';
import { admit } from '../admission/admit.ts';
import type { AreaContext } from '../context.ts';
import { meta } from '../areas/areas.ts';
import type { AnyOperation } from '../operation.ts';
import { USER_PRINCIPALS } from './principal.ts';

const api = await createTestApi();
const { call, store, workspaceId } = api;

const ASK_WORKFLOW = workflow([block('Ask', 'human_in_the_loop')], ['Start -> Ask']);
const workflowId = await api.deploy(ASK_WORKFLOW);
const startedRun = await call<{ runId: string }>('POST', `/api/v2/workflows/${workflowId}/execute`, {
  body: {},
});
const { runId } = startedRun.data;
const triggers = await deployTriggers({
  ...api,
  request: async (method, path, body) => (await call(method, path, { body })).data,
});
const subject = { workflowId, runId, workspaceId, triggers };

async function createMemberKey(role: 'read' | 'write' | 'admin' | null): Promise<string> {
  const userId = await store.workspaces.createUser({
    email: `${crypto.randomUUID()}@heddle.test`,
    name: 'Bob',
  });
  if (role) await store.workspaces.setMember(workspaceId, userId, role);
  return (await store.keys.create({ userId }, 'member')).key;
}

const keys = {
  read: await createMemberKey('read'),
  write: await createMemberKey('write'),
  admin: await createMemberKey('admin'),
  stranger: await createMemberKey(null),
  workspace: (await store.keys.create({ workspaceId }, 'shared')).key,
  foreign: (await store.keys.create({ workspaceId: await createOtherWorkspace() }, 'other')).key,
};

async function createOtherWorkspace(): Promise<string> {
  return store.workspaces.createWorkspace('Elsewhere', api.userId);
}

const ENDING_OPERATIONS = ['cancelRunV2', 'cancelExecution', 'undeployWorkflow', 'deleteWorkflowV2'];
const CASES = SERVED_OPERATIONS.filter(
  // Operations that end the shared run or deployment are tested separately.
  ({ resource, id }) => resource.kind !== 'none' && !ENDING_OPERATIONS.includes(id),
).map((operation) => [operation.id, operation] as const);

/** Returns why the caller was refused; `none` when it passed the access checks. */
function refusalOf({ status, body }: { status: number; body: unknown }): string | undefined {
  if (status !== 401 && status !== 403) return 'none';
  return errorIn(body).details?.code;
}

const RANK = { read: 1, write: 2, admin: 3 };

describe.each(CASES)('%s', (_id, operation) => {
  const callAs = (key: string) => {
    const { method, path, body } = requestOf(operation, subject);
    return call(method, path, { key, body });
  };
  const { displayName } = operation.resource;

  it('returns 404 for users and keys of other workspaces', async () => {
    for (const key of [keys.stranger, keys.foreign]) {
      const response = await callAs(key);
      expect(response.status).toBe(404);
      expect(errorIn(response.body)).toMatchObject({ message: `${displayName} not found` });
    }
  });

  it.each(['read', 'write', 'admin'] as const)('checks the role of a member with %s', async (role) => {
    const isAllowed = RANK[role] >= RANK[operation.role];
    expect(refusalOf(await callAs(keys[role]))).toBe(isAllowed ? 'none' : 'INSUFFICIENT_WORKSPACE_ROLE');
  });

  it('accepts a workspace key only if it declares workspace keys', async () => {
    const refusal = operation.principals.includes('workspace')
      ? 'none'
      : 'WORKSPACE_KEY_OPERATION_NOT_PERMITTED';
    expect(refusalOf(await callAs(keys.workspace))).toBe(refusal);
  });
});

describe('personal keys', () => {
  it('are refused if the workspace has disabled them; workspace keys are not', async () => {
    const separateApi = await createTestApi();
    const listPath = `/api/v2/workflows?workspaceId=${separateApi.workspaceId}`;
    const { key } = await separateApi.store.keys.create({ workspaceId: separateApi.workspaceId }, 'shared');
    await separateApi.store.workspaces.setPersonalKeysAllowed(separateApi.workspaceId, false);
    expect(await separateApi.call('GET', listPath)).toMatchObject({
      status: 403,
      body: { error: { details: { code: 'PERSONAL_API_KEYS_DISABLED' } } },
    });
    expect(await separateApi.call('GET', listPath, { key })).toMatchObject({ status: 200 });
    await separateApi.store.workspaces.setPersonalKeysAllowed(separateApi.workspaceId, true);
    expect(await separateApi.call('GET', listPath)).toMatchObject({ status: 200 });
  });

  it('can run drafts; workspace keys and members with the role read cannot', async () => {
    const path = `/api/v2/workflows/${workflowId}/execute`;
    const body = { run: { source: 'manual' } };
    expect(await call('POST', path, { key: keys.write, body })).toMatchObject({ status: 200 });
    expect(await call('POST', path, { key: keys.read, body })).toMatchObject({
      status: 403,
      body: { error: { details: { code: 'INSUFFICIENT_WORKSPACE_ROLE' } } },
    });
    expect(await call('POST', path, { key: keys.workspace, body })).toMatchObject({
      status: 403,
      body: { error: { details: { code: 'WORKSPACE_KEY_OPERATION_NOT_PERMITTED' } } },
    });
  });

  it('get no resume token without the right to resume', async () => {
    const path = `/api/v2/workflows/${workflowId}/runs/${runId}`;
    expect(await call('GET', path, { key: keys.read })).toMatchObject({
      data: { paused: { contextId: null } },
    });
    expect(await call('GET', path, { key: keys.write })).toMatchObject({
      data: { paused: { contextId: expect.any(String) } },
    });
  });
});

describe('a key', () => {
  it('has the prefix, is shown once, and is stored as a hash', async () => {
    const { id, key } = await store.keys.create({ userId: api.userId }, 'shown');
    expect(key).toMatch(/^sk-heddle-[A-Za-z0-9_-]{43}$/);
    const row = (await store.keys.list()).find((candidate) => candidate.id === id);
    expect(row).toMatchObject({ name: 'shown', kind: 'personal', hint: key.slice(-4), revoked_at: null });
    expect(JSON.stringify(row)).not.toContain(key);
    expect(row).not.toHaveProperty('hash');
  });

  it('is refused as soon as it is revoked', async () => {
    const { id, key } = await store.keys.create({ userId: api.userId }, 'brief');
    expect(await call('GET', '/api/v2/meta', { key })).toMatchObject({ status: 200 });
    expect(await store.keys.revoke(id)).toBe(true);
    expect(await call('GET', '/api/v2/meta', { key })).toMatchObject({ status: 401 });
    expect(await store.keys.revoke(id)).toBe(false);
  });

  it('is refused when it has expired', async () => {
    const separateApi = await createTestApi({ now: () => Date.parse('2030-01-01T00:00:00Z') });
    const { store: separateStore, userId } = separateApi;
    const expiredKey = await separateStore.keys.create({ userId }, 'a', '2030-01-01T00:00:00.000Z');
    const validKey = await separateStore.keys.create({ userId }, 'b', '2030-01-01T00:00:00.001Z');
    expect(await separateApi.call('GET', '/api/v2/meta', { key: expiredKey.key })).toMatchObject({
      status: 401,
    });
    expect(await separateApi.call('GET', '/api/v2/meta', { key: validKey.key })).toMatchObject({
      status: 200,
      data: { expiresAt: '2030-01-01T00:00:00.001Z' },
    });
  });

  it('takes precedence over a token; a token alone is refused', async () => {
    const headers = { Authorization: 'Bearer something' };
    expect(await call('GET', '/api/v2/meta', { headers })).toMatchObject({ status: 200 });
    const response = await call('GET', '/api/v2/meta', { headers, key: null });
    expect(response).toMatchObject({ status: 401, body: { error: { message: 'Invalid access token' } } });
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer /);
  });

  it('is invalid in an API with another store', async () => {
    const otherApi = await createTestApi();
    expect(await otherApi.call('GET', '/api/v2/meta', { key: api.key })).toMatchObject({ status: 401 });
  });
});

let principal: object;
const { call: callAsPrincipal } = await createTestApi({
  engine: api.engine,
  store,
  authenticator: { authenticate: () => Promise.resolve(principal as never) },
});

describe.each(SERVED_OPERATIONS.map((operation) => [operation.id, operation] as const))(
  'the operation %s',
  (_id, operation) => {
    const basePrincipal = { credentialId: 'c', userId: api.userId, workspaceId, expiresAt: null } as const;
    const scopes = ['api:write'] as const;
    /** Returns the refusal of an access check. Ignores the outcome of the operation itself. */
    const fetchRefusal = async (caller: object): Promise<string | undefined> => {
      principal = caller;
      const { method, path, body } = requestOf(operation, subject);
      const response = await callAsPrincipal(method, path, { key: 'any', body });
      return response.status === 401 ? 'UNAUTHORIZED' : refusalOf(response);
    };

    it('refuses an unknown kind of principal', async () => {
      expect(await fetchRefusal({ ...basePrincipal, kind: 'robot', scopes })).toBe(
        'PRINCIPAL_KIND_NOT_PERMITTED',
      );
    });

    it('accepts a session only if it allows sessions', async () => {
      const refusal = await fetchRefusal({ ...basePrincipal, kind: 'session', scopes });
      expect(refusal === 'PRINCIPAL_KIND_NOT_PERMITTED').toBe(!operation.principals.includes('session'));
    });

    it('accepts an anonymous caller only if it is public', async () => {
      const anonymousPrincipal = {
        ...basePrincipal,
        kind: 'workspace',
        userId: null,
        anonymous: true,
        scopes,
      };
      const refusal = await fetchRefusal(anonymousPrincipal);
      expect(refusal === 'UNAUTHORIZED').toBe(!operation.principals.includes('anonymous'));
    });

    it('accepts a workspace key only if it allows workspace keys', async () => {
      const refusal = await fetchRefusal({ ...basePrincipal, kind: 'workspace', userId: null, scopes });
      expect(refusal).toBe(
        operation.principals.includes('workspace') ? 'none' : 'WORKSPACE_KEY_OPERATION_NOT_PERMITTED',
      );
    });

    it('refuses the scope api:read if it needs api:write', async () => {
      const refusal = await fetchRefusal({ ...basePrincipal, kind: 'oauth', scopes: ['api:read'] });
      expect(refusal === 'INSUFFICIENT_SCOPE').toBe(operation.scope === 'api:write');
    });

    it('requires no role above read if it has no resource', () => {
      const allowedRoles = operation.resource.kind === 'none' ? ['read'] : ['read', 'write', 'admin'];
      expect(allowedRoles).toContain(operation.role);
    });
  },
);

it('an operation without a resource refuses a workspace key unless it allows workspace keys', async () => {
  const operation: AnyOperation = { ...meta().operations.getApiMeta, principals: USER_PRINCIPALS };
  const createCall = (kind: 'workspace' | 'personal') => ({
    principal: {
      ...{ kind, credentialId: 'c', userId: null, workspaceId, expiresAt: null },
      scopes: ['api:read'] as const,
    },
    ...{ workflowId: undefined, headers: new Headers(), origin: '', basePath: '' },
    signal: new AbortController().signal,
    read: () => Promise.resolve({ path: {}, query: {}, body: undefined }),
  });
  // The operation does not use the context.
  const context = {} as AreaContext;
  const servedOperation = { operation, services: undefined };
  await expect(admit(context, servedOperation, createCall('workspace'))).rejects.toMatchObject({
    details: { code: 'WORKSPACE_KEY_OPERATION_NOT_PERMITTED' },
  });
  expect(await admit(context, servedOperation, createCall('personal'))).toMatchObject({
    data: { keyType: 'personal' },
  });
});
