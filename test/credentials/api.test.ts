import { createEngine } from '@heddle/engine';
import { keysInText, openServiceStore, Sealer } from '@heddle/service';
import { storeCredential, storedCredentials } from '@heddle/service/credentials';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorIn, tenantIsolation, testApi } from '../support/api.ts';
import { postgresDatabase, storesToTest } from '../support/postgres.ts';

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
    url = database === 'postgres' ? await postgresDatabase() : undefined;
  });

  async function setUp() {
    const secret = 'x'.repeat(32);
    const store = await openServiceStore(url === undefined ? {} : { postgres: { url }, secret });
    const sealer = new Sealer(keysInText(Buffer.alloc(32, 1).toString('base64')));
    const engine = await createEngine(tenantIsolation(store));
    let nowMs = Date.parse('2026-01-01T00:00:00Z');
    const api = await testApi({ engine, store, sealer, now: () => nowMs });
    const { workspaceId } = api;
    const { find } = storedCredentials(store.database, sealer);
    const pathOf = (id: string): string => `/api/v2/credentials/${id}?workspaceId=${workspaceId}`;
    return {
      ...api,
      sealer,
      pathOf,
      readSecret: async (id: string) => (await find(workspaceId, { id }))?.secret,
      createMember: async (role: 'read' | 'write' | 'admin') => {
        const userId = await store.workspaces.createUser({
          email: `${crypto.randomUUID()}@x.test`,
          name: 'B',
        });
        await store.workspaces.setMember(workspaceId, userId, role);
        return (await store.keys.create({ userId }, 'member')).key;
      },
      add: (body: object = {}, key = api.key) => {
        nowMs += 1000;
        const defaults = { workspaceId, type: 'service_account', providerId: 'shop', credentials: KEY_JSON };
        return api.call<Credential>('POST', '/api/v2/credentials', { body: { ...defaults, ...body }, key });
      },
      change: (id: string, body: object, key = api.key) =>
        api.call<Credential>('PATCH', pathOf(id), { body, key }),
      listNames: async (query: object = {}, key = api.key) => {
        const search = new URLSearchParams({ workspaceId, ...query }).toString();
        const { data } = await api.call<Credential[]>('GET', `/api/v2/credentials?${search}`, { key });
        return data.map(({ displayName }) => displayName);
      },
    };
  }

  it('are stored, renamed, replaced, listed and deleted, and no response has a secret', async () => {
    const api = await setUp();
    const created = await api.add({ description: 'of the shop' });
    expect(created.status).toBe(201);
    expect(created.data).toEqual({
      id: created.data.id,
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
    const { id } = created.data;
    expect(await api.readSecret(id)).toBe(KEY);
    const renamed = await api.change(id, { displayName: 'Orders', description: null });
    expect(renamed.data).toMatchObject({ displayName: 'Orders', description: null });
    expect(await api.readSecret(id)).toBe(KEY);
    const replaced = await api.change(id, { apiToken: 'sk-another-key' });
    expect(await api.readSecret(id)).toBe('sk-another-key');
    const listed = await api.call('GET', `/api/v2/credentials?workspaceId=${api.workspaceId}`);
    const deleted = await api.call('DELETE', api.pathOf(id));
    expect(deleted.data).toEqual({ id, deleted: true });
    expect(await api.readSecret(id)).toBeUndefined();
    const { rows } = await sql`select * from audit where resource_id = ${id} order by created_at`.execute(
      api.store.database,
    );
    expect(new Set((rows as { action: string }[]).map(({ action }) => action))).toEqual(
      new Set(['CREDENTIAL_CREATED', 'CREDENTIAL_UPDATED', 'CREDENTIAL_DELETED']),
    );
    const bodies = [created, renamed, replaced, listed, deleted].map(({ body }) => body);
    expect(JSON.stringify([bodies, rows])).not.toMatch(/sk-(?:the|another)/);
  });

  it('can be the JSON of a service account with a private key', async () => {
    const api = await setUp();
    const account = '{"private_key": "of the robot"}';
    const { data } = await api.add({ credentials: account });
    expect(await api.readSecret(data.id)).toBe(account);
    expect((await api.change(data.id, { apiToken: KEY })).status).toBe(400);
    expect((await api.change(data.id, { serviceAccountJson: '{"private_key": 1}' })).status).toBe(200);
    expect(await api.readSecret(data.id)).toBe('{"private_key": 1}');
  });

  it('cannot have the name or the id of another credential', async () => {
    const api = await setUp();
    await api.add({ id: 'first', displayName: 'First' });
    await api.add({ id: 'second', displayName: 'Second' });
    expect((await api.add({ id: 'first', displayName: 'Other' })).status).toBe(409);
    expect((await api.add({ displayName: 'First' })).status).toBe(409);
    expect((await api.change('second', { displayName: 'First' })).status).toBe(409);
    expect(await api.readSecret('first')).toBe(KEY);
  });

  it('can be changed by their creators and by admins, and are visible to other members', async () => {
    const api = await setUp();
    const [reader, writer, other, admin] = [
      await api.createMember('read'),
      await api.createMember('write'),
      await api.createMember('write'),
      await api.createMember('admin'),
    ];
    expect((await api.add({}, reader)).status).toBe(403);
    const { data } = await api.add({ displayName: 'Mine' }, writer);
    for (const key of [reader, other]) {
      for (const response of [
        await api.change(data.id, { displayName: 'Theirs' }, key),
        await api.call('DELETE', api.pathOf(data.id), { key }),
      ]) {
        expect(response.status).toBe(403);
        expect(errorIn(response.body).details?.code).toBe('CREDENTIAL_ADMIN_ACCESS_REQUIRED');
      }
      const list = await api.call<Credential[]>('GET', `/api/v2/credentials?workspaceId=${api.workspaceId}`, {
        key,
      });
      expect(list.data).toMatchObject([{ displayName: 'Mine', role: 'member' }]);
    }
    expect((await api.change(data.id, { displayName: 'Still mine' }, writer)).data.role).toBe('admin');
    expect((await api.call('DELETE', api.pathOf(data.id), { key: admin })).status).toBe(200);
  });

  it('of other workspaces are not found, and workspace keys can only list credentials', async () => {
    const api = await setUp();
    const other = await api.store.workspaces.createWorkspace('Other', api.userId);
    const { data } = await api.add();
    const otherPath = `/api/v2/credentials/${data.id}?workspaceId=${other}`;
    expect((await api.call('DELETE', otherPath)).status).toBe(404);
    expect((await api.call('PATCH', otherPath, { body: { displayName: 'x' } })).status).toBe(404);
    expect(await api.listNames({ workspaceId: other })).toEqual([]);
    const { key } = await api.store.keys.create({ workspaceId: api.workspaceId }, 'workspace');
    expect(await api.listNames({}, key)).toEqual(['shop']);
    const refused = await api.add({ displayName: 'x' }, key);
    expect(errorIn(refused.body).details?.code).toBe('WORKSPACE_KEY_OPERATION_NOT_PERMITTED');
  });

  it('are listed in pages, and filtered by type, provider and search text', async () => {
    const api = await setUp();
    for (const displayName of ['b_1', 'a%1', 'B_2', 'c']) await api.add({ displayName });
    await api.add({ displayName: 'd', providerId: 'other' });
    await storeCredential(api.store.database, api.sealer, {
      ...{ workspaceId: api.workspaceId, name: 'account', provider: 'shop' },
      material: { type: 'oauth', accessToken: 'at-1234567' },
    });
    expect(await api.listNames({ type: 'oauth' })).toEqual(['account']);
    expect((await api.listNames({ type: 'service_account' })).length).toBe(5);
    expect(await api.listNames({ providerId: 'other' })).toEqual(['d']);
    expect(await api.listNames({ search: '%' })).toEqual(['a%1']);
    const all = await api.listNames();
    expect(all).toEqual(['account', 'd', 'c', 'B_2', 'a%1', 'b_1']);
    expect((await api.listNames({ sortBy: 'displayName', sortOrder: 'asc' })).toSorted()).toEqual(
      all.toSorted(),
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
      pagedNames.push(...body.data.map((each) => each.displayName));
      cursor = body.nextCursor;
    }
    expect(pagedNames).toEqual(all);
  });

  it('have a list of providers: model providers, and providers with an OAuth client', async () => {
    const api = await setUp();
    const list = async (search: object) => {
      const query = new URLSearchParams({ workspaceId: api.workspaceId, ...search }).toString();
      return (await api.call<{ serviceId: string }[]>('GET', `/api/v2/credentials/providers?${query}`)).data;
    };
    const serviceIds = (await list({})).map(({ serviceId }) => serviceId);
    expect(serviceIds).toEqual(expect.arrayContaining(['shop', 'openai', 'anthropic']));
    expect(await list({ search: 'ANTHROP' })).toMatchObject([
      {
        type: 'service_account',
        providerId: 'anthropic',
        docsUrl: 'https://console.anthropic.com/settings/keys',
        fields: [{ id: 'apiToken', secret: true }],
      },
    ]);
    expect(await list({ search: 'shop' })).toMatchObject([
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
      expect((await api.add(body)).status).toBe(400);
    const { credential } = await storeCredential(api.store.database, api.sealer, {
      ...{ workspaceId: api.workspaceId, name: 'account', provider: 'shop' },
      material: { type: 'oauth', accessToken: 'at-1234567' },
    });
    expect((await api.change(credential.id, { apiToken: KEY })).status).toBe(400);
    expect(await api.readSecret(credential.id)).toBe('at-1234567');
  });
});
