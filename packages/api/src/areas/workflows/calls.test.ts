import type { Json } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import { testApi } from '../../../../../test/support/api.ts';
import type { TestApi } from '../../../../../test/support/api.ts';
import { APPROVAL, GREETING } from '../../../../../test/support/api-workflows.ts';
import { block, workflow } from '../../../../../test/support/workflow.ts';
import { draftOf } from '../../../../../test/support/draft.ts';
import { openApiStore } from '../../store/open.ts';

const store = await openApiStore();
const engine = await createEngine({
  callee: (caller, reference) => store.workflows.callee(caller, reference),
});
const mine = await testApi({ store, engine });
const theirs = await testApi({ store, engine });

/** What comes of a workflow of `api` that runs another one as its child. */
async function calling(api: TestApi, reference: string): Promise<unknown> {
  const caller = await api.deployed(
    workflow([block('Call', 'workflow', { workflowId: reference })], ['Start -> Call']),
  );
  return (await api.call('POST', `/api/v2/workflows/${caller}/execute`, { body: {} })).data;
}

async function deployedAs(api: TestApi, name: string, exported: Json): Promise<void> {
  const body = { workspaceId: api.workspaceId, name };
  const made = await api.call<{ id: string }>('POST', '/api/v2/workflows', { body });
  const at = `/api/v2/workflows/${made.data.id}`;
  await api.call('PUT', `${at}/state`, { body: draftOf(exported) });
  expect((await api.call('POST', `${at}/deploy`)).status).toBe(200);
}

const NOT_THERE = {
  status: 'failed',
  error: { code: 'CHILD_WORKFLOW_FAILED', details: { reason: 'CHILD_NOT_FOUND' } },
};

describe('a workflow that runs another one', () => {
  it('finds those of its workspace', async () => {
    const child = await mine.deployed(GREETING);
    expect(await store.workflows.tenant(child)).toBe(mine.workspaceId);
    expect(await store.workflows.tenant('of another place')).toBeUndefined();
    expect(await calling(mine, child)).toMatchObject({ status: 'completed', output: { success: true } });
  });

  it('means by a name the one of its own workspace, whatever others call theirs', async () => {
    const name = 'Greeting of both';
    await deployedAs(mine, name, GREETING);
    await deployedAs(theirs, name, APPROVAL);
    expect(await calling(mine, name)).toMatchObject({ status: 'completed', output: { success: true } });
    expect(await calling(theirs, name)).toMatchObject({ status: 'paused' });
  });

  it('does not find those of another workspace, by id or name', async () => {
    const child = await theirs.deployed(GREETING);
    const { data } = await theirs.call<{ name: string }>('GET', `/api/v2/workflows/${child}`);
    expect(await calling(mine, child)).toMatchObject(NOT_THERE);
    expect(await calling(mine, data.name)).toMatchObject(NOT_THERE);
  });

  it('does not find one whose deployment was taken back, and the live version of one that was rolled back', async () => {
    const child = await mine.deployed(GREETING);
    await mine.call('DELETE', `/api/v2/workflows/${child}/deploy`);
    expect(await calling(mine, child)).toMatchObject(NOT_THERE);
    await mine.call('PUT', `/api/v2/workflows/${child}/state`, { body: await draftWithout(child) });
    await mine.call('POST', `/api/v2/workflows/${child}/deploy`);
    await mine.call('POST', `/api/v2/workflows/${child}/versions/1/activate`);
    const result = await calling(mine, child);
    expect(JSON.stringify(result)).toContain('hello');
  });

  it('that nobody has made here may run whatever the engine has', async () => {
    await engine.deploy(workflow([], [], { id: 'alone', name: 'Alone' }));
    const caller = workflow([block('Call', 'workflow', { workflowId: 'alone' })], ['Start -> Call'], {
      id: 'x',
    });
    expect(await engine.execute({ workflow: caller })).toMatchObject({ status: 'completed' });
    expect(await calling(mine, 'alone')).toMatchObject(NOT_THERE);
  });
});

/** The draft with nothing but its start. */
async function draftWithout(id: string): Promise<object> {
  const { data } = await mine.call<{ blocks: { [id: string]: { type: string } } }>(
    'GET',
    `/api/v2/workflows/${id}/state`,
  );
  const start = Object.entries(data.blocks).filter(([, { type }]) => type === 'start_trigger');
  return { blocks: Object.fromEntries(start), edges: [] };
}
