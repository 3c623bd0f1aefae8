import { describe, expect, it } from 'vitest';
import { createTestApi } from '../../../../../test/support/api.ts';
import {
  APPROVAL_WORKFLOW,
  GREETING_WORKFLOW,
  deployGreeting,
} from '../../../../../test/support/api-workflows.ts';
import type { RunResponse } from '../../../../../test/support/api-workflows.ts';
import { block, loop, workflow } from '../../../../../test/support/workflow.ts';

const api = await createTestApi();
const { call, store } = api;

/** A loop with two iterations between two blocks. */
const LOOP_WORKFLOW = workflow(
  [
    block('A', 'variables'),
    loop('L', { loopType: 'for', count: 2 }, block('I', 'variables')),
    block('Z', 'response', { dataMode: 'json', data: '{"ends": true}' }),
  ],
  ['Start -> A -> L -> Z', 'L -> I'],
);

/** Returns a deployed workflow that has run once. */
async function deployAndRun(definition = GREETING_WORKFLOW) {
  const path = `/api/v2/workflows/${await api.deploy(definition)}`;
  const { data } = await call<RunResponse>('POST', `${path}/execute`, { body: {} });
  const state = await call<{ blocks: { [id: string]: { name: string } } }>('GET', `${path}/state`);
  const ids = Object.fromEntries(Object.entries(state.data.blocks).map(([id, { name }]) => [name, id]));
  const preview = (blockId = '', sourceRunId = data.runId, key?: string) =>
    call('GET', `${path}/runs/preview?${new URLSearchParams({ blockId, sourceRunId }).toString()}`, {
      ...(key !== undefined && { key }),
    });
  return { path, ids, runId: data.runId, preview };
}

describe('the preview of a run from a block', () => {
  it('names the blocks that would run again and those whose outputs are reused, and starts nothing', async () => {
    const { path, ids, runId, preview } = await deployAndRun();
    const response = await preview(ids['Words']);
    expect(response).toMatchObject({
      status: 200,
      data: {
        sourceRunId: runId,
        startBlockId: ids['Words'],
        validation: { valid: true },
        rerunBlocks: [
          { blockId: ids['Words'], name: 'Words', type: 'variables', executedInSource: true },
          { blockId: ids['Reply'], name: 'Reply', type: 'response', executedInSource: true },
        ],
        upstreamBlocks: [{ blockId: ids['Start'], executedInSource: true, hasCachedOutput: true }],
        notes: [],
      },
    });
    const { body } = await call('GET', `${path}/runs`);
    expect((body as { data: unknown[] }).data).toHaveLength(1);
  });

  it('says why a run cannot start at the block', async () => {
    const { path, preview } = await deployAndRun();
    const state = await call<{ blocks: object; edges: object[] }>('GET', `${path}/state`);
    const newId = crypto.randomUUID();
    const laterId = crypto.randomUUID();
    const variablesBlock = (id: string, name: string) => ({
      id,
      type: 'variables',
      name,
      position: { x: 0, y: 0 },
    });
    const draft = {
      blocks: {
        ...state.data.blocks,
        [newId]: variablesBlock(newId, 'New'),
        [laterId]: variablesBlock(laterId, 'After'),
      },
      edges: [...state.data.edges, { source: newId, target: laterId }],
    };
    expect(await call('PUT', `${path}/state`, { body: draft })).toMatchObject({ status: 200 });
    expect(await preview(laterId)).toMatchObject({
      status: 200,
      data: {
        validation: { valid: false, error: expect.stringContaining('"New"') },
        upstreamBlocks: [{ name: 'New', executedInSource: false, hasCachedOutput: false }],
        notes: [expect.stringContaining('"New"')],
      },
    });
  });

  it('covers a start inside a container: the other iterations keep their results', async () => {
    const { path, ids, runId } = await deployAndRun(LOOP_WORKFLOW);
    const preview = (parameters: string) =>
      call('GET', `${path}/runs/preview?blockId=${ids['I']}&sourceRunId=${runId}${parameters}`);
    expect(await preview('&iterations=1')).toMatchObject({
      status: 200,
      data: {
        startBlockId: ids['I'],
        validation: { valid: true },
        rerunBlocks: [
          { blockId: ids['L'], executedInSource: true },
          { blockId: ids['Z'], executedInSource: true },
        ],
        upstreamBlocks: [
          { name: 'Start', hasCachedOutput: true },
          { name: 'A', hasCachedOutput: true },
        ],
        notes: ['"L" continues: earlier iterations, and other branches that have ended, keep their results.'],
      },
    });
    const refusals: [string, string][] = [
      ['', 'Give the indexes of its iterations'],
      ['&iterations=0,1', 'give 1 number'],
      ['&iterations=9999999999', 'did not run'],
    ];
    for (const [parameters, error] of refusals)
      expect(await preview(parameters)).toMatchObject({
        status: 200,
        data: { validation: { valid: false, error: expect.stringContaining(error) }, notes: [] },
      });
    for (const parameters of ['&iterations=', '&iterations=-1', '&iterations=1.5', '&iterations=x'])
      expect(await preview(parameters)).toMatchObject({ status: 400 });
    const entry = { type: 'block', blockId: ids['I'], sourceRunId: runId, iterations: [1] };
    const rerun = await call('POST', `${path}/execute`, { body: { run: { source: 'manual', entry } } });
    expect(rerun).toMatchObject({ status: 200, data: { status: 'completed' } });
  });

  it('refuses an unknown block, and a run that is unknown, has not ended or belongs to another workflow', async () => {
    const { ids, preview } = await deployAndRun();
    expect(await preview('ghost')).toMatchObject({ status: 400 });
    expect(await preview('')).toMatchObject({ status: 400 });
    expect(await preview(ids['Words'], 'ghost')).toMatchObject({ status: 404 });
    const otherRun = await call<RunResponse>('POST', `${await deployGreeting(api)}/execute`, { body: {} });
    expect(await preview(ids['Words'], otherRun.data.runId)).toMatchObject({ status: 404 });
    const approvalPath = `/api/v2/workflows/${await api.deploy(APPROVAL_WORKFLOW)}`;
    const pausedRun = await call<RunResponse>('POST', `${approvalPath}/execute`, { body: {} });
    const query = new URLSearchParams({ blockId: 'x', sourceRunId: pausedRun.data.runId });
    expect((await call('GET', `${approvalPath}/runs/preview?${query.toString()}`)).status).toBe(400);
  });

  it('is for users, and refused for workspace keys', async () => {
    const { ids, runId, preview } = await deployAndRun();
    const workspaceKey = await store.keys.create({ workspaceId: api.workspaceId }, 'shared');
    expect(await preview(ids['Words'], runId, workspaceKey.key)).toMatchObject({
      status: 403,
      body: { error: { details: { code: 'WORKSPACE_KEY_OPERATION_NOT_PERMITTED' } } },
    });
  });
});
