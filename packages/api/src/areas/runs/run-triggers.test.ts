import { describe, expect, it } from 'vitest';
import { createTestApi } from '../../../../../test/support/api.ts';
import {
  FAILING_WORKFLOW,
  GREETING_WORKFLOW,
  waitForStatus,
} from '../../../../../test/support/api-workflows.ts';
import type { RunResponse } from '../../../../../test/support/api-workflows.ts';
import { block, workflow } from '../../../../../test/support/workflow.ts';

const api = await createTestApi();
const { call } = api;

/** Returns a workflow with these triggers, which responds with the name of the trigger that fired. */
function workflowWithTriggers(types: { [name: string]: string }) {
  const names = Object.keys(types);
  const createReplyBlock = (name: string) =>
    block(`Reply ${name}`, 'response', { dataMode: 'json', data: `{"from": "${name}"}` });
  const definition = workflow(
    [...names.map((name) => block(name, types[name] ?? '', {})), ...names.map(createReplyBlock)],
    names.map((name) => `${name} -> Reply ${name}`),
  );
  const { state } = definition as { state: { blocks: { [id: string]: { name: string } } } };
  for (const [id, { name }] of Object.entries(state.blocks)) if (name === 'Start') delete state.blocks[id];
  return definition;
}

async function blockIdsOf(workflowId: string): Promise<{ [name: string]: string }> {
  const { data } = await call<{ blocks: { [id: string]: { name: string } } }>(
    'GET',
    `/api/v2/workflows/${workflowId}/state`,
  );
  return Object.fromEntries(Object.entries(data.blocks).map(([id, { name }]) => [name, id]));
}

describe('a run of a workflow with several triggers', () => {
  it('begins at the only API trigger', async () => {
    const id = await api.deploy(
      workflowWithTriggers({ Hook: 'generic_webhook', Manual: 'manual_trigger', Old: 'starter' }),
    );
    const path = `/api/v2/workflows/${id}/execute`;
    expect(await call('POST', path, { body: {} })).toMatchObject({
      data: { output: { data: { from: 'Old' } } },
    });
    expect(await call('POST', `/api/workflows/${id}/execute`, { body: {} })).toMatchObject({
      body: { from: 'Old' },
    });
  });

  it('is refused when several triggers are possible, and begins at the named trigger', async () => {
    const id = await api.deploy(workflowWithTriggers({ One: 'api_trigger', Two: 'start_trigger' }));
    const path = `/api/v2/workflows/${id}`;
    const blockIds = await blockIdsOf(id);
    for (const body of [{}, { async: true }, { stream: true }])
      expect(await call('POST', `${path}/execute`, { body })).toMatchObject({
        status: 400,
        body: {
          error: {
            message: `Several triggers can start this workflow: name one in run.entry.blockId. Available triggers: ${blockIds['Two']} (Two), ${blockIds['One']} (One)`,
          },
        },
      });
    const run = { source: 'deployment', entry: { type: 'trigger', blockId: blockIds['One'] } };
    expect(await call('POST', `${path}/execute`, { body: { run } })).toMatchObject({
      data: { output: { data: { from: 'One' } } },
    });
    const acceptedResponse = await call<RunResponse>('POST', `${path}/execute`, {
      body: { run, async: true },
    });
    await waitForStatus(api, `${path}/runs/${acceptedResponse.data.runId}`, 'completed');
    expect(await call('GET', `${path}/runs/${acceptedResponse.data.runId}?includeOutput=true`)).toMatchObject(
      {
        data: { output: { data: { from: 'One' } } },
      },
    );
  });

  it('is refused for a block that is not a trigger, even asynchronously', async () => {
    const id = await api.deploy(GREETING_WORKFLOW);
    const { Reply } = await blockIdsOf(id);
    const run = { source: 'deployment', entry: { type: 'trigger', blockId: Reply } };
    for (const body of [{ run }, { run, async: true }])
      expect(await call('POST', `/api/v2/workflows/${id}/execute`, { body })).toMatchObject({
        status: 400,
        body: {
          error: { message: expect.stringContaining('is not a trigger that can start this workflow') },
        },
      });
  });
});

describe('selectors that name a called workflow', () => {
  const createCallingWorkflow = (child: string, ...moreEdges: string[]) =>
    workflow(
      [block('Call', 'workflow', { workflowId: child, input: '{"name": "Ada"}' })],
      ['Start -> Call', ...moreEdges],
    );

  it('return values of its blocks, at any depth, in responses, streams and polls', async () => {
    const innerId = await api.deploy(GREETING_WORKFLOW);
    const middleId = await api.deploy(createCallingWorkflow(innerId));
    const outerId = await api.deploy(createCallingWorkflow(middleId));
    await call('POST', `/api/v2/workflows/${outerId}/deploy`);
    const path = `/api/v2/workflows/${outerId}`;
    const selector = `${middleId}.call.childWorkflowId`;
    const body = { selectedOutputs: [selector, 'Call.success'] };
    const result = await call<RunResponse>('POST', `${path}/execute`, { body });
    const blockOutputs = { [selector]: innerId, 'Call.success': true };
    expect(result).toMatchObject({ status: 200, data: { blockOutputs } });
    const pollPath = `${path}/runs/${result.data.runId}?selectedOutputs=${middleId}.Call.childWorkflowId`;
    expect(await call('GET', pollPath)).toMatchObject({
      data: { blockOutputs: { [`${middleId}.Call.childWorkflowId`]: innerId } },
    });
    const stream = await api.fetch('POST', `${path}/execute`, { body: { ...body, stream: true } });
    expect(await stream.text()).toContain(`"childWorkflowId":"${innerId}"`);
    // Only the middle workflow calls the innermost one, which is deployed in the same workspace.
    const innermostResponse = await call('POST', `${path}/execute`, {
      body: { selectedOutputs: [`${innerId}.Reply.data.hello`] },
    });
    expect(innermostResponse).toMatchObject({
      data: { blockOutputs: { [`${innerId}.Reply.data.hello`]: 'Ada' } },
    });
  });

  it('are refused for unknown blocks and for workflows of other workspaces', async () => {
    const innerId = await api.deploy(GREETING_WORKFLOW);
    const outerId = await api.deploy(createCallingWorkflow(innerId));
    const path = `/api/v2/workflows/${outerId}/execute`;
    const refusalOf = async (selector: string): Promise<unknown> =>
      (await call('POST', path, { body: { selectedOutputs: [selector] } })).body;
    expect(await refusalOf(`${innerId}.Ghost.x`)).toMatchObject({
      error: {
        message: `Invalid selectedOutputs: "${innerId}.Ghost.x" names no block. Available blocks: "Reply", "Start", "Words".`,
      },
    });
    const { engine, store } = api;
    const otherApi = await createTestApi({ engine, store });
    const foreignWorkflowId = await otherApi.deploy(GREETING_WORKFLOW);
    expect(await refusalOf(`${foreignWorkflowId}.Reply.data`)).toMatchObject({
      error: { message: expect.stringContaining('Available blocks: "Call", "Start".') },
    });
  });
});

describe('the error of a failed run', () => {
  it('names the failed block in polls as in the response', async () => {
    const id = await api.deploy(FAILING_WORKFLOW);
    const path = `/api/v2/workflows/${id}`;
    const { data } = await call<RunResponse & { error: object }>('POST', `${path}/execute`, { body: {} });
    expect(data.error).toMatchObject({ details: { blockName: 'Fetch', blockType: 'api' } });
    expect(await call('GET', `${path}/runs/${data.runId}`)).toMatchObject({ data: { error: data.error } });
  });
});

describe('the error of a run that could not be started', () => {
  it('reveals no internal error', async () => {
    const failingApi = await createTestApi();
    const id = await failingApi.deploy(GREETING_WORKFLOW);
    const path = `/api/v2/workflows/${id}`;
    const start = failingApi.engine.start.bind(failingApi.engine);
    failingApi.engine.start = () =>
      Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7:5432 database "heddle"'));
    const { data } = await failingApi.call<RunResponse>('POST', `${path}/execute`, { body: { async: true } });
    await waitForStatus(failingApi, `${path}/runs/${data.runId}`, 'failed');
    failingApi.engine.start = start;
    expect(await failingApi.call('GET', `${path}/runs/${data.runId}`)).toMatchObject({
      data: { error: { code: 'EXECUTION_FAILED', message: 'The run could not be started.' } },
    });
    expect(failingApi.reportedErrors).toHaveLength(1);
  });
});
