import { describe, expect, it } from 'vitest';
import { errorIn, testApi } from '../../../../test/support/api.ts';
import type { CallOptions } from '../../../../test/support/api.ts';
import { GREETING, LONG } from '../../../../test/support/api-workflows.ts';
import type { ShownRun } from '../../../../test/support/api-workflows.ts';
import { recordingApi } from '../../../../test/support/recorded.ts';
import { memoryLimiter } from '../admission/limiter.ts';
import type { RunRequest } from '../admission/usage.ts';

let allowed = true;
const requests: RunRequest[] = [];
const api = await recordingApi({
  allowsPublicRuns: () => allowed,
  usage: { reserve: (request) => (requests.push(request), {}) },
});
const { call } = api;

async function published(exported: Parameters<typeof api.deployed>[0] = GREETING): Promise<string> {
  const id = await api.deployed(exported);
  const body = { isPublicApi: true };
  expect(await call('PATCH', `/api/v2/workflows/${id}/deployment`, { body })).toMatchObject({
    status: 200,
    data: { id, isPublicApi: true },
  });
  return id;
}

/** Runs the workflow without a credential. */
function anyone<Data = unknown>(id: string, options: CallOptions = {}) {
  return call<Data>('POST', `/api/v2/workflows/${id}/execute`, { key: null, body: {}, ...options });
}

describe('a public workflow', () => {
  it('runs without a credential, for its workspace', async () => {
    const id = await published();
    const answer = await anyone<ShownRun>(id, { body: { input: { name: 'Eve' } } });
    expect(answer).toMatchObject({
      status: 200,
      data: { status: 'completed', output: { data: { hello: 'Eve' } } },
    });
    const { runId } = answer.data;
    expect(requests.at(-1)).toEqual({
      ...{ runId, workflowId: id, workspaceId: api.workspaceId, userId: null, mode: 'sync' },
    });
    expect(await call('GET', `/api/v2/workflows/${id}/runs/${runId}`)).toMatchObject({ status: 200 });
  });

  it('streams without a credential', async () => {
    const id = await published();
    const options = { key: null, body: { stream: true } };
    const response = await api.fetch('POST', `/api/v2/workflows/${id}/execute`, options);
    expect(await response.text()).toMatch(/"event":"final"[^]*data: "\[DONE\]"/);
  });

  it('validates the run id of an anonymous caller and does not use it', async () => {
    const id = await published();
    const runId = crypto.randomUUID();
    const headers = { 'X-Run-Id': runId };
    const answer = await anyone<ShownRun>(id, { headers });
    expect(answer.data.runId).not.toBe(runId);
    expect(answer.headers.get('x-run-id')).toBe(answer.data.runId);
    const known = await call('POST', `/api/v2/workflows/${id}/execute`, { headers, body: {} });
    expect(known).toMatchObject({ status: 200, data: { runId } });
    const before = api.rows();
    expect(await anyone(id, { headers: { 'X-Run-Id': 'a b' } })).toMatchObject({ status: 400 });
    expect(api.rows()).toEqual(before);
  });

  it('refuses an invalid credential', async () => {
    const id = await published();
    expect(errorIn((await anyone(id, { key: 'sk-heddle-guess' })).body).message).toBe('Invalid API key');
    const headers = { Authorization: 'Bearer guess' };
    expect(errorIn((await anyone(id, { headers })).body).message).toBe('Invalid access token');
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
    const id = await published();
    const before = api.rows();
    const answer = await anyone(id, { body });
    expect([answer.status, errorIn(answer.body).message]).toEqual([status, message]);
    expect(api.rows()).toEqual(before);
  });

  it('counts against the rate limit of its workspace', async () => {
    const limiter = memoryLimiter({ sync: { capacity: 1, perMinute: 1 } }, () => 0);
    const own = await testApi({ engine: api.engine, store: api.store, limiter, now: () => 0 });
    const id = await published();
    const at = `/api/v2/workflows/${id}/execute`;
    expect((await own.call('POST', at, { key: null, body: {} })).status).toBe(200);
    expect(await own.call('POST', at, { key: null, body: {} })).toMatchObject({
      status: 429,
      body: { error: { details: { code: 'RATE_LIMIT_EXCEEDED' } } },
    });
  });

  it('can be executed by the host without a principal; other operations cannot', async () => {
    const path = { workflowId: await published() };
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
  const HIDDEN = { error: { code: 'UNAUTHORIZED', message: 'Unauthorized' } };

  it('gets the same 401 for every reason and every request', async () => {
    const withdrawn = await published();
    const body = { isPublicApi: false };
    await call('PATCH', `/api/v2/workflows/${withdrawn}/deployment`, { body });
    const undeployed = await published();
    await call('DELETE', `/api/v2/workflows/${undeployed}/deploy`);
    const ids = [await api.deployed(GREETING), await api.drafted(GREETING), 'nowhere', withdrawn, undeployed];
    const before = api.rows();
    for (const id of ids) {
      for (const raw of ['{}', '{', '{"async":true,"stream":true}', '{"run":{"source":"manual"}}']) {
        const answer = await anyone(id, { body: undefined, raw });
        expect([answer.status, answer.body]).toEqual([401, HIDDEN]);
        expect(answer.headers.get('www-authenticate')).toContain('header="x-api-key"');
      }
    }
    expect(api.rows()).toEqual(before);
  });

  it('may still be marked as public in a workspace that may not have public workflows', async () => {
    const id = await published();
    allowed = false;
    const at = `/api/v2/workflows/${id}/deployment`;
    const before = api.rows();
    expect((await anyone(id)).body).toEqual(HIDDEN);
    expect(await call('PATCH', at, { body: { isPublicApi: true } })).toMatchObject({
      status: 403,
      body: { error: { code: 'FORBIDDEN', details: { code: 'PUBLIC_SHARING_NOT_ALLOWED' } } },
    });
    expect(api.rows()).toEqual(before);
    expect(await call('PATCH', at, { body: { isPublicApi: false } })).toMatchObject({ status: 200 });
    allowed = true;
    expect((await anyone(id)).status).toBe(401);
  });

  it('is checked after the call chain and before the body, the body before the capacity', async () => {
    const own = await testApi({ engine: api.engine, store: api.store, capacity: 1 });
    const long = await published(LONG);
    const chain = { 'X-Sim-Via': Array<string>(25).fill('w').join(',') };
    const at = (id: string) => `/api/v2/workflows/${id}/execute`;
    const held = await own.fetch('POST', at(long), { key: null, body: { stream: true } });
    const run = (id: string, options: CallOptions) => own.call('POST', at(id), { key: null, ...options });
    expect((await run('nowhere', { headers: chain, raw: '{' })).status).toBe(409);
    expect((await run('nowhere', { raw: '{' })).status).toBe(401);
    expect((await run(long, { raw: '{' })).status).toBe(400);
    expect((await run(long, { body: {} })).status).toBe(429);
    await held.body?.cancel();
    expect((await run(long, { raw: '{' })).status).toBe(400);
  });
});

it('whether a workflow is public is part of its deployment and of the audit log', async () => {
  const id = await published();
  const at = `/api/v2/workflows/${id}/deployment`;
  expect(await call('GET', at)).toMatchObject({ data: { isPublicApi: true } });
  expect((await api.store.audit.ofResource(id)).at(-1)).toMatchObject({
    action: 'WORKFLOW_PUBLIC_API_UPDATED',
    user_id: api.userId,
    details: '{"isPublicApi":true}',
  });
  expect((await call('PATCH', at, { body: {} })).status).toBe(400);
});
