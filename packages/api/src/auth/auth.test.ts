import { describe, expect, it } from 'vitest';
import { errorIn, testApi } from '../../../../test/support/api.ts';
import { block, workflow } from '../../../../test/support/workflow.ts';
import { KEY_PREFIX } from '../areas/keys/store.ts';
import { admit } from '../admission/admit.ts';
import type { AnyOperation } from '../operation.ts';
import type { Services } from '../services.ts';
import { ALL_OPERATIONS, OPERATIONS } from '../table.ts';

const api = await testApi();
const { call, store, workspaceId } = api;

const ASK = workflow([block('Ask', 'human_in_the_loop')], ['Start -> Ask']);
const workflowId = await api.deployed(ASK);
const started = await call<{ runId: string }>('POST', `/api/v2/workflows/${workflowId}/execute`, {
  body: {},
});
const { runId } = started.data;

async function member(role: 'read' | 'write' | 'admin' | null): Promise<string> {
  const userId = await store.workspaces.createUser({
    email: `${crypto.randomUUID()}@heddle.test`,
    name: 'Bob',
  });
  if (role) await store.workspaces.setMember(workspaceId, userId, role);
  return (await store.keys.create({ userId }, 'member')).key;
}

const keys = {
  read: await member('read'),
  write: await member('write'),
  admin: await member('admin'),
  stranger: await member(null),
  workspace: (await store.keys.create({ workspaceId }, 'shared')).key,
  foreign: (await store.keys.create({ workspaceId: await elsewhere() }, 'other')).key,
};

async function elsewhere(): Promise<string> {
  return store.workspaces.createWorkspace('Elsewhere', api.userId);
}

/** What an operation is called with when all that matters is who calls. */
function requestOf(operation: AnyOperation): readonly [method: string, path: string, body: unknown] {
  const filled = operation.path
    .replaceAll('{workflowId}', workflowId)
    .replaceAll('{runId}', runId)
    .replaceAll('{executionId}', runId)
    .replaceAll('{contextId}', 'wrong')
    .replaceAll('{version}', '1');
  const bodies: { [id: string]: unknown } = {
    createWorkflowV2: { workspaceId, name: crypto.randomUUID() },
    // A dry run: it would else leave the draft without blocks.
    replaceWorkflowState: { blocks: {}, edges: [] },
    executeWorkflowV2: {},
    resumeWorkflowRunV2: { contextId: 'wrong' },
    updateWorkflowPublicApi: { isPublicApi: false },
  };
  const query: { [id: string]: string } = {
    listWorkflows: `?workspaceId=${workspaceId}`,
    replaceWorkflowState: '?dryRun=true',
  };
  return [operation.method, filled + (query[operation.id] ?? ''), bodies[operation.id]];
}

const TABLE = ALL_OPERATIONS.filter(
  // What ends the run or the deployment that the others need is looked at by itself.
  ({ resource, id }) =>
    resource !== 'none' && !['cancelRunV2', 'cancelExecution', 'undeployWorkflow'].includes(id),
).map((operation) => [operation.id, operation] as const);
/** Why the caller may not; `none` when it may, whatever comes of it otherwise. */
function refusalOf({ status, body }: { status: number; body: unknown }): string | undefined {
  if (status !== 401 && status !== 403) return 'none';
  return errorIn(body).details?.code;
}

const RANK = { read: 1, write: 2, admin: 3 };

describe.each(TABLE)('%s', (_id, operation) => {
  const as = (key: string) => {
    const [method, path, body] = requestOf(operation);
    return call(method, path, { key, body });
  };
  const noun = operation.resource === 'workflow' ? 'Workflow' : 'Workspace';

  it('is hidden from strangers, and from keys of other workspaces', async () => {
    for (const key of [keys.stranger, keys.foreign]) {
      const answer = await as(key);
      expect(answer.status).toBe(404);
      expect(errorIn(answer.body)).toMatchObject({ message: `${noun} not found` });
    }
  });

  it.each(['read', 'write', 'admin'] as const)('tells members with the role %s apart', async (role) => {
    const enough = RANK[role] >= RANK[operation.role];
    expect(refusalOf(await as(keys[role]))).toBe(enough ? 'none' : 'INSUFFICIENT_WORKSPACE_ROLE');
  });

  it('takes a key of the workspace only where the table says so', async () => {
    const refusal = operation.workspaceKeys ? 'none' : 'WORKSPACE_KEY_OPERATION_NOT_PERMITTED';
    expect(refusalOf(await as(keys.workspace))).toBe(refusal);
  });
});

describe('personal keys', () => {
  it('are refused where the workspace does not want them, keys of the workspace are not', async () => {
    const own = await testApi();
    const list = `/api/v2/workflows?workspaceId=${own.workspaceId}`;
    const { key } = await own.store.keys.create({ workspaceId: own.workspaceId }, 'shared');
    await own.store.workspaces.setPersonalKeys(own.workspaceId, false);
    expect(await own.call('GET', list)).toMatchObject({
      status: 403,
      body: { error: { details: { code: 'PERSONAL_API_KEYS_DISABLED' } } },
    });
    expect(await own.call('GET', list, { key })).toMatchObject({ status: 200 });
    await own.store.workspaces.setPersonalKeys(own.workspaceId, true);
    expect(await own.call('GET', list)).toMatchObject({ status: 200 });
  });

  it('run drafts, keys of the workspace do not, nor do members who only read', async () => {
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

  it('of those who may not resume are not told with what', async () => {
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
    expect(key).toMatch(new RegExp(`^${KEY_PREFIX}[A-Za-z0-9_-]{43}$`));
    const listed = (await store.keys.list()).find((each) => each.id === id);
    expect(listed).toMatchObject({ name: 'shown', kind: 'personal', hint: key.slice(-4), revoked_at: null });
    expect(JSON.stringify(listed)).not.toContain(key);
    expect(listed).not.toHaveProperty('hash');
  });

  it('is refused from the moment on at which it is revoked', async () => {
    const { id, key } = await store.keys.create({ userId: api.userId }, 'brief');
    expect(await call('GET', '/api/v2/meta', { key })).toMatchObject({ status: 200 });
    expect(await store.keys.revoke(id)).toBe(true);
    expect(await call('GET', '/api/v2/meta', { key })).toMatchObject({ status: 401 });
    expect(await store.keys.revoke(id)).toBe(false);
  });

  it('is refused when it has expired', async () => {
    const own = await testApi({ now: () => Date.parse('2030-01-01T00:00:00Z') });
    const late = await own.store.keys.create({ userId: own.userId }, 'a', '2030-01-01T00:00:00.000Z');
    const fresh = await own.store.keys.create({ userId: own.userId }, 'b', '2030-01-01T00:00:00.001Z');
    expect(await own.call('GET', '/api/v2/meta', { key: late.key })).toMatchObject({ status: 401 });
    expect(await own.call('GET', '/api/v2/meta', { key: fresh.key })).toMatchObject({
      status: 200,
      data: { expiresAt: '2030-01-01T00:00:00.001Z' },
    });
  });

  it('counts when a token is sent beside it, and a token alone is refused', async () => {
    const headers = { Authorization: 'Bearer something' };
    expect(await call('GET', '/api/v2/meta', { headers })).toMatchObject({ status: 200 });
    const answer = await call('GET', '/api/v2/meta', { headers, key: null });
    expect(answer).toMatchObject({ status: 401, body: { error: { message: 'Invalid access token' } } });
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /);
  });

  it('of another secret is another key', async () => {
    const other = await testApi();
    expect(await other.call('GET', '/api/v2/meta', { key: api.key })).toMatchObject({ status: 401 });
  });
});

describe.each(ALL_OPERATIONS.map((operation) => [operation.id, operation] as const))(
  '%s is called only by the kinds of principals that it declares',
  (_id, operation) => {
    const base = { credentialId: 'c', userId: api.userId, workspaceId, expiresAt: null } as const;
    const scopes = ['api:write'] as const;
    /** Where each field has its own form the answer does not matter: only whether the caller was let in. */
    const refusalFor = async (principal: object): Promise<string | undefined> => {
      const { engine } = api;
      const authenticator = { authenticate: () => Promise.resolve(principal as never) };
      const { call: as } = await testApi({ engine, store, authenticator });
      const [method, path, body] = requestOf(operation);
      const answer = await as(method, path, { key: 'any', body });
      return answer.status === 401 ? 'UNAUTHORIZED' : refusalOf(answer);
    };

    it('a kind that is not known calls none', async () => {
      expect(await refusalFor({ ...base, kind: 'robot', scopes })).toBe('PRINCIPAL_KIND_NOT_PERMITTED');
    });

    it('nobody calls only what is public', async () => {
      const anonymous = { ...base, kind: 'workspace', userId: null, anonymous: true, scopes };
      const refusal = await refusalFor(anonymous);
      expect(refusal === 'UNAUTHORIZED').toBe(!operation.public);
    });

    it('a key of a workspace calls only what takes one', async () => {
      const refusal = await refusalFor({ ...base, kind: 'workspace', userId: null, scopes });
      expect(refusal).toBe(operation.workspaceKeys ? 'none' : 'WORKSPACE_KEY_OPERATION_NOT_PERMITTED');
    });

    it('a reader without the scope calls none that writes', async () => {
      const refusal = await refusalFor({ ...base, kind: 'oauth', scopes: ['api:read'] });
      expect(refusal === 'INSUFFICIENT_SCOPE').toBe(operation.scope === 'api:write');
    });

    it('what is about no resource asks for no role, which there is none to have', () => {
      const asked = operation.resource === 'none' ? ['read'] : ['read', 'write', 'admin'];
      expect(asked).toContain(operation.role);
    });
  },
);

describe('an operation without a resource', () => {
  it.each([
    [{ workspaceKeys: false }, 'WORKSPACE_KEY_OPERATION_NOT_PERMITTED'],
    [{ role: 'admin' }, 'WORKSPACE_KEY_OPERATION_NOT_PERMITTED'],
  ] as const)('refuses a key of a workspace where it says so: %o', async (declared, code) => {
    const operation = { ...OPERATIONS.getApiMeta, ...declared } as AnyOperation;
    const sent = (kind: 'workspace' | 'personal') => ({
      principal: {
        ...{ kind, credentialId: 'c', userId: null, workspaceId, expiresAt: null },
        scopes: ['api:read'] as const,
      },
      ...{ workflowId: undefined, headers: new Headers(), origin: '', signal: new AbortController().signal },
      read: () => Promise.resolve({ path: {}, query: {}, body: undefined }),
    });
    // It looks at nothing of what there is to work with.
    const nothing = {} as Services;
    await expect(admit(nothing, operation, sent('workspace'))).rejects.toMatchObject({ details: { code } });
    expect(await admit(nothing, operation, sent('personal'))).toMatchObject({
      data: { keyType: 'personal' },
    });
  });
});
