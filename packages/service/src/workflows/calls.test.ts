import { sql } from 'kysely';
import type { Json } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import { tenantOptionsOf, createTestApi } from '../../../../test/support/api.ts';
import type { TestApi } from '../../../../test/support/api.ts';
import { APPROVAL_WORKFLOW, GREETING_WORKFLOW } from '../../../../test/support/api-workflows.ts';
import { hasPostgres, createPostgresDatabase } from '../../../../test/support/postgres.ts';
import { block, workflow } from '../../../../test/support/workflow.ts';
import type { TestWorkflowOptions } from '../../../../test/support/workflow.ts';
import { draftOf } from '../../../../test/support/draft.ts';
import { openServiceStore } from '../store/open.ts';

const store = await openServiceStore();
const engine = await createEngine({
  ...tenantOptionsOf(store),
});
const ownApi = await createTestApi({ store, engine });
const otherApi = await createTestApi({ store, engine });

/** Runs a workflow of `api` that calls `reference`. Returns its result. */
async function runCallerOf(api: TestApi, reference: string): Promise<unknown> {
  const caller = await api.deploy(
    workflow([block('Call', 'workflow', { workflowId: reference })], ['Start -> Call']),
  );
  return (await api.call('POST', `/api/v2/workflows/${caller}/execute`, { body: {} })).data;
}

async function deployAs(api: TestApi, name: string, definition: Json): Promise<void> {
  const body = { workspaceId: api.workspaceId, name };
  const createResponse = await api.call<{ id: string }>('POST', '/api/v2/workflows', { body });
  const path = `/api/v2/workflows/${createResponse.data.id}`;
  await api.call('PUT', `${path}/state`, { body: draftOf(definition) });
  expect((await api.call('POST', `${path}/deploy`)).status).toBe(200);
}

const CHILD_NOT_FOUND = {
  status: 'failed',
  error: { code: 'CHILD_WORKFLOW_FAILED', details: { reason: 'CHILD_NOT_FOUND' } },
};

/** Returns a workflow that responds with this text. */
const replyWorkflow = (words: string, options: TestWorkflowOptions = {}): Json =>
  workflow(
    [block('Reply', 'response', { dataMode: 'json', data: JSON.stringify({ words }) })],
    ['Start -> Reply'],
    options,
  );

/** Deploys a caller of `child`. Returns a function that runs it and returns the text of the child. */
async function deployCaller(api: TestApi, child: string): Promise<() => Promise<string>> {
  const callerWorkflow = workflow([block('Call', 'workflow', { workflowId: child })], ['Start -> Call']);
  const path = `/api/v2/workflows/${await api.deploy(callerWorkflow)}/execute`;
  return async () => {
    const { data } = await api.call<{ output: unknown }>('POST', path, { body: {} });
    return /"words":"(\w+)"/.exec(JSON.stringify(data.output))?.[1] ?? JSON.stringify(data);
  };
}

async function replaceDraft(api: TestApi, id: string, definition: Json): Promise<string> {
  const path = `/api/v2/workflows/${id}`;
  expect((await api.call('PUT', `${path}/state`, { body: draftOf(definition) })).status).toBe(200);
  return path;
}

describe('a workflow that runs another one', () => {
  it('finds workflows of its workspace', async () => {
    const child = await ownApi.deploy(GREETING_WORKFLOW);
    expect(await store.definitions.tenant(child)).toBe(ownApi.workspaceId);
    expect(await store.definitions.tenant('unknown')).toBeUndefined();
    expect(await runCallerOf(ownApi, child)).toMatchObject({
      status: 'completed',
      output: { success: true },
    });
  });

  it('resolves a name in its own workspace', async () => {
    const name = 'Greeting of both';
    await deployAs(ownApi, name, GREETING_WORKFLOW);
    await deployAs(otherApi, name, APPROVAL_WORKFLOW);
    expect(await runCallerOf(ownApi, name)).toMatchObject({ status: 'completed', output: { success: true } });
    expect(await runCallerOf(otherApi, name)).toMatchObject({ status: 'paused' });
  });

  it('does not find workflows of another workspace, by id or name', async () => {
    const child = await otherApi.deploy(GREETING_WORKFLOW);
    const { data } = await otherApi.call<{ name: string }>('GET', `/api/v2/workflows/${child}`);
    expect(await runCallerOf(ownApi, child)).toMatchObject(CHILD_NOT_FOUND);
    expect(await runCallerOf(ownApi, data.name)).toMatchObject(CHILD_NOT_FOUND);
  });

  it('does not find an undeployed workflow, and runs the live version after a rollback', async () => {
    const child = await ownApi.deploy(GREETING_WORKFLOW);
    await ownApi.call('DELETE', `/api/v2/workflows/${child}/deploy`);
    expect(await runCallerOf(ownApi, child)).toMatchObject(CHILD_NOT_FOUND);
    await ownApi.call('PUT', `/api/v2/workflows/${child}/state`, { body: await draftWithStartOnly(child) });
    await ownApi.call('POST', `/api/v2/workflows/${child}/deploy`);
    await ownApi.call('POST', `/api/v2/workflows/${child}/versions/1/activate`);
    const result = await runCallerOf(ownApi, child);
    expect(JSON.stringify(result)).toContain('hello');
  });

  it('runs the live version when a deployment has stopped between its two writes', async () => {
    const child = await ownApi.deploy(replyWorkflow('live'));
    const runCaller = await deployCaller(ownApi, child);
    const path = await replaceDraft(ownApi, child, replyWorkflow('lost'));
    const { addVersion } = ownApi.store.workflows;
    ownApi.store.workflows.addVersion = () => Promise.reject(new Error('The store is unavailable.'));
    const response = await ownApi.call('POST', `${path}/deploy`);
    ownApi.store.workflows.addVersion = addVersion;
    expect(response.status).toBe(500);
    expect(ownApi.reportedErrors.splice(0)).toHaveLength(1);
    expect(await engine.execute(child)).toMatchObject({ output: { data: { words: 'lost' } } });
    expect(await runCaller()).toBe('live');
    expect(await ownApi.call('GET', `${path}/versions`)).toMatchObject({ data: [{ version: 1 }] });
    expect(await ownApi.call('POST', `${path}/deploy`)).toMatchObject({ data: { version: 2 } });
    expect(await runCaller()).toBe('lost');
  });

  it('runs its live version even if its draft cannot be read', async () => {
    const child = await ownApi.deploy(replyWorkflow('live'));
    const { database } = ownApi.store;
    await sql`update workflows set state = 'no graph' where id = ${child}`.execute(database);
    const runResponse = await ownApi.call('POST', `/api/v2/workflows/${child}/execute`, { body: {} });
    expect(runResponse).toMatchObject({ status: 200, data: { status: 'completed' } });
    const draftResponse = await ownApi.call('GET', `/api/v2/workflows/${child}/state`);
    expect(draftResponse.status).toBe(500);
    ownApi.reportedErrors.splice(0);
  });

  it('runs the version that is shown as live when several are activated at the same time', async () => {
    const child = await ownApi.deploy(replyWorkflow('first'));
    const runCaller = await deployCaller(ownApi, child);
    const path = await replaceDraft(ownApi, child, replyWorkflow('second'));
    await ownApi.call('POST', `${path}/deploy`);
    const { workflows } = ownApi.store;
    const activate = workflows.activate.bind(workflows);
    const secondActivated = Promise.withResolvers<void>();
    let callCount = 0;
    // The second call creates the engine's newest version, the first call writes the record last.
    workflows.activate = async (...args) => {
      callCount += 1;
      const isFirst = callCount === 1;
      if (isFirst) await secondActivated.promise;
      await activate(...args);
      if (!isFirst) secondActivated.resolve();
    };
    const responses = await Promise.all(
      [1, 2].map((version) => ownApi.call('POST', `${path}/versions/${version}/activate`)),
    );
    workflows.activate = activate;
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    const { data } = await ownApi.call<{ activeDeployment: { version: number } }>(
      'GET',
      `${path}/deployment`,
    );
    expect(await runCaller()).toBe(data.activeDeployment.version === 1 ? 'first' : 'second');
  });

  it('without a workspace finds only workflows without a workspace', async () => {
    await engine.deploy(workflow([], [], { id: 'alone', name: 'Alone' }));
    const caller = workflow([block('Call', 'workflow', { workflowId: 'alone' })], ['Start -> Call'], {
      id: 'x',
    });
    expect(await engine.execute({ workflow: caller })).toMatchObject({ status: 'completed' });
    const callerByName = workflow(
      [block('Call', 'workflow', { workflowId: 'Secret of the other workspace' })],
      ['Start -> Call'],
      {
        id: 'x',
      },
    );
    await deployAs(otherApi, 'Secret of the other workspace', GREETING_WORKFLOW);
    expect(await engine.execute({ workflow: callerByName })).toMatchObject({
      error: { code: 'CHILD_NOT_FOUND' },
    });
    expect(await runCallerOf(ownApi, 'alone')).toMatchObject(CHILD_NOT_FOUND);
  });
});

describe.skipIf(!hasPostgres)('on PostgreSQL, a deployment that the store rejects', () => {
  it('does not change the version that callers run', async () => {
    const url = await createPostgresDatabase();
    const serviceStore = await openServiceStore({
      postgres: { url },
      secret: 'a secret of more than thirty-two characters',
    });
    const api = await createTestApi({
      store: serviceStore,
      engine: await createEngine({
        postgres: { url },
        ...tenantOptionsOf(serviceStore),
      }),
    });
    const child = await api.deploy(replyWorkflow('live'));
    const runCaller = await deployCaller(api, child);
    const path = await replaceDraft(api, child, replyWorkflow('lost'));
    // PostgreSQL cannot store this character.
    const response = await api.call('POST', `${path}/deploy`, { body: { name: 'x\u0000' } });
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(await runCaller()).toBe('live');
  });
});

/** Returns the draft with only its start block. */
async function draftWithStartOnly(id: string): Promise<object> {
  const { data } = await ownApi.call<{ blocks: { [id: string]: { type: string } } }>(
    'GET',
    `/api/v2/workflows/${id}/state`,
  );
  const startEntries = Object.entries(data.blocks).filter(([, { type }]) => type === 'start_trigger');
  return { blocks: Object.fromEntries(startEntries), edges: [] };
}
