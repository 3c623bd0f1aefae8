import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { draftOf, createTestApi } from '../../../../test/support/api.ts';
import { hasPostgres, createPostgresDatabase } from '../../../../test/support/postgres.ts';
import { sample } from '../../../../test/support/scale.ts';
import { block, workflow } from '../../../../test/support/workflow.ts';
import { openDatabase } from './database.ts';
import type { DatabaseLocation } from './database.ts';
import { MIGRATIONS } from './migrations.ts';
import { openServiceStore } from './open.ts';
import type { ServiceStore, ServiceStoreOptions } from './open.ts';

const SECRET = 'a secret that is only for the tests of this file';
const GREETING = workflow(
  [block('Reply', 'response', { dataMode: 'json', data: '{"hello": "world"}' })],
  ['Start -> Reply'],
);

function createFolder(): string {
  const dataFolder = mkdtempSync(join(tmpdir(), 'heddle-api-'));
  afterAll(() => rmSync(dataFolder, { recursive: true, force: true }));
  return dataFolder;
}

function openStore(options: ServiceStoreOptions): Promise<ServiceStore> {
  const store = openServiceStore(options);
  afterAll(async () => (await store).close());
  return store;
}

async function openPostgresStores(): Promise<[ServiceStore, ServiceStore]> {
  const options = { postgres: { url: await createPostgresDatabase() }, secret: SECRET };
  // Concurrently: one of them creates the tables.
  return Promise.all([openStore(options), openStore(options)]);
}

async function openFolderStores(): Promise<[ServiceStore, ServiceStore]> {
  const store = await openStore({ data: createFolder() });
  return [store, store];
}

function testTwoApis(openStores: () => Promise<[ServiceStore, ServiceStore]>): void {
  async function openTwoApis() {
    const [firstStore, secondStore] = await openStores();
    const firstApi = await createTestApi({ store: firstStore });
    const secondApi = await createTestApi({ store: secondStore, engine: firstApi.engine });
    return { firstApi, secondApi };
  }

  it('accept the same keys, and refuse a key that either has revoked', async () => {
    const { firstApi, secondApi } = await openTwoApis();
    const { key } = firstApi;
    expect(await secondApi.call('GET', '/api/v2/meta', { key })).toMatchObject({ status: 200 });
    const [ownKey] = (await firstApi.store.keys.list()).filter(({ user_id }) => user_id === firstApi.userId);
    expect(await secondApi.store.keys.revoke(ownKey?.id ?? '')).toBe(true);
    expect(await firstApi.call('GET', '/api/v2/meta', { key })).toMatchObject({ status: 401 });
  });

  it('reserve a run id for one of many concurrent requests', async () => {
    const { firstApi, secondApi } = await openTwoApis();
    const id = await firstApi.deploy(GREETING);
    const { key } = firstApi;
    const options = { key, headers: { 'X-Run-Id': crypto.randomUUID() }, body: {} };
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 === 0 ? firstApi : secondApi).call('POST', `/api/v2/workflows/${id}/execute`, options),
      ),
    );
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array<number>(9).fill(409),
    ]);
    expect([...firstApi.reportedErrors, ...secondApi.reportedErrors]).toEqual([]);
  });

  it('number versions without gaps when both deploy at the same time', async () => {
    const { firstApi, secondApi } = await openTwoApis();
    const id = await firstApi.createDraft(GREETING);
    const { key } = firstApi;
    const responses = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        (index % 2 === 0 ? firstApi : secondApi).call<{ version: number }>(
          'POST',
          `/api/v2/workflows/${id}/deploy`,
          {
            key,
          },
        ),
      ),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array<number>(6).fill(200));
    expect(responses.map(({ data }) => data.version).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6]);
    const versionsResponse = await secondApi.call<{ isActive: boolean }[]>(
      'GET',
      `/api/v2/workflows/${id}/versions`,
      {
        key,
      },
    );
    expect(versionsResponse.data.filter(({ isActive }) => isActive)).toHaveLength(1);
  });

  it('give a block id to one of two workflows that use it at the same time', async () => {
    const { firstApi, secondApi } = await openTwoApis();
    const { key } = firstApi;
    const ids = [await firstApi.createDraft(GREETING), await firstApi.createDraft(GREETING)];
    const body = draftOf(GREETING);
    const put = (api: typeof firstApi, id: string | undefined) =>
      api.call('PUT', `/api/v2/workflows/${id}/state`, { key, body });
    const responses = await Promise.all([put(firstApi, ids[0]), put(secondApi, ids[1])]);
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  });

  it('keep all concurrent edits of one draft, and its variables when a graph without variables replaces it', async () => {
    const { firstApi, secondApi } = await openTwoApis();
    const id = await firstApi.createDraft(GREETING);
    const { key } = firstApi;
    const path = `/api/v2/workflows/${id}`;
    const add = (api: typeof firstApi, name: string) => {
      const params = { type: 'wait', name };
      const operations = [{ operation_type: 'add', block_id: name, params }];
      return api.call('POST', `${path}/operations`, { key, body: { operations } });
    };
    const names = Array.from({ length: 8 }, (_, index) => `W${index}`);
    await Promise.all(names.map((name, index) => add(index % 2 === 0 ? firstApi : secondApi, name)));
    const stateResponse = await firstApi.call<{ blocks: { [id: string]: { name: string } } }>(
      'GET',
      `${path}/state`,
      {
        key,
      },
    );
    const blockNames = Object.values(stateResponse.data.blocks).map(({ name }) => name);
    expect(blockNames).toEqual(expect.arrayContaining(names));
    const { blocks, edges } = stateResponse.data as unknown as { blocks: object; edges: object[] };
    const set = (name: string) => {
      const operations = [{ operation: 'add', name, type: 'string', value: 'x' }];
      return secondApi.call('PATCH', `${path}/variables`, { key, body: { operations } });
    };
    await Promise.all(
      names.flatMap((name) => [
        set(name),
        firstApi.call('PUT', `${path}/state`, { key, body: { blocks, edges } }),
      ]),
    );
    const { data } = await firstApi.call<{ variables: object }>('GET', `${path}/state`, { key });
    expect(Object.keys(data.variables)).toHaveLength(names.length);
  });

  it('list the same workflows in the same order', async () => {
    const { firstApi, secondApi } = await openTwoApis();
    const { key, workspaceId } = firstApi;
    for (const name of ['b', 'a', 'c'])
      await firstApi.call('POST', '/api/v2/workflows', { key, body: { workspaceId, name } });
    const path = `/api/v2/workflows?workspaceId=${workspaceId}&sortBy=name&limit=2`;
    const firstPage = await secondApi.call<{ name: string }[]>('GET', path, { key });
    expect(firstPage.data.map(({ name }) => name)).toEqual(['a', 'b']);
    const { nextCursor } = firstPage.body as { nextCursor: string };
    const secondPage = await firstApi.call<{ name: string }[]>('GET', `${path}&cursor=${nextCursor}`, {
      key,
    });
    expect(secondPage.data.map(({ name }) => name)).toEqual(['c']);
  });
}

const OLDER_SCHEMA_VERSIONS = Object.keys(MIGRATIONS).slice(0, -1);
const CREATED_AT = '2026-01-01T00:00:00.000Z';

/** Creates the tables of an older schema version, with a row in each. */
async function createOlderTables(location: DatabaseLocation, schemaVersion: string): Promise<void> {
  const earlierMigrations = Object.entries(MIGRATIONS).filter(([name]) => name <= schemaVersion);
  const { db } = await openDatabase(location, Object.fromEntries(earlierMigrations));
  const rows: { [table: string]: { [column: string]: string | number } } = {
    users: { id: 'ada', email: 'ada@heddle.test', name: 'Ada', created_at: CREATED_AT },
    workspaces: { id: 'looms', name: 'Looms', personal_keys: 1, created_at: CREATED_AT },
    members: { workspace_id: 'looms', user_id: 'ada', role: 'admin', created_at: CREATED_AT },
    workflows: {
      ...{
        id: 'w',
        workspace_id: 'looms',
        name: 'Weave',
        folder_path: '/',
        position: 0,
        state: '{"blocks":{}}',
      },
      ...{ active_version: 3, created_at: CREATED_AT, updated_at: CREATED_AT },
    },
    workflow_versions: {
      ...{ workflow_id: 'w', version: 3, state: '{}', engine_version: 1, created_at: CREATED_AT },
    },
    graph_ids: { workspace_id: 'looms', id: 'block', workflow_id: 'w' },
    claims: {
      ...{
        run_id: 'mine',
        workflow_id: 'w',
        workspace_id: 'looms',
        trigger: 'api',
        mode: 'async',
        created_at: CREATED_AT,
      },
      ...{ waiting: '{"input":{},"version":3}', ...(schemaVersion >= '0003' && { engine_id: 'mine' }) },
    },
    audit: {
      ...{ id: 'event', workspace_id: 'looms', action: 'workflow.created', resource_type: 'workflow' },
      ...{ resource_id: 'w', created_at: CREATED_AT },
    },
    ...(schemaVersion >= '0004' && { public_runs: { run_id: 'mine', created_at: CREATED_AT } }),
  };
  for (const [table, row] of Object.entries(rows))
    await sql`insert into ${sql.table(table)} (${sql.join(Object.keys(row).map((name) => sql.ref(name)))})
      values (${sql.join(Object.values(row))})`.execute(db);
  await db.destroy();
}

async function expectMigratedRows(store: ServiceStore): Promise<void> {
  const { workflows, audit } = store;
  expect(await workflows.find('w')).toMatchObject({ name: 'Weave', active_version: 3, public_api: 0 });
  expect(await workflows.listVersions('w', 10)).toMatchObject([{ version: 3, engine_version: 1 }]);
  const query = {
    ...{ workspaceId: 'looms', archived: false, limit: 10 },
    sortBy: 'runCount',
    sortOrder: 'desc',
  } as const;
  expect(await workflows.list(query)).toMatchObject([{ id: 'w' }]);
  const event = { action: 'run.cancelled', workspaceId: 'looms', resourceType: 'workflow', resourceId: 'w' };
  await (await audit.prepare(event)).confirm();
  await audit.prepare(event);
  const outcomes = (await audit.listByResource('w')).map(({ action, outcome }) => [action, outcome]);
  expect(outcomes).toHaveLength(3);
  expect(outcomes[0]).toEqual(['workflow.created', null]);
  expect(outcomes).toContainEqual(['run.cancelled', null]);
  expect(outcomes).toContainEqual(['run.cancelled', 'intended']);
}

async function expectMigratedReservations({ reservations }: ServiceStore): Promise<void> {
  const commonFields = { workflowId: 'w', trigger: 'api' } as const;
  const reservation = {
    ...commonFields,
    engineRunId: 'mine',
    runId: 'mine',
    workspaceId: 'looms',
    isQueued: true,
  };
  expect(await reservations.findByRunId('mine', ['looms'])).toMatchObject([reservation]);
  expect((await reservations.findByEngineRunIds(['mine'])).get('mine')).toMatchObject(reservation);
  const start = { input: {}, version: 3 };
  expect(await reservations.queue.list()).toEqual([
    { engineRunId: 'mine', runId: 'mine', workflowId: 'w', workspaceId: 'looms', start },
  ]);
  const createdAt = '2026-01-02T00:00:00.000Z';
  const newReservation = {
    ...commonFields,
    mode: 'sync',
    createdAt,
    engineRunId: 'e1',
    runId: 'mine',
  } as const;
  expect(await reservations.reserve({ ...newReservation, workspaceId: 'looms' })).toBe(false);
  expect(await reservations.reserve({ ...newReservation, workspaceId: 'dyers' })).toBe(true);
  expect(await reservations.findByRunId('mine', ['dyers'])).toMatchObject([{ engineRunId: 'e1' }]);
}

describe.each(OLDER_SCHEMA_VERSIONS)('a store of schema version %s', (schemaVersion) => {
  it('keeps its rows in a data folder', async () => {
    const dataFolder = createFolder();
    await createOlderTables({ file: join(dataFolder, 'api.db') }, schemaVersion);
    const store = await openStore({ data: dataFolder });
    await expectMigratedRows(store);
    await expectMigratedReservations(store);
  });
});

const SAMPLED_SCHEMA_VERSIONS = sample(
  OLDER_SCHEMA_VERSIONS,
  1,
  'older schema versions of the store on PostgreSQL',
);

describe.each(SAMPLED_SCHEMA_VERSIONS)('a store of schema version %s', (schemaVersion) => {
  it.skipIf(!hasPostgres)('keeps its rows in PostgreSQL', async () => {
    const url = await createPostgresDatabase();
    await createOlderTables({ url }, schemaVersion);
    const store = await openStore({ postgres: { url }, secret: SECRET });
    await expectMigratedRows(store);
    await expectMigratedReservations(store);
  });
});

describe('two APIs on the store of a data folder', () => {
  testTwoApis(openFolderStores);
});

describe.skipIf(!hasPostgres)('two APIs with separate stores on one PostgreSQL database', () => {
  testTwoApis(openPostgresStores);
});

describe('a store', () => {
  it('in a folder keeps its data and secret when it is reopened', async () => {
    const dataFolder = createFolder();
    const firstStore = await openServiceStore({ data: dataFolder });
    const userId = await firstStore.workspaces.createUser({ email: 'a@heddle.test', name: 'Ada' });
    const { key } = await firstStore.keys.create({ userId }, 'kept');
    await firstStore.close();
    const secondStore = await openStore({ data: dataFolder });
    expect(await secondStore.keys.find(key, Date.now())).toMatchObject({ user_id: userId });
    expect(statSync(join(dataFolder, 'api-secret')).mode & 0o777).toBe(0o600);
  });

  it('in PostgreSQL needs a secret, and every secret must be long enough', async () => {
    await expect(openServiceStore({ postgres: { url: 'postgresql://nowhere' } })).rejects.toThrow('secret');
    await expect(openServiceStore({ secret: 'short' })).rejects.toThrow('at least 32');
  });
});
