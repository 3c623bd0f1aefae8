import type { JsonObject } from '@heddle/core';
import { openServiceStore } from '@heddle/service';
import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorIn, testApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import { postgresDatabase, storesToTest } from '../support/postgres.ts';

interface Item {
  id: string;
  name: string;
  description: string | null;
  folderPath: string;
  blocks: { id: string; type: string }[];
}

interface WorkflowsApi extends TestApi {
  database: Kysely<unknown>;
  createWorkspace(): Promise<string>;
  createWorkflow(workspaceId: string, name: string, folderPath?: string): Promise<Item>;
  createFolder(workspaceId: string, path: string): Promise<number>;
  listFolders(workspaceId: string, query?: string): Promise<string[]>;
  listWorkflows(workspaceId: string, query?: string): Promise<string[]>;
  listActions(resourceId: string): Promise<string[]>;
}

const WORKFLOWS = '/api/v2/workflows';
const FOLDERS = `${WORKFLOWS}/folders`;

async function setUp(postgres: string | undefined): Promise<WorkflowsApi> {
  const store = await openServiceStore(
    postgres === undefined ? {} : { postgres: { url: postgres }, secret: 'x'.repeat(32) },
  );
  const api = await testApi({ store });
  const { call } = api;
  return {
    ...api,
    database: store.database,
    createWorkspace: () => store.workspaces.createWorkspace('Other', api.userId),
    async createWorkflow(workspaceId, name, folderPath) {
      const { status, data } = await call<Item>('POST', WORKFLOWS, {
        body: { workspaceId, name, folderPath },
      });
      expect(status).toBe(201);
      return data;
    },
    createFolder: async (workspaceId, path) =>
      (await call('POST', FOLDERS, { body: { workspaceId, path } })).status,
    async listFolders(workspaceId, query = '') {
      const { data } = await call<{ path: string }[]>('GET', `${FOLDERS}?workspaceId=${workspaceId}${query}`);
      return data.map(({ path }) => path);
    },
    async listWorkflows(workspaceId, query = '') {
      const { data } = await call<Item[]>('GET', `${WORKFLOWS}?workspaceId=${workspaceId}${query}`);
      return data.map(({ name }) => name);
    },
    listActions: async (id) => (await store.audit.listByResource(id)).map(({ action }) => action),
  };
}

const STORES = storesToTest('workflows');

describe.each(STORES)('the API of workflows on %s', (storeName) => {
  let api: WorkflowsApi;
  let workspaceId: string;
  beforeAll(async () => {
    api = await setUp(storeName === 'postgres' ? await postgresDatabase() : undefined);
    workspaceId = api.workspaceId;
  });
  const remove = (path: string, query = '') =>
    api.call('DELETE', `${FOLDERS}?workspaceId=${workspaceId}&path=${encodeURIComponent(path)}${query}`);

  it('creates folders and workflows in them, and lists both', async () => {
    expect(await api.createFolder(workspaceId, 'Team')).toBe(201);
    expect(await api.createFolder(workspaceId, '/Team/50%25')).toBe(201);
    expect(await api.createFolder(workspaceId, '/Team/a_b')).toBe(201);
    expect(await api.listFolders(workspaceId, '&parentPath=/Team')).toEqual(['/Team/50%25', '/Team/a_b']);
    expect(await api.listFolders(workspaceId, '&search=A_&sortOrder=desc')).toEqual(['/Team/a_b']);
    expect(await api.listFolders(workspaceId, '&parentPath=/nowhere')).toEqual([]);
    const created = await api.createWorkflow(workspaceId, 'In Team', 'Team');
    expect(created).toMatchObject({ folderPath: '/Team', blocks: [{ type: 'start_trigger' }] });
    expect(await api.listWorkflows(workspaceId, '&folderPath=/Team')).toEqual(['In Team']);
    expect(await api.listActions('/Team')).toEqual(['FOLDER_CREATED']);
    expect(await api.listActions(created.id)).toEqual(['WORKFLOW_CREATED']);
  });

  it.each([
    [409, '/Team'],
    [404, '/gone/child'],
    [400, '/'],
    [400, '/a b'],
    [400, '/..'],
    [400, '/a%2fb'],
  ])('answers %i to a new folder %j', async (status, path) => {
    await api.createFolder(workspaceId, '/Team');
    expect(await api.createFolder(workspaceId, path)).toBe(status);
  });

  it('answers 404 to a workflow in an unknown folder, 409 to a taken name, 400 to an undeclared field', async () => {
    const create = async (body: object) =>
      (await api.call('POST', WORKFLOWS, { body: { workspaceId, ...body } })).status;
    expect(await create({ name: 'X', folderPath: '/gone' })).toBe(404);
    await api.createWorkflow(workspaceId, 'Taken');
    expect(await create({ name: 'Taken' })).toBe(409);
    expect(await create({ name: 'Y', more: 1 })).toBe(400);
    expect(await create({ name: ' ' })).toBe(400);
  });

  it('moves a folder with everything in it', async () => {
    const otherId = await api.createWorkspace();
    for (const path of ['/A', '/A/B', '/AB', '/C']) await api.createFolder(otherId, path);
    const deep = await api.createWorkflow(otherId, 'deep', '/A/B');
    await api.createWorkflow(otherId, 'next', '/AB');
    const move = (path: string, destinationPath: string) =>
      api.call<{ path: string }>('PATCH', FOLDERS, { body: { workspaceId: otherId, path, destinationPath } });
    expect((await move('/A', '/A')).status).toBe(400);
    expect((await move('/A', '/A/B/C')).status).toBe(409);
    expect((await move('/A', '/AB')).status).toBe(409);
    expect((await move('/A', '/gone/A')).status).toBe(404);
    expect((await move('/gone', '/D')).status).toBe(404);
    expect((await move('/A', '/C/A%20B')).data).toMatchObject({
      path: '/C/A%20B',
      name: 'A B',
      parentPath: '/C',
    });
    expect(await api.listFolders(otherId)).toEqual(['/C/A%20B', '/AB', '/C/A%20B/B', '/C']);
    const { data } = await api.call<Item>('GET', `${WORKFLOWS}/${deep.id}`);
    expect(data.folderPath).toBe('/C/A%20B/B');
    expect(await api.listWorkflows(otherId, '&folderPath=/AB')).toEqual(['next']);
  });

  it('deletes an empty folder, or a folder with everything in it; restored workflows are in the root', async () => {
    await api.createFolder(workspaceId, '/Old');
    await api.createFolder(workspaceId, '/Old/Sub');
    const archived = await api.createWorkflow(workspaceId, 'Kept', '/Old/Sub');
    expect((await remove('/Old')).status).toBe(409);
    expect((await remove('/Old', '&recursive=TRUE')).status).toBe(400);
    expect((await remove('/Old', '&recursive=yes')).data).toEqual({
      path: '/Old',
      deleted: true,
      deletedItems: { folders: 2, workflows: 1 },
    });
    expect((await remove('/Old', '&recursive=yes')).status).toBe(404);
    expect(await api.listWorkflows(workspaceId, '&scope=archived&folderPath=/Old/Sub')).toEqual([]);
    expect(await api.listWorkflows(workspaceId, '&scope=archived&search=kept')).toEqual(['Kept']);
    const restored = await api.call<Item>('POST', `${WORKFLOWS}/${archived.id}/restore`);
    expect(restored.data).toMatchObject({ id: archived.id, folderPath: '/' });
    expect((await api.call('POST', `${WORKFLOWS}/${archived.id}/restore`)).status).toBe(409);
  });

  it('answers 423 to every change in a locked folder', async () => {
    await api.createFolder(workspaceId, '/Locked');
    await api.createFolder(workspaceId, '/Locked/In');
    const { id } = await api.createWorkflow(workspaceId, 'held', '/Locked/In');
    await sql`update workflow_folders set locked = 1 where path = '/Locked'`.execute(api.database);
    const variables = { operations: [{ operation: 'delete', name: 'x' }] };
    const edit = { operations: [{ operation_type: 'delete', block_id: 'x' }] };
    const calls: [string, string, object?][] = [
      ['POST', FOLDERS, { workspaceId, path: '/Locked/New' }],
      ['PATCH', FOLDERS, { workspaceId, path: '/Locked/In', destinationPath: '/Free' }],
      ['DELETE', `${FOLDERS}?workspaceId=${workspaceId}&path=/Locked/In&recursive=1`],
      ['POST', WORKFLOWS, { workspaceId, name: 'n', folderPath: '/Locked' }],
      ['PATCH', `${WORKFLOWS}/${id}`, { name: 'n' }],
      ['DELETE', `${WORKFLOWS}/${id}`],
      ['POST', `${WORKFLOWS}/${id}/duplicate`, {}],
      ['PATCH', `${WORKFLOWS}/${id}/variables`, variables],
      ['POST', `${WORKFLOWS}/${id}/operations`, edit],
    ];
    for (const [method, path, body] of calls) {
      const response = await api.call(method, path, body ? { body } : {});
      expect([method, path, response.status]).toEqual([method, path, 423]);
      expect(errorIn(response.body)).toMatchObject({ code: 'LOCKED', details: { lock: 'folder' } });
    }
  });

  it('changes name, description and folder', async () => {
    await api.createFolder(workspaceId, '/P');
    const { id } = await api.createWorkflow(workspaceId, 'before');
    await api.createWorkflow(workspaceId, 'other', '/P');
    const patch = (body: object) => api.call<Item>('PATCH', `${WORKFLOWS}/${id}`, { body });
    expect((await patch({ description: 'text', folderPath: 'P' })).data).toMatchObject({
      description: 'text',
      folderPath: '/P',
      name: 'before',
    });
    expect((await patch({ description: null })).data).toMatchObject({ description: null, folderPath: '/P' });
    expect((await patch({ name: 'other' })).status).toBe(409);
    const empty = await patch({});
    expect(empty.status).toBe(400);
    expect(JSON.stringify(empty.body)).toContain(
      'At least one of name, description, or folderPath is required',
    );
    expect((await patch({ folderPath: '/gone' })).status).toBe(404);
    expect(await api.listActions(id)).toEqual(['WORKFLOW_CREATED', 'WORKFLOW_UPDATED', 'WORKFLOW_UPDATED']);
  });

  it('archives and restores workflows; a restored name that is in use gets a number', async () => {
    const { id } = await api.createWorkflow(workspaceId, 'Phoenix');
    expect((await api.call('DELETE', `${WORKFLOWS}/${id}`)).data).toEqual({
      id,
      deleted: true,
      archived: true,
    });
    expect((await api.call('DELETE', `${WORKFLOWS}/${id}`)).status).toBe(404);
    expect((await api.call('PATCH', `${WORKFLOWS}/${id}`, { body: { name: 'x' } })).status).toBe(404);
    await api.createWorkflow(workspaceId, 'Phoenix');
    const restored = await api.call<Item>('POST', `${WORKFLOWS}/${id}/restore`, { body: {} });
    expect(restored.data.name).toBe('Phoenix (2)');
    expect(await api.listActions(id)).toEqual(['WORKFLOW_CREATED', 'WORKFLOW_ARCHIVED', 'WORKFLOW_RESTORED']);
  });

  it('duplicates the draft with new ids', async () => {
    const source = await api.createWorkflow(workspaceId, 'Original');
    const copy = await api.call<Item>('POST', `${WORKFLOWS}/${source.id}/duplicate`, { body: {} });
    expect(copy).toMatchObject({ status: 201, data: { name: 'Original (2)', folderPath: '/' } });
    const { data } = await api.call<{ blocks: JsonObject }>('GET', `${WORKFLOWS}/${copy.data.id}/state`);
    expect(Object.keys(data.blocks)).not.toContain(source.blocks[0]!.id);
    const put = await api.call('PUT', `${WORKFLOWS}/${copy.data.id}/state`, { body: data });
    expect(put.status).toBe(200);
    const named = await api.call<Item>('POST', `${WORKFLOWS}/${source.id}/duplicate`, {
      body: { name: 'Original' },
    });
    expect(named.status).toBe(409);
  });

  it('moves workflows, and returns a reason for each that cannot be moved', async () => {
    const otherId = await api.createWorkspace();
    const foreign = await api.createWorkflow(workspaceId, 'foreign');
    await api.createFolder(otherId, '/To');
    await api.createWorkflow(otherId, 'twin', '/To');
    const [a, twin] = [await api.createWorkflow(otherId, 'a'), await api.createWorkflow(otherId, 'twin')];
    const body = {
      workspaceId: otherId,
      workflowIds: [a.id, twin.id, a.id, foreign.id, 'none'],
      folderPath: '/To',
    };
    const { data } = await api.call('POST', `${WORKFLOWS}/move`, { body });
    expect(data).toEqual({
      moved: [a.id],
      failed: [
        { id: twin.id, reason: 'The folder already has a workflow named "twin"' },
        { id: foreign.id, reason: 'Workflow not found' },
        { id: 'none', reason: 'Workflow not found' },
      ],
      folderPath: '/To',
    });
    expect(
      (await api.call('POST', `${WORKFLOWS}/move`, { body: { ...body, folderPath: '/gone' } })).status,
    ).toBe(404);
    expect(await api.listActions(a.id)).toEqual(['WORKFLOW_CREATED', 'WORKFLOW_MOVED']);
  });

  it('applies operations to variables, and records only changes', async () => {
    const { id } = await api.createWorkflow(workspaceId, 'vars');
    const patch = (operations: object[]) =>
      api.call('PATCH', `${WORKFLOWS}/${id}/variables`, { body: { operations } });
    const add = { operation: 'add', name: 'Rate', type: 'number', value: '2' };
    expect((await patch([add])).data).toEqual({ id, variableCount: 1, changed: true });
    expect((await patch([{ operation: 'edit', name: 'Rate', value: 2 }])).data).toMatchObject({
      changed: false,
    });
    expect((await patch([add])).status).toBe(400);
    const { data } = await api.call<{ variables: JsonObject }>('GET', `${WORKFLOWS}/${id}/state`);
    expect(Object.values(data.variables)).toMatchObject([{ name: 'Rate', type: 'number', value: 2 }]);
    expect(await api.listActions(id)).toEqual(['WORKFLOW_CREATED', 'WORKFLOW_VARIABLES_CHANGED']);
  });

  it('edits drafts; dry runs save nothing, and atomic batches save all changes or none', async () => {
    const { id, blocks } = await api.createWorkflow(workspaceId, 'edited');
    const start = blocks[0]!.id;
    const apply = (body: object, query = '') =>
      api.call<JsonObject>('POST', `${WORKFLOWS}/${id}/operations${query}`, { body });
    const add = {
      operation_type: 'add',
      block_id: 'fn',
      params: { type: 'function', name: 'Fn', inputs: { code: 'return 1' } },
    };
    const connect = { operation_type: 'edit', block_id: start, params: { connections: { source: 'fn' } } };
    const bad = { operation_type: 'delete', block_id: 'none' };
    const dry = await apply({ operations: [add, connect] }, '?dryRun=true');
    expect(dry.data).toMatchObject({
      dryRun: true,
      applied: 2,
      skipped: [],
      previewBlockIds: [expect.any(String)],
    });
    const atomic = await apply({ operations: [add, bad], atomic: true });
    expect(errorIn(atomic.body)).toMatchObject({
      code: 'CONFLICT',
      details: { code: 'OPERATIONS_NOT_APPLIED', skipped: [{ type: 'block_not_found' }], droppedInputs: [] },
    });
    const readState = () =>
      api.call<{ blocks: JsonObject; edges: JsonObject[] }>('GET', `${WORKFLOWS}/${id}/state`);
    expect(Object.keys((await readState()).data.blocks)).toEqual([start]);
    expect(await api.listActions(id)).toEqual(['WORKFLOW_CREATED']);
    const done = await apply({ operations: [add, connect, bad] });
    expect(done.data).toMatchObject({
      dryRun: false,
      applied: 2,
      skipped: [{ type: 'block_not_found' }],
      lint: { orphanBlocks: [] },
    });
    expect((await readState()).data.edges).toMatchObject([
      { source: start, target: (done.data['mintedBlockIds'] as JsonObject)['fn'] },
    ]);
    const { data } = await api.call('GET', `${WORKFLOWS}/${id}/inspect`);
    expect(data).toMatchObject({ blockCount: 2, edgeCount: 1, needsRedeployment: false });
  });

  it('refuses ids of other workflows in operations', async () => {
    const id = crypto.randomUUID();
    const add = {
      operations: [{ operation_type: 'add', block_id: id, params: { type: 'wait', name: 'W' } }],
    };
    const [a, b] = [
      await api.createWorkflow(workspaceId, 'ids a'),
      await api.createWorkflow(workspaceId, 'ids b'),
    ];
    expect((await api.call('POST', `${WORKFLOWS}/${a.id}/operations`, { body: add })).status).toBe(200);
    expect((await api.call('POST', `${WORKFLOWS}/${b.id}/operations`, { body: add })).status).toBe(409);
    expect(
      (await api.call('POST', `${WORKFLOWS}/${b.id}/operations?dryRun=true`, { body: add })).status,
    ).toBe(409);
  });

  it('hides workflows and folders from other users, and refuses draft edits by workspace keys', async () => {
    const { id } = await api.createWorkflow(workspaceId, 'private');
    const emailOf = (who: string) => `${who}-${crypto.randomUUID()}@heddle.test`;
    const stranger = await api.store.workspaces.createUser({ email: emailOf('s'), name: 'S' });
    const { key: foreign } = await api.store.keys.create({ userId: stranger }, 's');
    const { key: shared } = await api.store.keys.create({ workspaceId }, 'w');
    const operations = { operations: [{ operation_type: 'delete', block_id: 'x' }] };
    const statusOf = async (key: string, method: string, path: string, body?: object) =>
      (await api.call(method, path, { key, ...(body && { body }) })).status;
    expect(await statusOf(foreign, 'DELETE', `${WORKFLOWS}/${id}`)).toBe(404);
    expect(await statusOf(foreign, 'GET', `${WORKFLOWS}/${id}/inspect`)).toBe(404);
    expect(await statusOf(foreign, 'GET', `${FOLDERS}?workspaceId=${workspaceId}`)).toBe(404);
    expect(await statusOf(shared, 'POST', `${WORKFLOWS}/${id}/operations`, operations)).toBe(403);
    expect(await statusOf(shared, 'GET', `${WORKFLOWS}/${id}/inspect`)).toBe(200);
    expect(await statusOf(shared, 'DELETE', `${WORKFLOWS}/${id}`)).toBe(200);
  });

  it('allows at most 10,000 folders in a workspace', async () => {
    const otherId = await api.createWorkspace();
    const now = new Date().toISOString();
    const insert = async (from: number, to: number) => {
      for (let start = from; start < to; start += 500) {
        const rows = Array.from(
          { length: Math.min(500, to - start) },
          (_, n) => sql`(${otherId}, ${`/f${start + n}`}, '/', ${`f${start + n}`}, ${now}, ${now})`,
        );
        await sql`insert into workflow_folders (workspace_id, path, parent_path, name, created_at, updated_at) values ${sql.join(rows)}`.execute(
          api.database,
        );
      }
    };
    await insert(0, 9999);
    expect(await api.createFolder(otherId, '/last')).toBe(201);
    expect(await api.createFolder(otherId, '/more')).toBe(413);
    expect((await api.listFolders(otherId)).length).toBe(10_000);
    await insert(9999, 10_000);
    expect((await api.call('GET', `${FOLDERS}?workspaceId=${otherId}`)).status).toBe(413);
  });

  it('lists workflows with an index for each sort order', async () => {
    if (storeName === 'postgres') return;
    for (const column of ['position', 'name', 'created_at', 'updated_at']) {
      const plan = await sql<{ detail: string }>`explain query plan select * from workflows
        where workspace_id = 'w' and archived_at is null order by ${sql.ref(column)}, id limit 51`.execute(
        api.database,
      );
      expect(plan.rows.map(({ detail }) => detail).join()).toContain(`workflows_by_${column}`);
      expect(plan.rows.map(({ detail }) => detail).join()).not.toContain('TEMP B-TREE');
    }
  });

  it('compares versions of a workflow with each other and with the draft', async () => {
    const { id, blocks } = await api.createWorkflow(api.workspaceId, 'Compared');
    const path = `${WORKFLOWS}/${id}`;
    const [start] = blocks;
    const draftWith = (name: string) => ({
      blocks: {
        [start?.id ?? '']: { ...start, name, position: { x: 1, y: 2 }, subBlocks: {}, enabled: true },
      },
      edges: [],
    });
    expect((await api.call('POST', `${path}/deploy`)).status).toBe(200);
    expect((await api.call('PUT', `${path}/state`, { body: draftWith('Begin') })).status).toBe(200);
    expect((await api.call('POST', `${path}/deploy`)).status).toBe(200);
    const compare = async (query: string) =>
      (await api.call<object>('GET', `${path}/versions/compare?${query}`)).data;
    expect(await compare('base=2&target=active')).toMatchObject({ identical: true });
    expect(await compare('base=active')).toMatchObject({ base: 'active', target: 'draft', identical: true });
    expect(await compare('base=1&target=2')).toMatchObject({
      identical: false,
      blocks: {
        added: [],
        removed: [],
        changed: [{ id: start?.id, name: 'Begin', fields: expect.arrayContaining(['name']) }],
      },
    });
    const statusOf = async (query: string) =>
      (await api.call('GET', `${path}/versions/compare?${query}`)).status;
    expect(await Promise.all(['base=7', 'base=0', 'base=draft', ''].map(statusOf))).toEqual([
      404, 400, 400, 400,
    ]);
  });

  it('has caused no internal errors', () => {
    expect(api.faults).toEqual([]);
  });
});
