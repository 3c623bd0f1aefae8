import { describe, expect, it } from 'vitest';
import { createTestApi } from '../../../../../test/support/api.ts';
import {
  APPROVAL_WORKFLOW,
  FAILING_WORKFLOW,
  GREETING_WORKFLOW,
  LONG_WORKFLOW,
} from '../../../../../test/support/api-workflows.ts';
import { block, workflow } from '../../../../../test/support/workflow.ts';

const api = await createTestApi();
const { call, fetch } = api;

const WORKFLOW_WITHOUT_RESPONSE_BLOCK = workflow([block('Words', 'variables', {})], ['Start -> Words']);

async function run(id: string, body: object = {}, headers: { [name: string]: string } = {}) {
  const response = await fetch('POST', `/api/workflows/${id}/execute`, { body, headers });
  const json = (await response.json()) as { [key: string]: unknown };
  return { status: response.status, headers: response.headers, body: json };
}

describe('the legacy API', () => {
  it('returns the status, headers and data of a Response block', async () => {
    const id = await api.deploy(GREETING_WORKFLOW);
    const response = await run(id, { name: 'Ada' });
    expect(response).toMatchObject({ status: 418, body: { hello: 'Ada' } });
    expect(response.headers.get('x-execution-id')).toMatch(/./);
    expect(await run(id, { input: { name: 'Bob' } })).toMatchObject({ body: { hello: 'Bob' } });
  });

  it('returns the response of a run with an id of the caller', async () => {
    const id = await api.deploy(GREETING_WORKFLOW);
    const response = await run(id, { name: 'Ada' }, { 'X-Run-Id': 'greeting-1' });
    expect(response).toMatchObject({ status: 418, body: { hello: 'Ada' } });
    expect(response.headers.get('x-execution-id')).toBe('greeting-1');
  });

  it('returns the output without a Response block', async () => {
    const id = await api.deploy(WORKFLOW_WITHOUT_RESPONSE_BLOCK);
    expect(await run(id)).toMatchObject({
      status: 200,
      body: {
        success: true,
        executionId: expect.any(String),
        error: null,
        metadata: { duration: expect.any(Number) },
      },
    });
  });

  it('returns the message of a failed run, and 408 after a timeout', async () => {
    expect(await run(await api.deploy(FAILING_WORKFLOW))).toMatchObject({
      status: 200,
      body: { success: false, error: expect.stringContaining('127.0.0.1') },
    });
    const limitedApi = await createTestApi({ timeouts: { syncSeconds: 0.05 } });
    const id = await limitedApi.deploy(LONG_WORKFLOW);
    expect((await limitedApi.fetch('POST', `/api/workflows/${id}/execute`, { body: {} })).status).toBe(408);
  });

  it('accepts an asynchronous run, and returns the URL of its job', async () => {
    const id = await api.deploy(GREETING_WORKFLOW);
    const response = await run(id, { name: 'Ada' }, { 'X-Execution-Mode': 'async' });
    const { jobId, statusUrl } = response.body as { jobId: string; statusUrl: string };
    expect(response).toMatchObject({ status: 202, body: { success: true, async: true, executionId: jobId } });
    expect(statusUrl).toBe(`http://heddle.test/api/jobs/${jobId}`);
    await expect
      .poll(async () => (await call('GET', `/api/jobs/${jobId}`)).body)
      .toMatchObject({ taskId: jobId, status: 'completed', output: { data: { hello: 'Ada' } }, error: null });
  });

  it('shows executions, and cancels them', async () => {
    const id = await api.deploy(LONG_WORKFLOW);
    const { body } = await run(id, {}, { 'X-Execution-Mode': 'async' });
    const path = `/api/workflows/${id}/executions/${String(body['executionId'])}`;
    await expect
      .poll(async () => (await call('GET', path)).body)
      .toMatchObject({ status: 'paused', level: 'info', trigger: 'api', finalOutput: null });
    expect((await call('POST', `${path}/cancel`)).body).toMatchObject({ success: true });
    expect((await call('GET', path)).body).toMatchObject({ status: 'cancelled' });
  });

  it('shows pause points, and accepts answers', async () => {
    const id = await api.deploy(APPROVAL_WORKFLOW);
    const { body } = await run(id);
    const executionId = String(body['executionId']);
    const pausedResponse = await call('GET', `/api/workflows/${id}/paused/${executionId}`);
    expect(pausedResponse.body).toMatchObject({
      status: 'paused',
      totalPauseCount: 1,
      pausePoints: [{ resumeStatus: 'paused' }],
    });
    const [pausePoint] = (pausedResponse.body as { pausePoints: { contextId: string }[] }).pausePoints;
    const resumePath = `/api/resume/${id}/${executionId}/${pausePoint?.contextId}`;
    expect(await call('POST', resumePath, { body: { ok: 'perhaps' } })).toMatchObject({
      status: 400,
      body: { error: expect.any(String) },
    });
    expect(await call('POST', resumePath, { body: { ok: true } })).toMatchObject({
      status: 200,
      body: { success: true, executionId, output: { data: { ok: true } } },
    });
    expect((await call('GET', `/api/workflows/${id}/paused/${executionId}`)).status).toBe(404);
  });

  it('returns errors as strings, with details if there are any', async () => {
    expect((await call('GET', '/api/jobs/nothing')).body).toEqual({ error: 'Job not found' });
    const id = await api.createDraft(GREETING_WORKFLOW);
    expect(await run(id)).toMatchObject({
      status: 403,
      body: { error: 'Workflow is not deployed', details: { code: 'WORKFLOW_NOT_DEPLOYED' } },
    });
    const deployedId = await api.deploy(GREETING_WORKFLOW);
    expect(await run(deployedId, { selectedOutputs: 7 })).toMatchObject({ status: 400 });
  });

  it('returns 404 for jobs of other workspaces', async () => {
    const id = await api.deploy(WORKFLOW_WITHOUT_RESPONSE_BLOCK);
    const { body } = await run(id);
    const { engine, store } = api;
    const otherApi = await createTestApi({ engine, store });
    const path = `/api/jobs/${String(body['executionId'])}`;
    expect((await call('GET', path)).status).toBe(200);
    expect((await otherApi.call('GET', path)).status).toBe(404);
  });
});
