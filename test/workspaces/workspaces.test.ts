import { openServiceStore } from '@heddle/service';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorIn, createTestApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';

const STORES = storesToTest('workspaces');
const WORKSPACES_PATH = '/api/v2/workspaces';

interface Workspace {
  id: string;
  name: string;
  color: string;
  logoUrl: string | null;
  memberCount: number;
  createdAt: string;
  updatedAt: string;
}

interface Page<Item> {
  data: Item[];
  nextCursor: string | null;
}

describe.each(STORES)('workspaces on %s', (storeKind) => {
  let api: TestApi;

  beforeAll(async () => {
    const secret = 'x'.repeat(32);
    const url = storeKind === 'postgres' ? await createPostgresDatabase() : undefined;
    api = await createTestApi({
      store: await openServiceStore(url === undefined ? {} : { postgres: { url }, secret }),
    });
  });

  /** Creates another user with a personal API key. */
  async function createUser(
    email = `${crypto.randomUUID()}@x.test`,
  ): Promise<{ userId: string; key: string }> {
    const userId = await api.store.workspaces.createUser({ email, name: `Name of ${email}` });
    return { userId, key: (await api.store.keys.create({ userId }, 'test')).key };
  }

  async function readPage<Item>(path: string, key: string): Promise<Page<Item>> {
    const { status, body } = await api.call('GET', path, { key });
    expect(status).toBe(200);
    return body as Page<Item>;
  }

  /** Returns all items, from pages of one item. */
  async function readAll<Item>(path: string, key: string): Promise<Item[]> {
    const items: Item[] = [];
    let cursor: string | null = null;
    do {
      const url = new URL(path, 'http://x');
      url.searchParams.set('limit', '1');
      if (cursor !== null) url.searchParams.set('cursor', cursor);
      const { data, nextCursor } = await readPage<Item>(`${url.pathname}${url.search}`, key);
      items.push(...data);
      cursor = nextCursor;
    } while (cursor !== null);
    return items;
  }

  it('are listed for their members in every order, each on exactly one page', async () => {
    const { userId, key } = await createUser();
    for (const name of ['b', 'a', 'c']) await api.store.workspaces.createWorkspace(name, userId);
    const listNames = async (query: string): Promise<string[]> =>
      (await readAll<Workspace>(`${WORKSPACES_PATH}${query}`, key)).map(({ name }) => name);
    expect(await listNames('?sortBy=name&sortOrder=asc')).toEqual(['a', 'b', 'c']);
    expect(await listNames('?sortBy=name&sortOrder=desc')).toEqual(['c', 'b', 'a']);
    expect((await listNames('')).toSorted()).toEqual(['a', 'b', 'c']);
    expect((await listNames('?sortBy=updatedAt')).toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('show their number of members and the time of their last change', async () => {
    const { userId, key } = await createUser();
    const id = await api.store.workspaces.createWorkspace('Counted', userId);
    await api.store.workspaces.setMember(id, (await createUser()).userId, 'read');
    const { data } = await api.call<Workspace>('GET', `${WORKSPACES_PATH}/${id}`, { key });
    expect(data).toEqual({
      ...{ id, name: 'Counted', logoUrl: null, memberCount: 2 },
      color: expect.stringMatching(/^#[\da-f]{6}$/) as string,
      createdAt: expect.any(String) as string,
      updatedAt: data.createdAt,
    });
    expect((await readPage<Workspace>(WORKSPACES_PATH, key)).data).toEqual([data]);
  });

  it('that accept no personal keys are omitted from lists for personal keys, and refuse requests with personal keys', async () => {
    const { userId, key } = await createUser();
    const id = await api.store.workspaces.createWorkspace('Closed', userId);
    await api.store.workspaces.setPersonalKeysAllowed(id, false);
    expect((await readPage<Workspace>(WORKSPACES_PATH, key)).data).toEqual([]);
    const refusedResponse = await api.call('GET', `${WORKSPACES_PATH}/${id}`, { key });
    expect([refusedResponse.status, errorIn(refusedResponse.body).details?.code]).toEqual([
      403,
      'PERSONAL_API_KEYS_DISABLED',
    ]);
    await api.store.workspaces.setPersonalKeysAllowed(id, true);
    const [workspace] = (await readPage<Workspace>(WORKSPACES_PATH, key)).data;
    expect(workspace?.id).toBe(id);
    expect(Date.parse(workspace?.updatedAt ?? '')).toBeGreaterThanOrEqual(
      Date.parse(workspace?.createdAt ?? ''),
    );
  });

  it('other than its own are hidden from a workspace key', async () => {
    const { userId } = await createUser();
    const id = await api.store.workspaces.createWorkspace('Keyed', userId);
    const { key } = await api.store.keys.create({ workspaceId: id }, 'workspace');
    expect((await readPage<Workspace>(WORKSPACES_PATH, key)).data.map((workspace) => workspace.id)).toEqual([
      id,
    ]);
    expect((await api.call('GET', `${WORKSPACES_PATH}/${id}`, { key })).status).toBe(200);
    expect((await api.call('GET', `${WORKSPACES_PATH}/${api.workspaceId}`, { key })).status).toBe(404);
  });

  it.each(['', '/members'])('of other users are not found, like unknown workspaces: %j', async (suffix) => {
    const { key } = await createUser();
    const foreignResponse = await api.call('GET', `${WORKSPACES_PATH}/${api.workspaceId}${suffix}`, { key });
    const unknownResponse = await api.call('GET', `${WORKSPACES_PATH}/none${suffix}`, { key });
    expect([foreignResponse.status, foreignResponse.body]).toEqual([404, unknownResponse.body]);
    expect((await api.call('GET', `${WORKSPACES_PATH}/none${suffix}`, { key: null })).status).toBe(401);
  });

  it('list their members by email address, with roles', async () => {
    const admin = await createUser('zoe@members.test');
    const reader = await createUser('abe@members.test');
    const id = await api.store.workspaces.createWorkspace('Team', admin.userId);
    await api.store.workspaces.setMember(id, reader.userId, 'read');
    const path = `${WORKSPACES_PATH}/${id}/members`;
    const members = await readAll<{ email: string; userId: string }>(path, reader.key);
    expect(members).toEqual([
      {
        userId: reader.userId,
        email: 'abe@members.test',
        name: 'Name of abe@members.test',
        image: null,
        role: 'read',
        isExternal: false,
        joinedAt: expect.any(String) as string,
      },
      expect.objectContaining({ email: 'zoe@members.test', role: 'admin' }),
    ]);
    const { nextCursor } = await readPage(`${path}?limit=1`, reader.key);
    const otherId = await api.store.workspaces.createWorkspace('Other', reader.userId);
    const response = await api.call('GET', `${WORKSPACES_PATH}/${otherId}/members?cursor=${nextCursor}`, {
      key: reader.key,
    });
    expect(response.status).toBe(400);
  });

  it.each([
    '?limit=0',
    '?limit=101',
    '?sortBy=color',
    '?cursor=x',
    `?cursor=${Buffer.from('{"at":[1,2],"of":"x"}').toString('base64url')}`,
    '?all=1',
  ])('refuse the query %s', async (query) => {
    const { status, body } = await api.call('GET', `${WORKSPACES_PATH}${query}`);
    expect([status, errorIn(body).code]).toEqual([400, 'BAD_REQUEST']);
  });

  it('refuse a cursor of another sort order', async () => {
    const { userId, key } = await createUser();
    for (const name of ['a', 'b']) await api.store.workspaces.createWorkspace(name, userId);
    const { nextCursor } = await readPage(`${WORKSPACES_PATH}?limit=1&sortBy=name`, key);
    expect(
      (await api.call('GET', `${WORKSPACES_PATH}?sortBy=createdAt&cursor=${nextCursor}`, { key })).status,
    ).toBe(400);
  });

  /** Creates a workspace with an admin and a member with the role `write`. */
  async function createWorkspaceWithMembers() {
    const [admin, writer] = [await createUser(), await createUser()];
    const id = await api.store.workspaces.createWorkspace('Team', admin.userId);
    await api.store.workspaces.setMember(id, writer.userId, 'write');
    return { admin, writer, id, path: `${WORKSPACES_PATH}/${id}` };
  }

  it('have keys, which an admin can create, list without their values, and revoke', async () => {
    const { admin, writer, id, path } = await createWorkspaceWithMembers();
    const createKey = (name: string, key = admin.key) =>
      api.call<{ id: string; key: string }>('POST', `${path}/api-keys`, { key, body: { name } });
    const { status, data } = await createKey('Deploys');
    await createKey('Other');
    expect([status, data.key.startsWith('sk-heddle-')]).toEqual([201, true]);
    expect((await api.call('GET', path, { key: data.key })).status).toBe(200);
    const listedKeys = await readAll<object>(`${path}/api-keys`, admin.key);
    expect(listedKeys).toEqual([
      {
        ...{
          id: data.id,
          name: 'Deploys',
          hint: data.key.slice(-4),
          createdAt: expect.any(String) as string,
        },
        ...{ expiresAt: null, lastUsedAt: expect.any(String) as string },
      },
      expect.objectContaining({ name: 'Other', lastUsedAt: null }),
    ]);
    expect(JSON.stringify(listedKeys)).not.toContain(data.key);
    for (const key of [writer.key, data.key]) expect((await createKey('No', key)).status).toBe(403);
    const revokeKey = async (keyId: string) =>
      (await api.call('DELETE', `${path}/api-keys/${keyId}`, { key: admin.key })).status;
    const { id: personalKeyId } = await api.store.keys.create({ userId: admin.userId }, 'personal');
    const { id: otherWorkspaceKeyId } = await api.store.keys.create(
      { workspaceId: api.workspaceId },
      'foreign',
    );
    for (const unknownId of [personalKeyId, otherWorkspaceKeyId, 'none'])
      expect(await revokeKey(unknownId)).toBe(404);
    expect(await revokeKey(data.id)).toBe(200);
    expect(await revokeKey(data.id)).toBe(404);
    expect((await api.call('GET', path, { key: data.key })).status).toBe(401);
    expect(await readAll(`${path}/api-keys`, admin.key)).toHaveLength(1);
    const events = await api.store.audit.listByResource(data.id);
    expect(events.map(({ action, workspace_id }) => [action, workspace_id])).toEqual([
      ['API_KEY_CREATED', id],
      ['API_KEY_REVOKED', id],
    ]);
    expect(JSON.stringify(events)).not.toContain(data.key);
  });

  it('have at most a hundred keys, and refuse a new key that has already expired', async () => {
    const { admin, id, path } = await createWorkspaceWithMembers();
    const createKey = (body: object) => api.call('POST', `${path}/api-keys`, { key: admin.key, body });
    const expiredKeyResponse = await createKey({ name: 'Old', expiresAt: '2020-01-01T00:00:00Z' });
    expect([expiredKeyResponse.status, errorIn(expiredKeyResponse.body).message]).toEqual([
      400,
      'expiresAt must be in the future',
    ]);
    for (let count = 0; count < 100; count += 1) await api.store.keys.create({ workspaceId: id }, `${count}`);
    const refusedResponse = await createKey({ name: 'One more' });
    expect([refusedResponse.status, errorIn(refusedResponse.body).message]).toEqual([
      400,
      'The workspace already has 100 keys: revoke one that is not used',
    ]);
    expect(await readAll(`${path}/api-keys?limit=100`, admin.key)).toHaveLength(100);
  });

  it('show their audit log only to their admins', async () => {
    const { admin, writer, id, path } = await createWorkspaceWithMembers();
    const body = { workspaceId: id, name: 'Orders' };
    const createResponse = await api.call<{ id: string }>('POST', '/api/v2/workflows', {
      key: writer.key,
      body,
    });
    const workflowId = createResponse.data.id;
    await api.call('PATCH', `/api/v2/workflows/${workflowId}`, { key: admin.key, body: { name: 'Prices' } });
    const auditPath = `${path}/audit-logs`;
    const events = await readAll<{ action: string; actorEmail: string }>(
      `${auditPath}?resourceType=workflow&resourceId=${workflowId}`,
      admin.key,
    );
    expect(events).toEqual([
      expect.objectContaining({ resourceId: workflowId, apiKeyName: 'test', isConfirmed: true }),
      expect.objectContaining({
        action: 'WORKFLOW_CREATED',
        workspaceId: id,
        metadata: expect.any(Object) as object,
      }),
    ]);
    expect(new Set(events.map(({ actorEmail }) => actorEmail)).size).toBe(2);
    const countEvents = async (query: string) =>
      (await readPage(`${auditPath}?${query}`, admin.key)).data.length;
    expect(await countEvents('action=WORKFLOW_CREATED')).toBe(1);
    expect(await countEvents('startDate=2100-01-01T00:00:00Z')).toBe(0);
    expect(await countEvents('endDate=2020-01-01T00:00:00Z')).toBe(0);
    expect((await api.call('GET', auditPath, { key: writer.key })).status).toBe(403);
    expect(
      (await api.call('GET', `${WORKSPACES_PATH}/${api.workspaceId}/audit-logs`, { key: admin.key })).status,
    ).toBe(404);
  });
});
