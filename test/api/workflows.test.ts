import type { JsonObject } from '@heddle/core';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorIn } from '../support/api.ts';
import { storesToTest } from '../support/postgres.ts';
import { FOLDERS_PATH, startWorkflowsApi, WORKFLOWS_PATH } from './workflows-setup.ts';
import type { WorkflowResponse, WorkflowsApi } from './workflows-setup.ts';

const STORES = storesToTest('workflows');

describe.each(STORES)('the API of workflows on %s', (storeName) => {
  let api: WorkflowsApi;
  let workspaceId: string;
  beforeAll(async () => {
    api = await startWorkflowsApi(storeName);
    workspaceId = api.workspaceId;
  });
  const removeFolder = (path: string, query = '') =>
    api.call('DELETE', `${FOLDERS_PATH}?workspaceId=${workspaceId}&path=${encodeURIComponent(path)}${query}`);

  it('creates folders and workflows in them, and lists both', async () => {
    expect(await api.createFolder(workspaceId, 'Team')).toBe(201);
    expect(await api.createFolder(workspaceId, '/Team/50%25')).toBe(201);
    expect(await api.createFolder(workspaceId, '/Team/a_b')).toBe(201);
    expect(await api.listFolderPaths(workspaceId, '&parentPath=/Team')).toEqual(['/Team/50%25', '/Team/a_b']);
    expect(await api.listFolderPaths(workspaceId, '&search=A_&sortOrder=desc')).toEqual(['/Team/a_b']);
    expect(await api.listFolderPaths(workspaceId, '&parentPath=/nowhere')).toEqual([]);
    const createdWorkflow = await api.createWorkflow(workspaceId, 'In Team', 'Team');
    expect(createdWorkflow).toMatchObject({ folderPath: '/Team', blocks: [{ type: 'start_trigger' }] });
    expect(await api.listWorkflowNames(workspaceId, '&folderPath=/Team')).toEqual(['In Team']);
    expect(await api.listAuditActions('/Team')).toEqual(['FOLDER_CREATED']);
    expect(await api.listAuditActions(createdWorkflow.id)).toEqual(['WORKFLOW_CREATED']);
  });

  it.each([
    [409, '/Team'],
    [404, '/gone/child'],
    [400, '/'],
    [400, '/a b'],
    [400, '/..'],
    [400, '/a%2fb'],
  ])('responds with %i to a new folder %j', async (status, path) => {
    await api.createFolder(workspaceId, '/Team');
    expect(await api.createFolder(workspaceId, path)).toBe(status);
  });

  it('responds with 404 to a workflow in an unknown folder, 409 to a taken name, 400 to an undeclared field', async () => {
    const create = async (body: object) =>
      (await api.call('POST', WORKFLOWS_PATH, { body: { workspaceId, ...body } })).status;
    expect(await create({ name: 'X', folderPath: '/gone' })).toBe(404);
    await api.createWorkflow(workspaceId, 'Taken');
    expect(await create({ name: 'Taken' })).toBe(409);
    expect(await create({ name: 'Y', more: 1 })).toBe(400);
    expect(await create({ name: ' ' })).toBe(400);
  });

  it('moves a folder with everything in it', async () => {
    const otherWorkspaceId = await api.createWorkspace();
    for (const path of ['/A', '/A/B', '/AB', '/C']) await api.createFolder(otherWorkspaceId, path);
    const deepWorkflow = await api.createWorkflow(otherWorkspaceId, 'deep', '/A/B');
    await api.createWorkflow(otherWorkspaceId, 'next', '/AB');
    const move = (path: string, destinationPath: string) =>
      api.call<{ path: string }>('PATCH', FOLDERS_PATH, {
        body: { workspaceId: otherWorkspaceId, path, destinationPath },
      });
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
    expect(await api.listFolderPaths(otherWorkspaceId)).toEqual(['/C/A%20B', '/AB', '/C/A%20B/B', '/C']);
    const { data } = await api.call<WorkflowResponse>('GET', `${WORKFLOWS_PATH}/${deepWorkflow.id}`);
    expect(data.folderPath).toBe('/C/A%20B/B');
    expect(await api.listWorkflowNames(otherWorkspaceId, '&folderPath=/AB')).toEqual(['next']);
  });

  it('deletes an empty folder, or a folder with everything in it; restored workflows are in the root', async () => {
    await api.createFolder(workspaceId, '/Old');
    await api.createFolder(workspaceId, '/Old/Sub');
    const archivedWorkflow = await api.createWorkflow(workspaceId, 'Kept', '/Old/Sub');
    expect((await removeFolder('/Old')).status).toBe(409);
    expect((await removeFolder('/Old', '&recursive=TRUE')).status).toBe(400);
    expect((await removeFolder('/Old', '&recursive=yes')).data).toEqual({
      path: '/Old',
      deleted: true,
      deletedItems: { folders: 2, workflows: 1 },
    });
    expect((await removeFolder('/Old', '&recursive=yes')).status).toBe(404);
    expect(await api.listWorkflowNames(workspaceId, '&scope=archived&folderPath=/Old/Sub')).toEqual([]);
    expect(await api.listWorkflowNames(workspaceId, '&scope=archived&search=kept')).toEqual(['Kept']);
    const response = await api.call<WorkflowResponse>(
      'POST',
      `${WORKFLOWS_PATH}/${archivedWorkflow.id}/restore`,
    );
    expect(response.data).toMatchObject({ id: archivedWorkflow.id, folderPath: '/' });
    expect((await api.call('POST', `${WORKFLOWS_PATH}/${archivedWorkflow.id}/restore`)).status).toBe(409);
  });

  it('responds with 423 to every change in a locked folder', async () => {
    await api.createFolder(workspaceId, '/Locked');
    await api.createFolder(workspaceId, '/Locked/In');
    const { id } = await api.createWorkflow(workspaceId, 'held', '/Locked/In');
    await sql`update workflow_folders set locked = 1 where path = '/Locked'`.execute(api.database);
    const variablesBody = { operations: [{ operation: 'delete', name: 'x' }] };
    const operationsBody = { operations: [{ operation_type: 'delete', block_id: 'x' }] };
    const calls: [string, string, object?][] = [
      ['POST', FOLDERS_PATH, { workspaceId, path: '/Locked/New' }],
      ['PATCH', FOLDERS_PATH, { workspaceId, path: '/Locked/In', destinationPath: '/Free' }],
      ['DELETE', `${FOLDERS_PATH}?workspaceId=${workspaceId}&path=/Locked/In&recursive=1`],
      ['POST', WORKFLOWS_PATH, { workspaceId, name: 'n', folderPath: '/Locked' }],
      ['PATCH', `${WORKFLOWS_PATH}/${id}`, { name: 'n' }],
      ['DELETE', `${WORKFLOWS_PATH}/${id}`],
      ['POST', `${WORKFLOWS_PATH}/${id}/duplicate`, {}],
      ['PATCH', `${WORKFLOWS_PATH}/${id}/variables`, variablesBody],
      ['POST', `${WORKFLOWS_PATH}/${id}/operations`, operationsBody],
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
    const patch = (body: object) => api.call<WorkflowResponse>('PATCH', `${WORKFLOWS_PATH}/${id}`, { body });
    expect((await patch({ description: 'text', folderPath: 'P' })).data).toMatchObject({
      description: 'text',
      folderPath: '/P',
      name: 'before',
    });
    expect((await patch({ description: null })).data).toMatchObject({ description: null, folderPath: '/P' });
    expect((await patch({ name: 'other' })).status).toBe(409);
    const response = await patch({});
    expect(response.status).toBe(400);
    expect(JSON.stringify(response.body)).toContain(
      'At least one of name, description, or folderPath is required',
    );
    expect((await patch({ folderPath: '/gone' })).status).toBe(404);
    expect(await api.listAuditActions(id)).toEqual([
      'WORKFLOW_CREATED',
      'WORKFLOW_UPDATED',
      'WORKFLOW_UPDATED',
    ]);
  });

  it('archives and restores workflows; a restored name that is in use gets a number', async () => {
    const { id } = await api.createWorkflow(workspaceId, 'Phoenix');
    expect((await api.call('DELETE', `${WORKFLOWS_PATH}/${id}`)).data).toEqual({
      id,
      deleted: true,
      archived: true,
    });
    expect((await api.call('DELETE', `${WORKFLOWS_PATH}/${id}`)).status).toBe(404);
    expect((await api.call('PATCH', `${WORKFLOWS_PATH}/${id}`, { body: { name: 'x' } })).status).toBe(404);
    await api.createWorkflow(workspaceId, 'Phoenix');
    const response = await api.call<WorkflowResponse>('POST', `${WORKFLOWS_PATH}/${id}/restore`, {
      body: {},
    });
    expect(response.data.name).toBe('Phoenix (2)');
    expect(await api.listAuditActions(id)).toEqual([
      'WORKFLOW_CREATED',
      'WORKFLOW_ARCHIVED',
      'WORKFLOW_RESTORED',
    ]);
  });

  it('duplicates the draft with new ids', async () => {
    const source = await api.createWorkflow(workspaceId, 'Original');
    const copyResponse = await api.call<WorkflowResponse>(
      'POST',
      `${WORKFLOWS_PATH}/${source.id}/duplicate`,
      { body: {} },
    );
    expect(copyResponse).toMatchObject({ status: 201, data: { name: 'Original (2)', folderPath: '/' } });
    const { data } = await api.call<{ blocks: JsonObject }>(
      'GET',
      `${WORKFLOWS_PATH}/${copyResponse.data.id}/state`,
    );
    expect(Object.keys(data.blocks)).not.toContain(source.blocks[0]!.id);
    const putResponse = await api.call('PUT', `${WORKFLOWS_PATH}/${copyResponse.data.id}/state`, {
      body: data,
    });
    expect(putResponse.status).toBe(200);
    const sameNameResponse = await api.call<WorkflowResponse>(
      'POST',
      `${WORKFLOWS_PATH}/${source.id}/duplicate`,
      {
        body: { name: 'Original' },
      },
    );
    expect(sameNameResponse.status).toBe(409);
  });

  it('moves workflows, and returns a reason for each that cannot be moved', async () => {
    const otherWorkspaceId = await api.createWorkspace();
    const foreignWorkflow = await api.createWorkflow(workspaceId, 'foreign');
    await api.createFolder(otherWorkspaceId, '/To');
    await api.createWorkflow(otherWorkspaceId, 'twin', '/To');
    const [a, twin] = [
      await api.createWorkflow(otherWorkspaceId, 'a'),
      await api.createWorkflow(otherWorkspaceId, 'twin'),
    ];
    const body = {
      workspaceId: otherWorkspaceId,
      workflowIds: [a.id, twin.id, a.id, foreignWorkflow.id, 'none'],
      folderPath: '/To',
    };
    const { data } = await api.call('POST', `${WORKFLOWS_PATH}/move`, { body });
    expect(data).toEqual({
      moved: [a.id],
      failed: [
        { id: twin.id, reason: 'The folder already has a workflow named "twin"' },
        { id: foreignWorkflow.id, reason: 'Workflow not found' },
        { id: 'none', reason: 'Workflow not found' },
      ],
      folderPath: '/To',
    });
    expect(
      (await api.call('POST', `${WORKFLOWS_PATH}/move`, { body: { ...body, folderPath: '/gone' } })).status,
    ).toBe(404);
    expect(await api.listAuditActions(a.id)).toEqual(['WORKFLOW_CREATED', 'WORKFLOW_MOVED']);
  });

  it('applies operations to variables, and records only changes', async () => {
    const { id } = await api.createWorkflow(workspaceId, 'vars');
    const patch = (operations: object[]) =>
      api.call('PATCH', `${WORKFLOWS_PATH}/${id}/variables`, { body: { operations } });
    const addOperation = { operation: 'add', name: 'Rate', type: 'number', value: '2' };
    expect((await patch([addOperation])).data).toEqual({ id, variableCount: 1, changed: true });
    expect((await patch([{ operation: 'edit', name: 'Rate', value: 2 }])).data).toMatchObject({
      changed: false,
    });
    expect((await patch([addOperation])).status).toBe(400);
    const { data } = await api.call<{ variables: JsonObject }>('GET', `${WORKFLOWS_PATH}/${id}/state`);
    expect(Object.values(data.variables)).toMatchObject([{ name: 'Rate', type: 'number', value: 2 }]);
    expect(await api.listAuditActions(id)).toEqual(['WORKFLOW_CREATED', 'WORKFLOW_VARIABLES_CHANGED']);
  });

  it('edits drafts; dry runs save nothing, and atomic batches save all changes or none', async () => {
    const { id, blocks } = await api.createWorkflow(workspaceId, 'edited');
    const startId = blocks[0]!.id;
    const apply = (body: object, query = '') =>
      api.call<JsonObject>('POST', `${WORKFLOWS_PATH}/${id}/operations${query}`, { body });
    const addOperation = {
      operation_type: 'add',
      block_id: 'fn',
      params: { type: 'function', name: 'Fn', inputs: { code: 'return 1' } },
    };
    const connectOperation = {
      operation_type: 'edit',
      block_id: startId,
      params: { connections: { source: 'fn' } },
    };
    const invalidOperation = { operation_type: 'delete', block_id: 'none' };
    const dryRunResponse = await apply({ operations: [addOperation, connectOperation] }, '?dryRun=true');
    expect(dryRunResponse.data).toMatchObject({
      dryRun: true,
      applied: 2,
      skipped: [],
      previewBlockIds: [expect.any(String)],
    });
    const atomicResponse = await apply({ operations: [addOperation, invalidOperation], atomic: true });
    expect(errorIn(atomicResponse.body)).toMatchObject({
      code: 'CONFLICT',
      details: { code: 'OPERATIONS_NOT_APPLIED', skipped: [{ type: 'block_not_found' }], droppedInputs: [] },
    });
    const readState = () =>
      api.call<{ blocks: JsonObject; edges: JsonObject[] }>('GET', `${WORKFLOWS_PATH}/${id}/state`);
    expect(Object.keys((await readState()).data.blocks)).toEqual([startId]);
    expect(await api.listAuditActions(id)).toEqual(['WORKFLOW_CREATED']);
    const response = await apply({ operations: [addOperation, connectOperation, invalidOperation] });
    expect(response.data).toMatchObject({
      dryRun: false,
      applied: 2,
      skipped: [{ type: 'block_not_found' }],
      lint: { orphanBlocks: [] },
    });
    expect((await readState()).data.edges).toMatchObject([
      { source: startId, target: (response.data['mintedBlockIds'] as JsonObject)['fn'] },
    ]);
    const { data } = await api.call('GET', `${WORKFLOWS_PATH}/${id}/inspect`);
    expect(data).toMatchObject({ blockCount: 2, edgeCount: 1, needsRedeployment: false });
  });

  it('refuses ids of other workflows in operations', async () => {
    const id = crypto.randomUUID();
    const addBody = {
      operations: [{ operation_type: 'add', block_id: id, params: { type: 'wait', name: 'W' } }],
    };
    const [a, b] = [
      await api.createWorkflow(workspaceId, 'ids a'),
      await api.createWorkflow(workspaceId, 'ids b'),
    ];
    expect((await api.call('POST', `${WORKFLOWS_PATH}/${a.id}/operations`, { body: addBody })).status).toBe(
      200,
    );
    expect((await api.call('POST', `${WORKFLOWS_PATH}/${b.id}/operations`, { body: addBody })).status).toBe(
      409,
    );
    expect(
      (await api.call('POST', `${WORKFLOWS_PATH}/${b.id}/operations?dryRun=true`, { body: addBody })).status,
    ).toBe(409);
  });

  it('hides workflows and folders from other users, and refuses draft edits by workspace keys', async () => {
    const { id } = await api.createWorkflow(workspaceId, 'private');
    const createEmail = (name: string) => `${name}-${crypto.randomUUID()}@heddle.test`;
    const strangerId = await api.store.workspaces.createUser({ email: createEmail('s'), name: 'S' });
    const { key: foreignKey } = await api.store.keys.create({ userId: strangerId }, 's');
    const { key: workspaceKey } = await api.store.keys.create({ workspaceId }, 'w');
    const operationsBody = { operations: [{ operation_type: 'delete', block_id: 'x' }] };
    const statusOf = async (key: string, method: string, path: string, body?: object) =>
      (await api.call(method, path, { key, ...(body && { body }) })).status;
    expect(await statusOf(foreignKey, 'DELETE', `${WORKFLOWS_PATH}/${id}`)).toBe(404);
    expect(await statusOf(foreignKey, 'GET', `${WORKFLOWS_PATH}/${id}/inspect`)).toBe(404);
    expect(await statusOf(foreignKey, 'GET', `${FOLDERS_PATH}?workspaceId=${workspaceId}`)).toBe(404);
    expect(await statusOf(workspaceKey, 'POST', `${WORKFLOWS_PATH}/${id}/operations`, operationsBody)).toBe(
      403,
    );
    expect(await statusOf(workspaceKey, 'GET', `${WORKFLOWS_PATH}/${id}/inspect`)).toBe(200);
    expect(await statusOf(workspaceKey, 'DELETE', `${WORKFLOWS_PATH}/${id}`)).toBe(200);
  });

  it('allows at most 10,000 folders in a workspace', async () => {
    const otherWorkspaceId = await api.createWorkspace();
    const now = new Date().toISOString();
    const insertFolders = async (from: number, to: number) => {
      for (let start = from; start < to; start += 500) {
        const rows = Array.from(
          { length: Math.min(500, to - start) },
          (_, n) => sql`(${otherWorkspaceId}, ${`/f${start + n}`}, '/', ${`f${start + n}`}, ${now}, ${now})`,
        );
        await sql`insert into workflow_folders (workspace_id, path, parent_path, name, created_at, updated_at) values ${sql.join(rows)}`.execute(
          api.database,
        );
      }
    };
    await insertFolders(0, 9999);
    expect(await api.createFolder(otherWorkspaceId, '/last')).toBe(201);
    expect(await api.createFolder(otherWorkspaceId, '/more')).toBe(413);
    expect((await api.listFolderPaths(otherWorkspaceId)).length).toBe(10_000);
    await insertFolders(9999, 10_000);
    expect((await api.call('GET', `${FOLDERS_PATH}?workspaceId=${otherWorkspaceId}`)).status).toBe(413);
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
    const path = `${WORKFLOWS_PATH}/${id}`;
    const [start] = blocks;
    const buildDraft = (name: string) => ({
      blocks: {
        [start?.id ?? '']: { ...start, name, position: { x: 1, y: 2 }, subBlocks: {}, enabled: true },
      },
      edges: [],
    });
    expect((await api.call('POST', `${path}/deploy`)).status).toBe(200);
    expect((await api.call('PUT', `${path}/state`, { body: buildDraft('Begin') })).status).toBe(200);
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
    expect(api.reportedErrors).toEqual([]);
  });
});
