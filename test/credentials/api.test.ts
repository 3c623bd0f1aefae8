import { createEngine } from '@heddle/engine';
import { parseKeys, openServiceStore, Sealer } from '@heddle/service';
import { storeCredential, storedCredentials } from '@heddle/service/credentials';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorIn, tenantOptionsOf, createTestApi } from '../support/api.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';

const KEY = 'sk-the-key-of-the-shop';
const KEY_JSON = JSON.stringify({ apiToken: KEY });

interface Credential {
  id: string;
  type: string;
  displayName: string;
  role: string;
}

const DATABASES = storesToTest('credentials');

describe.each(DATABASES)('credentials over HTTP on %s', (database) => {
  let url: string | undefined;
  beforeAll(async () => {
    url = database === 'postgres' ? await createPostgresDatabase() : undefined;
  });

  async function setUp() {
    const secret = 'x'.repeat(32);
    const store = await openServiceStore(url === undefined ? {} : { postgres: { url }, secret });
    const sealer = new Sealer(parseKeys(Buffer.alloc(32, 1).toString('base64')));
    const engine = await createEngine(tenantOptionsOf(store));
    let nowMs = Date.parse('2026-01-01T00:00:00Z');
    const api = await createTestApi({ engine, store, sealer, now: () => nowMs });
    const { workspaceId } = api;
    const { find } = storedCredentials(store.database, sealer);
    const pathOf = (id: string): string => `/api/v2/credentials/${id}?workspaceId=${workspaceId}`;
    return {
      ...api,
      sealer,
      pathOf,
      readSecret: async (id: string) => (await find(workspaceId, { id }))?.secret,
      createMemberKey: async (role: 'read' | 'write' | 'admin') => {
        const userId = await store.workspaces.createUser({
          email: `${crypto.randomUUID()}@x.test`,
          name: 'B',
        });
        await store.workspaces.setMember(workspaceId, userId, role);
        return (await store.keys.create({ userId }, 'member')).key;
      },
      createCredential: (body: object = {}, key = api.key) => {
        nowMs += 1000;
        const defaults = { workspaceId, type: 'service_account', providerId: 'shop', credentials: KEY_JSON };
        return api.call<Credential>('POST', '/api/v2/credentials', { body: { ...defaults, ...body }, key });
      },
      updateCredential: (id: string, body: object, key = api.key) =>
        api.call<Credential>('PATCH', pathOf(id), { body, key }),
      listNames: async (query: object = {}, key = api.key) => {
        const queryString = new URLSearchParams({ workspaceId, ...query }).toString();
        const { data } = await api.call<Credential[]>('GET', `/api/v2/credentials?${queryString}`, { key });
        return data.map(({ displayName }) => displayName);
      },
    };
  }

  it('are stored, renamed, replaced, listed and deleted, and no response has a secret', async () => {
    const api = await setUp();
    const createResponse = await api.createCredential({ description: 'of the shop' });
    expect(createResponse.status).toBe(201);
    expect(createResponse.data).toEqual({
      id: createResponse.data.id,
      type: 'service_account',
      displayName: 'shop',
      description: 'of the shop',
      providerId: 'shop',
      accountId: null,
      hasServiceAccountKey: true,
      role: 'admin',
      createdAt: '2026-01-01T00:00:01.000Z',
      updatedAt: '2026-01-01T00:00:01.000Z',
    });
    const { id } = createResponse.data;
    expect(await api.readSecret(id)).toBe(KEY);
    const renameResponse = await api.updateCredential(id, { displayName: 'Orders', description: null });
    expect(renameResponse.data).toMatchObject({ displayName: 'Orders', description: null });
    expect(await api.readSecret(id)).toBe(KEY);
    const replaceResponse = await api.updateCredential(id, { apiToken: 'sk-another-key' });
    expect(await api.readSecret(id)).toBe('sk-another-key');
    const listResponse = await api.call('GET', `/api/v2/credentials?workspaceId=${api.workspaceId}`);
    const deleteResponse = await api.call('DELETE', api.pathOf(id));
    expect(deleteResponse.data).toEqual({ id, deleted: true });
    expect(await api.readSecret(id)).toBeUndefined();
    const { rows } = await sql`select * from audit where resource_id = ${id} order by created_at`.execute(
      api.store.database,
    );
    expect(new Set((rows as { action: string }[]).map(({ action }) => action))).toEqual(
      new Set(['CREDENTIAL_CREATED', 'CREDENTIAL_UPDATED', 'CREDENTIAL_DELETED']),
    );
    const bodies = [createResponse, renameResponse, replaceResponse, listResponse, deleteResponse].map(
      ({ body }) => body,
    );
    expect(JSON.stringify([bodies, rows])).not.toMatch(/sk-(?:the|another)/);
  });

  it('can be the JSON of a service account with a private key', async () => {
    const api = await setUp();
    const accountJson = '{"private_key": "of the robot"}';
    const { data } = await api.createCredential({ credentials: accountJson });
    expect(await api.readSecret(data.id)).toBe(accountJson);
    expect((await api.updateCredential(data.id, { apiToken: KEY })).status).toBe(400);
    expect((await api.updateCredential(data.id, { serviceAccountJson: '{"private_key": 1}' })).status).toBe(
      200,
    );
    expect(await api.readSecret(data.id)).toBe('{"private_key": 1}');
  });

  it('cannot have the name or the id of another credential', async () => {
    const api = await setUp();
    await api.createCredential({ id: 'first', displayName: 'First' });
    await api.createCredential({ id: 'second', displayName: 'Second' });
    expect((await api.createCredential({ id: 'first', displayName: 'Other' })).status).toBe(409);
    expect((await api.createCredential({ displayName: 'First' })).status).toBe(409);
    expect((await api.updateCredential('second', { displayName: 'First' })).status).toBe(409);
    expect(await api.readSecret('first')).toBe(KEY);
  });

  it('can be changed by their creators and by admins, and are visible to other members', async () => {
    const api = await setUp();
    const [readerKey, writerKey, otherWriterKey, adminKey] = [
      await api.createMemberKey('read'),
      await api.createMemberKey('write'),
      await api.createMemberKey('write'),
      await api.createMemberKey('admin'),
    ];
    expect((await api.createCredential({}, readerKey)).status).toBe(403);
    const { data } = await api.createCredential({ displayName: 'Mine' }, writerKey);
    for (const key of [readerKey, otherWriterKey]) {
      for (const response of [
        await api.updateCredential(data.id, { displayName: 'Theirs' }, key),
        await api.call('DELETE', api.pathOf(data.id), { key }),
      ]) {
        expect(response.status).toBe(403);
        expect(errorIn(response.body).details?.code).toBe('CREDENTIAL_ADMIN_ACCESS_REQUIRED');
      }
      const listResponse = await api.call<Credential[]>(
        'GET',
        `/api/v2/credentials?workspaceId=${api.workspaceId}`,
        {
          key,
        },
      );
      expect(listResponse.data).toMatchObject([{ displayName: 'Mine', role: 'member' }]);
    }
    expect((await api.updateCredential(data.id, { displayName: 'Still mine' }, writerKey)).data.role).toBe(
      'admin',
    );
    expect((await api.call('DELETE', api.pathOf(data.id), { key: adminKey })).status).toBe(200);
  });

  it('of other workspaces are not found, and workspace keys can only list credentials', async () => {
    const api = await setUp();
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Other', api.userId);
    const { data } = await api.createCredential();
    const otherPath = `/api/v2/credentials/${data.id}?workspaceId=${otherWorkspaceId}`;
    expect((await api.call('DELETE', otherPath)).status).toBe(404);
    expect((await api.call('PATCH', otherPath, { body: { displayName: 'x' } })).status).toBe(404);
    expect(await api.listNames({ workspaceId: otherWorkspaceId })).toEqual([]);
    const { key } = await api.store.keys.create({ workspaceId: api.workspaceId }, 'workspace');
    expect(await api.listNames({}, key)).toEqual(['shop']);
    const refusedResponse = await api.createCredential({ displayName: 'x' }, key);
    expect(errorIn(refusedResponse.body).details?.code).toBe('WORKSPACE_KEY_OPERATION_NOT_PERMITTED');
  });

  it('are listed in pages, and filtered by type, provider and search text', async () => {
    const api = await setUp();
    for (const displayName of ['b_1', 'a%1', 'B_2', 'c']) await api.createCredential({ displayName });
    await api.createCredential({ displayName: 'd', providerId: 'other' });
    await storeCredential(api.store.database, api.sealer, {
      ...{ workspaceId: api.workspaceId, name: 'account', provider: 'shop' },
      material: { type: 'oauth', accessToken: 'at-1234567' },
    });
    expect(await api.listNames({ type: 'oauth' })).toEqual(['account']);
    expect((await api.listNames({ type: 'service_account' })).length).toBe(5);
    expect(await api.listNames({ providerId: 'other' })).toEqual(['d']);
    expect(await api.listNames({ search: '%' })).toEqual(['a%1']);
    const allNames = await api.listNames();
    expect(allNames).toEqual(['account', 'd', 'c', 'B_2', 'a%1', 'b_1']);
    expect((await api.listNames({ sortBy: 'displayName', sortOrder: 'asc' })).toSorted()).toEqual(
      allNames.toSorted(),
    );
    const pagedNames: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const query = {
        workspaceId: api.workspaceId,
        sortBy: 'createdAt',
        limit: '2',
        ...(cursor && { cursor }),
      };
      const path = `/api/v2/credentials?${new URLSearchParams(query).toString()}`;
      const body: { data: Credential[]; nextCursor: string | null } = (await api.call('GET', path))
        .body as never;
      pagedNames.push(...body.data.map((credential) => credential.displayName));
      cursor = body.nextCursor;
    }
    expect(pagedNames).toEqual(allNames);
  });

  it('have a list of providers: model providers, and providers with an OAuth client', async () => {
    const api = await setUp();
    const listProviders = async (filters: object) => {
      const queryString = new URLSearchParams({ workspaceId: api.workspaceId, ...filters }).toString();
      return (await api.call<{ serviceId: string }[]>('GET', `/api/v2/credentials/providers?${queryString}`))
        .data;
    };
    const serviceIds = (await listProviders({})).map(({ serviceId }) => serviceId);
    expect(serviceIds).toEqual(expect.arrayContaining(['shop', 'openai', 'anthropic']));
    expect(await listProviders({ search: 'ANTHROP' })).toMatchObject([
      {
        type: 'service_account',
        providerId: 'anthropic',
        docsUrl: 'https://console.anthropic.com/settings/keys',
        fields: [{ id: 'apiToken', secret: true }],
      },
    ]);
    expect(await listProviders({ search: 'shop' })).toMatchObject([
      { type: 'oauth', serviceId: 'shop', authorizationOptions: [{ providerId: 'shop' }] },
    ]);
  });

  it('are refused with invalid values, and connected accounts accept no new secret', async () => {
    const api = await setUp();
    for (const body of [
      { credentials: 'short' },
      { credentials: `${KEY}\ud800` },
      { providerId: 'a/b' },
      { displayName: ' x' },
      { id: '../x' },
      { type: 'oauth' },
    ])
      expect((await api.createCredential(body)).status).toBe(400);
    const { credential } = await storeCredential(api.store.database, api.sealer, {
      ...{ workspaceId: api.workspaceId, name: 'account', provider: 'shop' },
      material: { type: 'oauth', accessToken: 'at-1234567' },
    });
    expect((await api.updateCredential(credential.id, { apiToken: KEY })).status).toBe(400);
    expect(await api.readSecret(credential.id)).toBe('at-1234567');
  });
});
