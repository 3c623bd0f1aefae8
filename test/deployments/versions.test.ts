import { openServiceStore } from '@heddle/service';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorIn, createTestApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import { draftOf } from '../support/draft.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';
import { block, workflow } from '../support/workflow.ts';

const DATABASES = storesToTest('versions');

/** Returns a workflow whose result is `value`. */
function workflowWithResult(value: number) {
  return workflow([block('Say', 'function', { code: `return ${value};` })], ['Start -> Say']);
}

interface Deployment {
  isDeployed: boolean;
  needsRedeployment: boolean;
  activeDeployment: { version: number } | null;
}

describe.each(DATABASES)('versions on %s', (database) => {
  let api: TestApi;

  beforeAll(async () => {
    const secret = 'x'.repeat(32);
    const url = database === 'postgres' ? await createPostgresDatabase() : undefined;
    api = await createTestApi({
      store: await openServiceStore(url === undefined ? {} : { postgres: { url }, secret }),
    });
  });

  const pathOf = (id: string, path: string): string => `/api/v2/workflows/${id}/${path}`;
  const post = (id: string, path: string, options: { body?: unknown; key?: string | null } = {}) =>
    api.call<{ version: number; lastSaved: number }>('POST', pathOf(id, path), options);

  /** Deploys a workflow with versions that return 1, 2 and so on. The last version is live. */
  async function deployVersions(count: number): Promise<string> {
    const id = await api.deploy(workflowWithResult(1));
    for (let value = 2; value <= count; value += 1) {
      await api.call('PUT', pathOf(id, 'state'), { body: draftOf(workflowWithResult(value)) });
      expect((await post(id, 'deploy')).status).toBe(200);
    }
    return id;
  }

  async function executeForResult(id: string): Promise<unknown> {
    const { data } = await api.call<{ output: { result?: unknown } }>('POST', pathOf(id, 'execute'), {
      body: { input: {} },
    });
    return data.output.result;
  }

  async function readDeployment(id: string): Promise<Deployment> {
    return (await api.call<Deployment>('GET', pathOf(id, 'deployment'))).data;
  }

  async function readLiveVersion(id: string): Promise<number | undefined> {
    return (await readDeployment(id)).activeDeployment?.version;
  }

  async function readAuditActions(id: string): Promise<string[]> {
    return (await api.store.audit.listByResource(id)).map(({ action }) => action);
  }

  /** Adds a member to a workspace. Returns the member's API key. */
  async function createMemberKey(
    role: 'read' | 'write' | 'admin',
    workspaceId = api.workspaceId,
  ): Promise<string> {
    const userId = await api.store.workspaces.createUser({
      email: `${crypto.randomUUID()}@x.test`,
      name: 'B',
    });
    await api.store.workspaces.setMember(workspaceId, userId, role);
    return (await api.store.keys.create({ userId }, 'member')).key;
  }

  it('have the name and description of their deployment, which can be changed and cleared', async () => {
    const id = await deployVersions(1);
    const body = { name: 'Second', description: 'With thanks.' };
    expect((await post(id, 'deploy', { body })).data.version).toBe(2);
    const read = async () => (await api.call('GET', pathOf(id, 'versions/2'))).data;
    expect(await read()).toMatchObject({ version: 2, ...body });
    const renameResponse = await api.call('PATCH', pathOf(id, 'versions/2'), { body: { name: 'Third' } });
    expect([renameResponse.status, renameResponse.data]).toEqual([
      200,
      { ...body, version: 2, name: 'Third' },
    ]);
    const clearResponse = await api.call('PATCH', pathOf(id, 'versions/2'), { body: { description: null } });
    expect(clearResponse.data).toEqual({ version: 2, name: 'Third', description: null });
    expect(await read()).toMatchObject({ name: 'Third', description: null });
    expect((await api.call('GET', pathOf(id, 'versions/1'))).data).toMatchObject({
      name: null,
      description: null,
    });
    expect(
      (await readAuditActions(id)).filter((action) => action === 'WORKFLOW_VERSION_UPDATED'),
    ).toHaveLength(2);
  });

  it.each([{}, { name: null }, { name: '' }, { name: 'x'.repeat(101) }, { state: {} }, { version: 3 }])(
    'refuse the change %j',
    async (body) => {
      const id = await deployVersions(1);
      const { status } = await api.call('PATCH', pathOf(id, 'versions/1'), { body });
      expect(status).toBe(400);
      expect(await readAuditActions(id)).not.toContain('WORKFLOW_VERSION_UPDATED');
    },
  );

  it('can be rolled back to the previous version, or to any version', async () => {
    const id = await deployVersions(3);
    expect(await executeForResult(id)).toBe(3);
    const rollbackResponse = await post(id, 'rollback');
    expect([rollbackResponse.status, rollbackResponse.data.version]).toEqual([200, 2]);
    expect([await readLiveVersion(id), await executeForResult(id)]).toEqual([2, 2]);
    expect((await post(id, 'rollback', { body: {} })).data.version).toBe(1);
    expect(await executeForResult(id)).toBe(1);
    expect((await post(id, 'rollback', { body: { version: 3 } })).data.version).toBe(3);
    expect(await executeForResult(id)).toBe(3);
    expect((await readAuditActions(id)).filter((action) => action === 'WORKFLOW_ROLLED_BACK')).toHaveLength(
      3,
    );
  });

  it('cannot be rolled back to if they do not exist; without a live version or an earlier one, there is no rollback', async () => {
    const id = await deployVersions(1);
    const firstResponse = await post(id, 'rollback');
    expect([firstResponse.status, errorIn(firstResponse.body).message]).toEqual([
      409,
      'Version 1 is live, and there is none before it.',
    ]);
    expect((await post(id, 'rollback', { body: { version: 9 } })).status).toBe(404);
    for (const body of [{ version: 0 }, { version: '1' }, { versoin: 1 }])
      expect((await post(id, 'rollback', { body })).status).toBe(400);
    await api.call('DELETE', pathOf(id, 'deploy'));
    expect((await post(id, 'rollback')).status).toBe(409);
    expect((await post(id, 'rollback', { body: { version: 1 } })).status).toBe(200);
    expect(await readLiveVersion(id)).toBe(1);
  });

  it('replace the draft on a revert, and the live version stays live', async () => {
    const id = await deployVersions(2);
    const originalVersion = (await api.call('GET', pathOf(id, 'versions/1'))).data as { state: object };
    const revertResponse = await post(id, 'versions/1/revert');
    expect([revertResponse.status, revertResponse.data]).toEqual([
      200,
      { id, version: 1, lastSaved: expect.any(Number) as number },
    ]);
    expect((await api.call('GET', pathOf(id, 'state'))).data).toEqual(originalVersion.state);
    expect(await readDeployment(id)).toMatchObject({
      activeDeployment: { version: 2 },
      needsRedeployment: true,
    });
    expect(await executeForResult(id)).toBe(2);
    expect((await post(id, 'versions/active/revert')).data.version).toBe(2);
    expect(await readDeployment(id)).toMatchObject({ needsRedeployment: false });
    expect(
      (await readAuditActions(id)).filter((action) => action === 'WORKFLOW_DRAFT_REVERTED'),
    ).toHaveLength(2);
  });

  it('that do not exist do not replace the draft', async () => {
    const id = await deployVersions(1);
    expect((await post(id, 'versions/9/revert')).status).toBe(404);
    expect((await post(id, 'versions/latest/revert')).status).toBe(400);
    expect((await post(id, 'versions/1/revert', { body: { force: true } })).status).toBe(400);
    await api.call('DELETE', pathOf(id, 'deploy'));
    expect((await post(id, 'versions/active/revert')).status).toBe(404);
    expect(await readAuditActions(id)).not.toContain('WORKFLOW_DRAFT_REVERTED');
  });

  it('are refused if their number is too large for a database', async () => {
    const id = await deployVersions(1);
    const largeNumber = '9999999999';
    for (const path of [
      `versions/${largeNumber}`,
      `versions/compare?base=${largeNumber}`,
      `versions/compare?base=1&target=${largeNumber}`,
    ])
      expect((await api.call('GET', pathOf(id, path))).status).toBe(400);
    expect((await post(id, 'rollback', { body: { version: Number(largeNumber) } })).status).toBe(400);
    expect((await api.call('GET', pathOf(id, 'versions/compare?base=999999999'))).status).toBe(404);
  });

  it('do not replace the draft if another workflow now has their block ids', async () => {
    const id = await deployVersions(1);
    const { data } = await api.call<{ blocks: { [id: string]: { name: string } } }>(
      'GET',
      pathOf(id, 'state'),
    );
    const copy = structuredClone(data);
    await api.call('PUT', pathOf(id, 'state'), { body: { blocks: {}, edges: [] } });
    const otherWorkflowId = await api.createDraft({ state: { blocks: {}, edges: [] } });
    expect((await api.call('PUT', pathOf(otherWorkflowId, 'state'), { body: copy })).status).toBe(200);
    const refusedResponse = await post(id, 'versions/1/revert');
    expect(refusedResponse.status).toBe(409);
    expect(errorIn(refusedResponse.body).message).toContain(Object.keys(copy.blocks)[0]);
    expect((await api.call<{ blocks: object }>('GET', pathOf(id, 'state'))).data.blocks).toEqual({});
  });

  it('do not replace the draft of a workflow in a locked folder', async () => {
    const id = await deployVersions(1);
    const { workspaceId } = api;
    await api.call('POST', '/api/v2/workflows/folders', { body: { workspaceId, path: '/closed' } });
    await api.call('PATCH', `/api/v2/workflows/${id}`, { body: { folderPath: '/closed' } });
    await sql`update workflow_folders set locked = 1 where workspace_id = ${workspaceId}`.execute(
      api.store.database,
    );
    expect((await post(id, 'versions/1/revert')).status).toBe(423);
  });

  it.each([
    ['POST', 'rollback', 'admin'],
    ['POST', 'versions/1/revert', 'admin'],
    ['PATCH', 'versions/1', 'write'],
  ] as const)('can be used by %s %s only with the workspace role %s', async (method, path, role) => {
    const id = await deployVersions(2);
    const call = async (key: string | null, workflowId = id) =>
      api.call(method, pathOf(workflowId, path), { key, ...(method === 'PATCH' && { body: { name: 'N' } }) });
    const lowerRoleResponse = await call(await createMemberKey(role === 'admin' ? 'write' : 'read'));
    expect([lowerRoleResponse.status, errorIn(lowerRoleResponse.body).details?.code]).toEqual([
      403,
      'INSUFFICIENT_WORKSPACE_ROLE',
    ]);
    expect((await call(await createMemberKey(role))).status).toBe(200);
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Other', api.userId);
    const otherWorkspaceKey = await createMemberKey('admin', otherWorkspaceId);
    const otherResponse = await call(otherWorkspaceKey);
    expect([otherResponse.status, otherResponse.body]).toEqual([
      404,
      (await call(otherWorkspaceKey, 'none')).body,
    ]);
    const { key } = await api.store.keys.create({ workspaceId: api.workspaceId }, 'workspace');
    expect((await call(key)).status).toBe(role === 'admin' ? 403 : 200);
    expect((await call(null)).status).toBe(401);
    await api.call('DELETE', `/api/v2/workflows/${id}`);
    expect((await call(api.key)).status).toBe(404);
  });

  it('stay in use by their runs when other versions go live', async () => {
    const pausingWorkflow = (value: number) =>
      workflow(
        [
          block('Ask', 'human_in_the_loop', { inputFormat: [] }),
          block('Say', 'function', { code: `return ${value};` }),
        ],
        ['Start -> Ask', 'Ask -> Say'],
      );
    const id = await api.deploy(pausingWorkflow(1));
    const startResponse = await api.call<{ runId: string; status: string }>('POST', pathOf(id, 'execute'), {
      body: { input: {} },
    });
    await api.call('PUT', pathOf(id, 'state'), { body: draftOf(pausingWorkflow(2)) });
    await post(id, 'deploy');
    const runPath = pathOf(id, `runs/${startResponse.data.runId}`);
    const { contextId } = (await api.call<{ paused: { contextId: string } }>('GET', runPath)).data.paused;
    expect((await api.call('POST', `${runPath}/resume`, { body: { contextId } })).status).toBe(200);
    await expect
      .poll(async () => (await api.call('GET', `${runPath}?includeOutput=true`)).data)
      .toMatchObject({ status: 'completed', output: { result: 1 } });
    expect(await readLiveVersion(id)).toBe(2);
  });
});
