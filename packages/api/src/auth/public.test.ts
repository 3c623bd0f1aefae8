import { describe, expect, it } from 'vitest';
import { errorIn, createTestApi } from '../../../../test/support/api.ts';
import type { CallOptions } from '../../../../test/support/api.ts';
import { GREETING_WORKFLOW, LONG_WORKFLOW } from '../../../../test/support/api-workflows.ts';
import type { RunResponse } from '../../../../test/support/api-workflows.ts';
import { createRowCountingApi } from '../../../../test/support/row-counting-api.ts';
import { memoryLimiter } from '../admission/limiter.ts';
import type { RunRequest } from '../admission/usage.ts';

let arePublicRunsAllowed = true;
const requests: RunRequest[] = [];
const api = await createRowCountingApi({
  allowsPublicRuns: () => arePublicRunsAllowed,
  usage: { reserve: (request) => (requests.push(request), {}) },
});
const { call } = api;

async function publish(definition: Parameters<typeof api.deploy>[0] = GREETING_WORKFLOW): Promise<string> {
  const id = await api.deploy(definition);
  const body = { isPublicApi: true };
  expect(await call('PATCH', `/api/v2/workflows/${id}/deployment`, { body })).toMatchObject({
    status: 200,
    data: { id, isPublicApi: true },
  });
  return id;
}

/** Runs the workflow without a credential. */
function runAnonymously<Data = unknown>(id: string, options: CallOptions = {}) {
  return call<Data>('POST', `/api/v2/workflows/${id}/execute`, { key: null, body: {}, ...options });
}

describe('a public workflow', () => {
  it('runs without a credential, for its workspace', async () => {
    const id = await publish();
    const response = await runAnonymously<RunResponse>(id, { body: { input: { name: 'Eve' } } });
    expect(response).toMatchObject({
      status: 200,
      data: { status: 'completed', output: { data: { hello: 'Eve' } } },
    });
    const { runId } = response.data;
    expect(requests.at(-1)).toEqual({
      ...{ runId, workflowId: id, workspaceId: api.workspaceId, userId: null, mode: 'sync' },
    });
    expect(await call('GET', `/api/v2/workflows/${id}/runs/${runId}`)).toMatchObject({ status: 200 });
  });

  it('streams without a credential', async () => {
    const id = await publish();
    const options = { key: null, body: { stream: true } };
    const response = await api.fetch('POST', `/api/v2/workflows/${id}/execute`, options);
    expect(await response.text()).toMatch(/"event":"final"[^]*data: "\[DONE\]"/);
  });

  it('validates the run id of an anonymous caller and does not use it', async () => {
    const id = await publish();
    const runId = crypto.randomUUID();
    const headers = { 'X-Run-Id': runId };
    const anonymousRun = await runAnonymously<RunResponse>(id, { headers });
    expect(anonymousRun.data.runId).not.toBe(runId);
    expect(anonymousRun.headers.get('x-run-id')).toBe(anonymousRun.data.runId);
    const memberRun = await call('POST', `/api/v2/workflows/${id}/execute`, { headers, body: {} });
    expect(memberRun).toMatchObject({ status: 200, data: { runId } });
    const rowsBefore = api.countRows();
    expect(await runAnonymously(id, { headers: { 'X-Run-Id': 'a b' } })).toMatchObject({ status: 400 });
    expect(api.countRows()).toEqual(rowsBefore);
  });

  it('refuses an invalid credential', async () => {
    const id = await publish();
    expect(errorIn((await runAnonymously(id, { key: 'sk-heddle-guess' })).body).message).toBe(
      'Invalid API key',
    );
    const headers = { Authorization: 'Bearer guess' };
    expect(errorIn((await runAnonymously(id, { headers })).body).message).toBe('Invalid access token');
  });

  it.each([
    [
      { run: { source: 'manual' } },
      401,
      'Manual execution requires an OAuth access token or personal API key',
    ],
    [
      { run: { source: 'manual' }, async: true },
      401,
      'Manual execution requires an OAuth access token or personal API key',
    ],
    [{ async: true }, 400, 'Async execution requires an OAuth access token or API key'],
    [{ async: true, stream: true }, 400, 'Async execution requires an OAuth access token or API key'],
    [{ executionTimeoutSeconds: 5 }, 400, 'executionTimeoutSeconds is supported only for async execution'],
  ])('refuses %j without a credential', async (body, status, message) => {
    const id = await publish();
    const rowsBefore = api.countRows();
    const response = await runAnonymously(id, { body });
    expect([response.status, errorIn(response.body).message]).toEqual([status, message]);
    expect(api.countRows()).toEqual(rowsBefore);
  });

  it('counts against the rate limit of its workspace', async () => {
    const limiter = memoryLimiter({ sync: { capacity: 1, perMinute: 1 } }, () => 0);
    const separateApi = await createTestApi({ engine: api.engine, store: api.store, limiter, now: () => 0 });
    const id = await publish();
    const executePath = `/api/v2/workflows/${id}/execute`;
    expect((await separateApi.call('POST', executePath, { key: null, body: {} })).status).toBe(200);
    expect(await separateApi.call('POST', executePath, { key: null, body: {} })).toMatchObject({
      status: 429,
      body: { error: { details: { code: 'RATE_LIMIT_EXCEEDED' } } },
    });
  });

  it('can be executed by the host without a principal; other operations cannot', async () => {
    const path = { workflowId: await publish() };
    const { operations } = api.api;
    const reply = await operations.executeWorkflow({
      principal: undefined,
      path,
      body: { input: { name: 'Eve' } },
    });
    expect(reply).toMatchObject({ data: { output: { data: { hello: 'Eve' } } } });
    await expect(operations.getWorkflow({ principal: undefined, path })).rejects.toMatchObject({
      status: 401,
    });
  });
});

describe('a workflow that is not public', () => {
  const UNAUTHORIZED = { error: { code: 'UNAUTHORIZED', message: 'Unauthorized' } };

  it('is refused with the same 401 for every reason and every request', async () => {
    const withdrawnId = await publish();
    const body = { isPublicApi: false };
    await call('PATCH', `/api/v2/workflows/${withdrawnId}/deployment`, { body });
    const undeployedId = await publish();
    await call('DELETE', `/api/v2/workflows/${undeployedId}/deploy`);
    const privateIds = [await api.deploy(GREETING_WORKFLOW), await api.createDraft(GREETING_WORKFLOW)];
    const ids = [...privateIds, 'nowhere', withdrawnId, undeployedId];
    const rowsBefore = api.countRows();
    for (const id of ids) {
      for (const raw of ['{}', '{', '{"async":true,"stream":true}', '{"run":{"source":"manual"}}']) {
        const response = await runAnonymously(id, { body: undefined, rawBody: raw });
        expect([response.status, response.body]).toEqual([401, UNAUTHORIZED]);
        expect(response.headers.get('www-authenticate')).toContain('header="x-api-key"');
      }
    }
    expect(api.countRows()).toEqual(rowsBefore);
  });

  it('is refused if its workspace may not have public workflows, and can be made private', async () => {
    const id = await publish();
    arePublicRunsAllowed = false;
    const deploymentPath = `/api/v2/workflows/${id}/deployment`;
    const rowsBefore = api.countRows();
    expect((await runAnonymously(id)).body).toEqual(UNAUTHORIZED);
    expect(await call('PATCH', deploymentPath, { body: { isPublicApi: true } })).toMatchObject({
      status: 403,
      body: { error: { code: 'FORBIDDEN', details: { code: 'PUBLIC_SHARING_NOT_ALLOWED' } } },
    });
    expect(api.countRows()).toEqual(rowsBefore);
    expect(await call('PATCH', deploymentPath, { body: { isPublicApi: false } })).toMatchObject({
      status: 200,
    });
    arePublicRunsAllowed = true;
    expect((await runAnonymously(id)).status).toBe(401);
  });

  it('is refused after the call chain check and before the body is read; the capacity is checked last', async () => {
    const separateApi = await createTestApi({ engine: api.engine, store: api.store, capacity: 1 });
    const longId = await publish(LONG_WORKFLOW);
    const chainHeaders = { 'X-Sim-Via': Array<string>(25).fill('w').join(',') };
    const executePathOf = (id: string) => `/api/v2/workflows/${id}/execute`;
    const stream = await separateApi.fetch('POST', executePathOf(longId), {
      key: null,
      body: { stream: true },
    });
    const run = (id: string, options: CallOptions) =>
      separateApi.call('POST', executePathOf(id), { key: null, ...options });
    expect((await run('nowhere', { headers: chainHeaders, rawBody: '{' })).status).toBe(409);
    expect((await run('nowhere', { rawBody: '{' })).status).toBe(401);
    expect((await run(longId, { rawBody: '{' })).status).toBe(400);
    expect((await run(longId, { body: {} })).status).toBe(429);
    await stream.body?.cancel();
    expect((await run(longId, { rawBody: '{' })).status).toBe(400);
  });
});

it('whether a workflow is public is part of its deployment and of the audit log', async () => {
  const id = await publish();
  const deploymentPath = `/api/v2/workflows/${id}/deployment`;
  expect(await call('GET', deploymentPath)).toMatchObject({ data: { isPublicApi: true } });
  expect((await api.store.audit.listByResource(id)).at(-1)).toMatchObject({
    action: 'WORKFLOW_PUBLIC_API_UPDATED',
    user_id: api.userId,
    details: '{"isPublicApi":true}',
  });
  expect((await call('PATCH', deploymentPath, { body: {} })).status).toBe(400);
});
