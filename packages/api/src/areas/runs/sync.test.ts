import { describe, expect, it } from 'vitest';
import { createTestApi } from '../../../../../test/support/api.ts';
import {
  APPROVAL_WORKFLOW,
  FAILING_WORKFLOW,
  GREETING_WORKFLOW,
  LONG_WORKFLOW,
  deployGreeting,
  waitForStatus,
} from '../../../../../test/support/api-workflows.ts';
import type { RunResponse } from '../../../../../test/support/api-workflows.ts';

const api = await createTestApi();
const { call } = api;

describe('a synchronous run', () => {
  it('returns its result; a Response block is part of the output', async () => {
    const path = await deployGreeting(api);
    const response = await call<RunResponse>('POST', `${path}/execute`, { body: { input: { name: 'Ada' } } });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-run-id')).toBe(response.data.runId);
    expect(response.data).toMatchObject({
      status: 'completed',
      output: { data: { hello: 'Ada' }, status: 418 },
      blockOutputs: null,
      error: null,
      startedAt: expect.any(String),
      endedAt: expect.any(String),
      durationMs: expect.any(Number),
    });
    expect(await call('POST', `${path}/execute`, { body: {} })).toMatchObject({
      data: { output: { data: { hello: 'nobody' } } },
    });
  });

  it('that fails returns a result, with the failed block in the error details', async () => {
    const id = await api.deploy(FAILING_WORKFLOW);
    const response = await call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
    expect(response).toMatchObject({
      status: 200,
      data: {
        status: 'failed',
        error: {
          code: 'BLOCK_EXECUTION_FAILED',
          details: { blockName: 'Fetch', blockType: 'api', reason: 'HTTP_FAILED' },
        },
      },
    });
    const readResponse = await call('GET', `/api/v2/workflows/${id}/runs/${response.data.runId}`);
    expect(readResponse.data).toMatchObject({ status: 'failed', error: { code: 'BLOCK_EXECUTION_FAILED' } });
  });

  it('shows the selected outputs by the selectors of the request', async () => {
    const path = await deployGreeting(api);
    const selectedOutputs = ['Reply.data.hello', 'reply.nothing', 'Start.name', 'start'];
    const response = await call('POST', `${path}/execute`, {
      body: { input: { name: 'Ada' }, selectedOutputs },
    });
    expect(response.data).toMatchObject({
      blockOutputs: { 'Reply.data.hello': 'Ada', 'Start.name': 'Ada', start: { name: 'Ada' } },
    });
    expect(Object.keys((response.data as { blockOutputs: object }).blockOutputs)).not.toContain(
      'reply.nothing',
    );
  });

  it('does not start with an unknown selector, and its id stays free', async () => {
    const path = await deployGreeting(api);
    const headers = { 'X-Run-Id': crypto.randomUUID() };
    const body = { selectedOutputs: ['Ghost.x'] };
    const response = await call('POST', `${path}/execute`, { headers, body });
    expect(response).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('"Reply"') } },
    });
    expect(await call('GET', `${path}/runs/${headers['X-Run-Id']}`)).toMatchObject({ status: 404 });
    expect(await call('POST', `${path}/execute`, { headers, body: {} })).toMatchObject({ status: 200 });
  });

  it('fails after its timeout', async () => {
    const limitedApi = await createTestApi({ timeouts: { syncSeconds: 0.05 } });
    const id = await limitedApi.deploy(LONG_WORKFLOW);
    const response = await limitedApi.call('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
    expect(response).toMatchObject({ status: 200, data: { status: 'failed', error: { code: 'TIMEOUT' } } });
  });

  it('stops after a block', async () => {
    const id = await api.deploy(GREETING_WORKFLOW);
    const { data } = await call<{ blocks: { [id: string]: { name: string } } }>(
      'GET',
      `/api/v2/workflows/${id}/state`,
    );
    const [wordsId] = Object.entries(data.blocks).find(([, block]) => block.name === 'Words') ?? [];
    const response = await call('POST', `/api/v2/workflows/${id}/execute`, {
      body: { stopAfterBlockId: wordsId },
    });
    expect(response).toMatchObject({ status: 200, data: { status: 'completed' } });
    expect(JSON.stringify(response.data)).not.toContain('hello');
    const unknownBlockResponse = await call('POST', `/api/v2/workflows/${id}/execute`, {
      body: { stopAfterBlockId: 'ghost' },
    });
    expect(unknownBlockResponse).toMatchObject({ status: 400 });
  });

  it('is cancelled if its client disconnects before the response, but not after it', async () => {
    const id = await api.deploy(LONG_WORKFLOW);
    const connection = new AbortController();
    const runId = crypto.randomUUID();
    const options = { body: {}, headers: { 'X-Run-Id': runId }, signal: connection.signal };
    const response = call('POST', `/api/v2/workflows/${id}/execute`, options);
    await waitForStatus(api, `/api/v2/workflows/${id}/runs/${runId}`, 'paused');
    connection.abort();
    expect(await response).toMatchObject({ status: 499, body: { error: { details: { runId } } } });
    await waitForStatus(api, `/api/v2/workflows/${id}/runs/${runId}`, 'cancelled');
    const approvalId = await api.deploy(APPROVAL_WORKFLOW);
    const laterConnection = new AbortController();
    const pausedRun = await call<RunResponse>('POST', `/api/v2/workflows/${approvalId}/execute`, {
      body: {},
      signal: laterConnection.signal,
    });
    laterConnection.abort();
    await Promise.resolve();
    const readResponse = await call('GET', `/api/v2/workflows/${approvalId}/runs/${pausedRun.data.runId}`);
    expect(readResponse.data).toMatchObject({ status: 'paused' });
  });

  it('does not start for a client that has disconnected', async () => {
    const path = await deployGreeting(api);
    const runId = crypto.randomUUID();
    const options = { body: {}, headers: { 'X-Run-Id': runId }, signal: AbortSignal.abort() };
    // Called without HTTP, because the body of an aborted request cannot be read.
    const outcome = await api.api.operations
      .executeWorkflow({
        principal: createPrincipal(),
        path: { workflowId: path.split('/').at(-1) ?? '' },
        headers: options.headers,
        signal: options.signal,
      })
      .catch((error: unknown) => error);
    expect(outcome).toMatchObject({ status: 499, message: 'Client cancelled request' });
    expect(await call('GET', `${path}/runs/${runId}`)).toMatchObject({ status: 404 });
  });
});

function createPrincipal() {
  return {
    kind: 'personal' as const,
    credentialId: 'host',
    userId: api.userId,
    workspaceId: null,
    scopes: ['api:write'] as const,
    expiresAt: null,
  };
}
