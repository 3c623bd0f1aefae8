import { createEngine } from '@heddle/engine';
import {
  parseKeys,
  openServiceStore,
  removeStoredSecret,
  listSecrets,
  missingKeys,
  resealStoredSecrets,
  secretEnvironments,
  Sealer,
  setStoredSecret,
} from '@heddle/service';
import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorIn, tenantOptionsOf, createTestApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';
import { block, workflow } from '../support/workflow.ts';

const KEYS = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
const [OLD_KEY, NEW_KEY] = KEYS as [string, string];
const VALUE = 'a very secret value';

/** A workflow that prints and returns the secret TOKEN of its workspace. */
const READER_WORKFLOW = workflow(
  [
    block('Read', 'function', {
      code: 'console.log({{TOKEN}}); return { length: {{TOKEN}}.length, value: {{TOKEN}} };',
    }),
  ],
  ['Start -> Read'],
);

interface Secret {
  name: string;
  scope: string;
  description: string | null;
  role: string;
  createdAt: string;
  updatedAt: string;
}

interface SecretsApi extends TestApi {
  sealer: Sealer;
  database: Kysely<unknown>;
  /** Adds another member of the workspace with this role. Returns the id and an API key of the member. */
  createMember(role: 'read' | 'write' | 'admin'): Promise<{ userId: string; key: string }>;
  put(name: string, body?: object, key?: string): Promise<{ status: number; body: unknown; data: Secret }>;
  listNames(query?: object, key?: string): Promise<string[]>;
}

async function setUp(postgresUrl: string | undefined, keysText = OLD_KEY): Promise<SecretsApi> {
  const store = await openServiceStore(
    postgresUrl === undefined ? {} : { postgres: { url: postgresUrl }, secret: 'x'.repeat(32) },
  );
  const { database } = store;
  const sealer = new Sealer(parseKeys(keysText));
  const engine = await createEngine({
    ...tenantOptionsOf(store),
    environments: secretEnvironments(database, sealer),
  });
  let time = Date.parse('2026-01-01T00:00:00Z');
  const api = await createTestApi({ engine, store, sealer, now: () => time });
  return {
    ...api,
    sealer,
    database,
    createMember: async (role) => {
      const userId = await store.workspaces.createUser({ email: `${crypto.randomUUID()}@x.test`, name: 'B' });
      await store.workspaces.setMember(api.workspaceId, userId, role);
      return { userId, key: (await store.keys.create({ userId }, 'member')).key };
    },
    put: (name, body = {}, key = api.key) => {
      time += 1000;
      return api.call<Secret>('PUT', `/api/v2/secrets/${encodeURIComponent(name)}`, {
        body: { workspaceId: api.workspaceId, scope: 'workspace', value: VALUE, ...body },
        key,
      });
    },
    listNames: async (query = {}, key = api.key) => {
      const search = new URLSearchParams({ workspaceId: api.workspaceId, ...query }).toString();
      const { data } = await api.call<Secret[]>('GET', `/api/v2/secrets?${search}`, { key });
      return data.map(({ name }) => name);
    },
  };
}

/** Returns the whole table of secrets as JSON. */
async function readSecretsTable(database: Kysely<unknown>): Promise<string> {
  return JSON.stringify((await sql`select * from secrets`.execute(database)).rows);
}

const STORE_NAMES = storesToTest('secrets');

it('a server without an encryption key refuses secrets and credentials with the reason', async () => {
  const sealer = new Sealer(missingKeys('Set VARIABLE.'));
  const { workspaceId, call, reportedErrors } = await createTestApi({ sealer });
  const secret = { workspaceId, scope: 'workspace', value: VALUE };
  const credential = {
    ...{ workspaceId, type: 'service_account', providerId: 'shop' },
    credentials: JSON.stringify({ apiToken: VALUE }),
  };
  for (const response of [
    await call('PUT', '/api/v2/secrets/TOKEN', { body: secret }),
    await call('POST', '/api/v2/credentials', { body: credential }),
  ]) {
    expect(response.status).toBe(503);
    expect(errorIn(response.body).message).toBe(
      'The server has no key to encrypt secrets with, so it cannot store them',
    );
  }
  expect(reportedErrors).toEqual([]);
});

describe.each(STORE_NAMES)('secrets on %s', (storeName) => {
  let url: string | undefined;
  beforeAll(async () => {
    url = storeName === 'postgres' ? await createPostgresDatabase() : undefined;
  });

  it('are created, replaced, listed and deleted, and no response contains a value', async () => {
    const api = await setUp(url);
    const createResponse = await api.put('TOKEN', { description: 'of the shop' });
    expect(createResponse.status).toBe(201);
    expect(createResponse.data).toEqual({
      name: 'TOKEN',
      scope: 'workspace',
      description: 'of the shop',
      role: 'admin',
      createdAt: '2026-01-01T00:00:01.000Z',
      updatedAt: '2026-01-01T00:00:01.000Z',
    });
    const replaceResponse = await api.put('TOKEN', { value: 'another value' });
    expect(replaceResponse.status).toBe(200);
    expect(replaceResponse.data).toEqual({ ...createResponse.data, updatedAt: '2026-01-01T00:00:02.000Z' });
    const listResponse = await api.call('GET', `/api/v2/secrets?workspaceId=${api.workspaceId}`);
    expect(listResponse.body).toEqual({ data: [replaceResponse.data], nextCursor: null });
    expect(JSON.stringify([createResponse.body, replaceResponse.body, listResponse.body])).not.toContain(
      'value',
    );
    expect(await readSecretsTable(api.database)).not.toContain('another value');
    const path = `/api/v2/secrets/TOKEN?workspaceId=${api.workspaceId}&scope=workspace`;
    const deleteResponse = await api.call('DELETE', path);
    expect(deleteResponse.data).toEqual({ name: 'TOKEN', scope: 'workspace', deleted: true });
    expect((await api.call('DELETE', path)).status).toBe(404);
    expect(await api.listNames()).toEqual([]);
  });

  it('can be read by runs of their workspace only, and are redacted in all records of a run', async () => {
    const api = await setUp(url);
    const workflowId = await api.deploy(READER_WORKFLOW);
    const path = `/api/v2/workflows/${workflowId}/execute`;
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Other', api.userId);
    await api.put('TOKEN', { workspaceId: otherWorkspaceId, value: 'the secret of the other workspace' });
    await api.put('TOKEN', { scope: 'personal', value: 'the secret of a user' });
    const responseBefore = await api.call('POST', path, { body: {} });
    expect(JSON.stringify(responseBefore.body)).not.toContain('"length"');
    await api.put('TOKEN');
    const responseAfter = await api.call<{ runId: string }>('POST', path, { body: {} });
    expect(JSON.stringify(responseAfter.body)).toContain(`"length":${VALUE.length}`);
    expect(JSON.stringify(responseAfter.body)).not.toContain(VALUE);
    const logs = JSON.stringify(await api.engine.getLogs(responseAfter.data.runId));
    expect(logs).toContain('«redacted:TOKEN»');
    expect(logs).not.toContain(VALUE);
  });

  it('with personal scope can be read and changed only by their owner', async () => {
    const api = await setUp(url);
    const member = await api.createMember('read');
    await api.put('MINE', { scope: 'personal' });
    await api.put('SHARED');
    expect((await api.put('THEIRS', { scope: 'personal' }, member.key)).status).toBe(201);
    expect(await api.listNames()).toEqual(['MINE', 'SHARED']);
    expect(await api.listNames({}, member.key)).toEqual(['SHARED', 'THEIRS']);
    expect(await api.listNames({ scope: 'personal' }, member.key)).toEqual(['THEIRS']);
    expect(await api.listNames({ scope: 'workspace' }, member.key)).toEqual(['SHARED']);
    const path = `/api/v2/secrets/MINE?workspaceId=${api.workspaceId}&scope=personal`;
    expect((await api.call('DELETE', path, { key: member.key })).status).toBe(404);
  });

  it('of a workspace can be changed only by its admins, and are visible to other members', async () => {
    const api = await setUp(url);
    await api.put('SHARED');
    for (const role of ['read', 'write'] as const) {
      const { key } = await api.createMember(role);
      const response = await api.put('SHARED', { value: 'mine now' }, key);
      expect(response.status).toBe(403);
      expect(errorIn(response.body).details?.code).toBe('SECRET_ADMIN_ACCESS_REQUIRED');
      const path = `/api/v2/secrets/SHARED?workspaceId=${api.workspaceId}&scope=workspace`;
      expect((await api.call('DELETE', path, { key })).status).toBe(403);
      const listResponse = await api.call<Secret[]>('GET', `/api/v2/secrets?workspaceId=${api.workspaceId}`, {
        key,
      });
      expect(listResponse.data).toMatchObject([{ name: 'SHARED', role: 'member' }]);
    }
    const { key } = await api.createMember('admin');
    expect((await api.put('SHARED', {}, key)).status).toBe(200);
  });

  it('are hidden from strangers and refused to workspace keys', async () => {
    const api = await setUp(url);
    await api.put('SHARED');
    const userId = await api.store.workspaces.createUser({
      email: `${crypto.randomUUID()}@x.test`,
      name: 'C',
    });
    const strangerKey = await api.store.keys.create({ userId }, 'stranger');
    expect((await api.put('SHARED', {}, strangerKey.key)).status).toBe(404);
    const { key } = await api.store.keys.create({ workspaceId: api.workspaceId }, 'workspace');
    const response = await api.put('SHARED', {}, key);
    expect(errorIn(response.body).details?.code).toBe('WORKSPACE_KEY_OPERATION_NOT_PERMITTED');
    expect((await api.call('GET', '/api/v2/secrets', { key: strangerKey.key })).status).toBe(400);
  });

  it.each(['{{X}}', ' X', 'a\nb', 'x'.repeat(256)])('refuse the name %j', async (invalidName) => {
    const api = await setUp(url);
    expect((await api.put(invalidName)).status).toBe(400);
  });

  it('refuse unknown fields, and values that are empty, too long or not Unicode', async () => {
    const api = await setUp(url);
    for (const body of [{ value: '' }, { value: 'x'.repeat(65_537) }, { value: '\ud800' }, { more: 1 }])
      expect((await api.put('TOKEN', body)).status).toBe(400);
    expect((await api.put('TOKEN', { value: 'x'.repeat(65_536) })).status).toBe(201);
  });

  it('are listed in pages, sorted and searched without wildcards', async () => {
    const api = await setUp(url);
    for (const name of ['b_1', 'a%1', 'B_2', 'c']) await api.put(name);
    await api.put('a%1', { scope: 'personal' });
    const sortedNames = await api.listNames({ sortBy: 'createdAt' });
    expect(sortedNames).toEqual(['b_1', 'a%1', 'B_2', 'c', 'a%1']);
    for (const [sortBy, sortOrder] of [
      ['name', 'asc'],
      ['name', 'desc'],
      ['createdAt', 'desc'],
    ] as const) {
      const allNames = await api.listNames({ sortBy, sortOrder });
      const listedNames: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const query = {
          workspaceId: api.workspaceId,
          sortBy,
          sortOrder,
          limit: '2',
          ...(cursor && { cursor }),
        };
        const path = `/api/v2/secrets?${new URLSearchParams(query).toString()}`;
        const body: { data: Secret[]; nextCursor: string | null } = (await api.call('GET', path))
          .body as never;
        listedNames.push(...body.data.map((secret) => secret.name));
        cursor = body.nextCursor;
      }
      expect(listedNames).toEqual(allNames);
    }
    expect((await api.listNames({ search: 'B_' })).sort()).toEqual(['B_2', 'b_1']);
    expect(await api.listNames({ search: '%' })).toEqual(['a%1', 'a%1']);
  });

  it('record who created, changed and deleted them, without values, and do not record refusals', async () => {
    const api = await setUp(url);
    const uniqueName = `TOKEN_${crypto.randomUUID()}`;
    const { key } = await api.createMember('read');
    await api.put(uniqueName, {}, key);
    await api.put(uniqueName);
    await api.put(uniqueName);
    await api.call('DELETE', `/api/v2/secrets/${uniqueName}?workspaceId=${api.workspaceId}&scope=workspace`);
    await api.call('DELETE', `/api/v2/secrets/${uniqueName}?workspaceId=${api.workspaceId}&scope=workspace`);
    const events = await api.store.audit.listByResource(uniqueName);
    expect(events.map(({ action }) => action).sort()).toEqual([
      'SECRET_CREATED',
      'SECRET_DELETED',
      'SECRET_UPDATED',
    ]);
    expect(events.every((event) => event.user_id === api.userId)).toBe(true);
    expect(JSON.stringify(events)).not.toContain(VALUE);
  });

  it('that were copied to another row of the database are not decrypted', async () => {
    const api = await setUp(url);
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Other', api.userId);
    await api.put('TOKEN');
    await sql`insert into secrets select ${otherWorkspaceId}, user_id, name, description, key_id, sealed, created_at, updated_at
      from secrets where workspace_id = ${api.workspaceId}`.execute(api.database);
    const { values } = secretEnvironments(api.database, api.sealer);
    expect(await values(api.workspaceId, ['TOKEN'])).toEqual({ TOKEN: VALUE });
    await expect(async () => values(otherWorkspaceId, ['TOKEN'])).rejects.toMatchObject({
      code: 'NOT_AUTHENTIC',
    });
  });

  it('can be read during a key rotation, and an interrupted rotation continues', async () => {
    const api = await setUp(storeName === 'postgres' ? await createPostgresDatabase() : undefined);
    const names = Array.from({ length: 250 }, (_, index) => `TOKEN_${index}`);
    for (const name of names)
      await setStoredSecret(api.database, api.sealer, {
        workspaceId: api.workspaceId,
        name,
        value: `value of ${name}`,
      });
    const sealerWithBothKeys = new Sealer(parseKeys(`${NEW_KEY},${OLD_KEY}`));
    // The state after an interrupted rotation: some values have the new key.
    for (const name of names.slice(0, 50))
      await setStoredSecret(api.database, sealerWithBothKeys, {
        workspaceId: api.workspaceId,
        name,
        value: `value of ${name}`,
      });
    const { values } = secretEnvironments(api.database, sealerWithBothKeys);
    const valuesBefore = await values(api.workspaceId, names);
    expect(await resealStoredSecrets(api.database, sealerWithBothKeys, undefined)).toEqual({
      resealed: 200,
      keyId: sealerWithBothKeys.currentKeyId(),
    });
    const newSealer = new Sealer(parseKeys(NEW_KEY));
    expect(await secretEnvironments(api.database, newSealer).values(api.workspaceId, names)).toEqual(
      valuesBefore,
    );
    expect(await resealStoredSecrets(api.database, sealerWithBothKeys, undefined)).toMatchObject({
      resealed: 0,
    });
  });

  it('of a workspace can be managed without the HTTP API', async () => {
    const { database, sealer, workspaceId } = await setUp(url);
    const setSecret = (name: string, value: string) =>
      setStoredSecret(database, sealer, { workspaceId, name, value, description: 'x' });
    expect(await setSecret('ONE', VALUE)).toBe(true);
    expect(await setSecret('ONE', VALUE)).toBe(false);
    await expect(setSecret('{', VALUE)).rejects.toThrow('The name is invalid');
    await expect(setSecret('ONE', '')).rejects.toThrow('The value is invalid');
    expect(await listSecrets(database, workspaceId)).toMatchObject([{ name: 'ONE', description: 'x' }]);
    expect(await removeStoredSecret(database, { workspaceId, name: 'ONE' })).toBe(true);
    expect(await removeStoredSecret(database, { workspaceId, name: 'ONE' })).toBe(false);
  });
});
