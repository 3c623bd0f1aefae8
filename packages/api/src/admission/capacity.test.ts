import { describe, expect, it } from 'vitest';
import { createTestApi } from '../../../../test/support/api.ts';
import {
  APPROVAL_WORKFLOW,
  GREETING_WORKFLOW,
  LONG_WORKFLOW,
  waitForStatus,
} from '../../../../test/support/api-workflows.ts';
import type { RunResponse } from '../../../../test/support/api-workflows.ts';
import { capacityLimits, createCapacityLimiter } from './capacity.ts';
import { memoryLimiter } from './limiter.ts';
import { memoryConcurrency } from './usage.ts';
import type { RunRequest } from './usage.ts';

describe('executions in flight', () => {
  it('are limited by slots; a stream holds its slot until it ends', async () => {
    const api = await createTestApi({ capacity: 1 });
    const longId = await api.deploy(LONG_WORKFLOW);
    const shortId = await api.deploy(GREETING_WORKFLOW);
    const run = () => api.call('POST', `/api/v2/workflows/${shortId}/execute`, { body: {} });
    const stream = await api.fetch('POST', `/api/v2/workflows/${longId}/execute`, { body: { stream: true } });
    const refusal = await run();
    expect(refusal.body).toEqual({
      error: { code: 'RATE_LIMITED', message: 'Server is at capacity. Please retry shortly.' },
    });
    expect([refusal.status, refusal.headers.get('retry-after')]).toEqual([429, '5']);
    await stream.body?.cancel();
    expect([(await run()).status, (await run()).status]).toEqual([200, 200]);
  });

  it('release their slot when they are refused', async () => {
    const api = await createTestApi({ capacity: 1 });
    const path = '/api/v2/workflows/nowhere/execute';
    expect((await api.call('POST', path, { body: {} })).status).toBe(404);
    expect((await api.call('POST', path, { rawBody: '{' })).status).toBe(400);
    expect((await api.call('POST', path, { body: {} })).status).toBe(404);
  });
});

describe('shares of the capacity', () => {
  it('leave room for others: a caller has half, a workspace three quarters', () => {
    const capacityLimiter = createCapacityLimiter(capacityLimits(8));
    const acquire = (caller: string, workspace: string) => {
      const slot = capacityLimiter.acquire(caller);
      try {
        slot.countForWorkspace(workspace);
        return slot;
      } catch (error) {
        slot.release();
        throw error;
      }
    };
    const slots = Array.from({ length: 4 }, () => acquire('ada', 'looms'));
    const refusal = { status: 429, details: { code: 'EXECUTION_CONCURRENCY_LIMIT' } };
    expect(() => acquire('ada', 'mills')).toThrow(expect.objectContaining(refusal));
    for (let n = 0; n < 2; n += 1) acquire('bob', 'looms');
    expect(() => acquire('eve', 'looms')).toThrow(expect.objectContaining(refusal));
    expect(capacityLimiter.inFlight).toBe(6);
    for (let n = 0; n < 2; n += 1) acquire('eve', 'mills');
    expect(() => acquire('joe', 'mills')).toThrow('Server is at capacity');
    for (let n = 0; n < 2; n += 1) slots[0]?.release();
    expect(capacityLimiter.inFlight).toBe(7);
    acquire('ada', 'mills');
  });

  it('can be set by the host, and are never zero', () => {
    expect(capacityLimits({ total: 10, perCaller: 10 })).toEqual({
      total: 10,
      perCaller: 10,
      perWorkspace: 8,
    });
    expect(capacityLimits(1)).toEqual({ total: 1, perCaller: 1, perWorkspace: 1 });
    expect(capacityLimits()).toEqual({ total: 500, perCaller: 250, perWorkspace: 375 });
  });

  it('of anonymous callers are separate from those of users', async () => {
    const api = await createTestApi({ capacity: { total: 3, perCaller: 1, perWorkspace: 3 } });
    const longId = await api.deploy(LONG_WORKFLOW);
    const path = `/api/v2/workflows/${longId}`;
    await api.call('PATCH', `${path}/deployment`, { body: { isPublicApi: true } });
    const openStream = (key?: null) =>
      api.fetch('POST', `${path}/execute`, { body: { stream: true }, ...(key === null && { key }) });
    const streams = [await openStream(null), await openStream(null), await openStream(), await openStream()];
    expect(streams.map(({ status }) => status)).toEqual([200, 429, 200, 429]);
    for (const { body } of streams) await body?.cancel();
  });
});

describe('a body that does not arrive', () => {
  it('holds no slot, and times out', async () => {
    const timers: [ms: number, callback: () => void][] = [];
    const api = await createTestApi({
      capacity: 1,
      repeat: (ms, callback) => {
        timers.push([ms, callback]);
        return () => undefined;
      },
    });
    const path = `/api/v2/workflows/${await api.deploy(GREETING_WORKFLOW)}/execute`;
    const stalledRequests = Array.from({ length: 500 }, () => {
      const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([123])) });
      const headers = { 'X-API-Key': api.key };
      return api.api.fetch(
        new Request(`http://heddle.test${path}`, { method: 'POST', body, headers, duplex: 'half' }),
      );
    });
    expect((await api.call('POST', path, { body: {} })).status).toBe(200);
    for (const [ms, callback] of timers) if (ms === 30_000) callback();
    const responses = await Promise.all(stalledRequests);
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([408]));
    expect(await responses[0]?.json()).toEqual({
      error: { code: 'BAD_REQUEST', message: 'Request body did not arrive within 30 seconds' },
    });
  });
});

describe('rate limits of executions', () => {
  it('are reported with their own code, and the run id stays unused', async () => {
    const limiter = memoryLimiter({ sync: { capacity: 1, perMinute: 1 } }, () => 0);
    const api = await createTestApi({ limiter, now: () => 0 });
    const id = await api.deploy(GREETING_WORKFLOW);
    const path = `/api/v2/workflows/${id}/execute`;
    const headers = { 'X-Run-Id': crypto.randomUUID() };
    expect((await api.call('POST', path, { body: {} })).status).toBe(200);
    expect(await api.call('POST', path, { body: {}, headers })).toMatchObject({
      status: 429,
      body: { error: { code: 'RATE_LIMITED', details: { code: 'RATE_LIMIT_EXCEEDED' } } },
    });
    const acceptedResponse = await api.call('POST', path, { body: { async: true }, headers });
    expect(acceptedResponse.status).toBe(202);
  });
});

describe('runs in flight', () => {
  it('are limited per workspace; a run releases its slot when it ends or waits for a person', async () => {
    const api = await createTestApi({ concurrency: memoryConcurrency(1) });
    const [longId, shortId, approvalId] = await Promise.all(
      [LONG_WORKFLOW, GREETING_WORKFLOW, APPROVAL_WORKFLOW].map((definition) => api.deploy(definition)),
    );
    const run = (id: string | undefined, body: object = {}) =>
      api.call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body });
    const first = await run(longId, { async: true });
    const runPath = `/api/v2/workflows/${longId}/runs/${first.data.runId}`;
    await waitForStatus(api, runPath, 'paused');
    for (const body of [{}, { async: true }, { stream: true }]) {
      expect(await run(shortId, body)).toMatchObject({
        status: 429,
        body: { error: { code: 'RATE_LIMITED', details: { code: 'EXECUTION_CONCURRENCY_LIMIT' } } },
      });
    }
    await api.call('POST', `${runPath}/cancel`);
    await expect.poll(async () => (await run(shortId)).status).toBe(200);
    expect(await run(approvalId)).toMatchObject({ data: { status: 'paused' } });
    expect((await run(shortId, { selectedOutputs: ['Ghost'] })).status).toBe(400);
    expect((await run(shortId)).status).toBe(200);
  });

  it('of another workspace are counted separately', () => {
    const { acquire } = memoryConcurrency(1);
    const acquireFor = (workspaceId: string) => acquire({ workspaceId } as RunRequest);
    const release = acquireFor('a');
    expect([typeof release, acquireFor('a'), typeof acquireFor('b')]).toEqual([
      'function',
      undefined,
      'function',
    ]);
    if (typeof release === 'function') release();
    expect(typeof acquireFor('a')).toBe('function');
  });
});

describe('limits of an operation', () => {
  it('apply to the calls in flight of one caller; a stream holds its slot until it ends', async () => {
    const api = await createTestApi({ concurrency: memoryConcurrency({ calls: { executeWorkflowV2: 1 } }) });
    const [longId, shortId] = await Promise.all(
      [LONG_WORKFLOW, GREETING_WORKFLOW].map((definition) => api.deploy(definition)),
    );
    const run = (options: object = {}) =>
      api.call('POST', `/api/v2/workflows/${shortId}/execute`, { body: {}, ...options });
    const stream = await api.fetch('POST', `/api/v2/workflows/${longId}/execute`, { body: { stream: true } });
    expect(await run()).toMatchObject({
      status: 429,
      body: {
        error: {
          code: 'RATE_LIMITED',
          message: 'Too many calls of this operation are in flight. Please retry shortly.',
        },
      },
    });
    expect((await api.call('GET', `/api/v2/workflows/${shortId}`)).status).toBe(200);
    const { key } = await api.store.keys.create({ workspaceId: api.workspaceId }, 'of the workspace');
    expect((await run({ key })).status).toBe(200);
    await stream.body?.cancel();
    await expect.poll(async () => (await run()).status).toBe(200);
  });

  it('that cannot be checked refuse calls with 503, and the error is reported', async () => {
    const acquireCall = () => Promise.reject(new Error('the database is gone'));
    const api = await createTestApi({ concurrency: { acquire: () => () => undefined, acquireCall } });
    expect((await api.call('GET', '/api/v2/meta')).status).toBe(503);
    expect(api.reportedErrors).toEqual([expect.objectContaining({ message: 'the database is gone' })]);
  });

  it('apply to the size of the request body, with or without a declared length', async () => {
    const api = await createTestApi({ bodyBytes: { createWorkflowV2: 200, undeployWorkflow: 2 } });
    const createBody = (name: string) => JSON.stringify({ workspaceId: api.workspaceId, name });
    const create = (raw: string, headers = {}) =>
      api.call('POST', '/api/v2/workflows', { rawBody: raw, headers });
    expect((await create(createBody('short'))).status).toBe(201);
    for (const headers of [{}, { 'Content-Length': '300' }])
      expect(await create(createBody('x'.repeat(200)), headers)).toMatchObject({
        status: 413,
        body: { error: { code: 'PAYLOAD_TOO_LARGE' } },
      });
    const id = await api.deploy(GREETING_WORKFLOW);
    const undeploy = (raw: string) => api.call('DELETE', `/api/v2/workflows/${id}/deploy`, { rawBody: raw });
    expect([(await undeploy('{   }')).status, (await undeploy('{}')).status]).toEqual([413, 200]);
  });

  it('are refused at startup if no area has the operation', async () => {
    await expect(createTestApi({ bodyBytes: { listNothing: 1 } })).rejects.toThrow(
      'limits.bodyBytes has the operation "listNothing", which no area has.',
    );
  });
});

describe('usage', () => {
  it('is reserved for each run, and released once when the run settles', async () => {
    const calls: string[] = [];
    const usage = {
      reserve: ({ mode, runId }: RunRequest) => {
        calls.push(`${mode} ${runId}`);
        return { release: () => calls.push(`settled ${runId}`) };
      },
    };
    const api = await createTestApi({ usage });
    const id = await api.deploy(APPROVAL_WORKFLOW);
    const { data } = await api.call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
    const { runId } = data;
    await expect.poll(() => calls).toEqual([`sync ${runId}`, `settled ${runId}`]);
    const runPath = `/api/v2/workflows/${id}/runs/${runId}`;
    const { paused } = await waitForStatus(api, runPath, 'paused');
    const answer = { contextId: paused?.contextId, input: { ok: true } };
    expect((await api.call('POST', `${runPath}/resume`, { body: answer })).status).toBe(200);
    expect(calls.slice(2)).toEqual([`resume ${runId}`, `settled ${runId}`]);
  });

  it('at its limit prevents a resume, and the pause point stays open', async () => {
    const refusals: object[] = [];
    const api = await createTestApi({ usage: { reserve: () => refusals.pop() ?? {} } });
    const id = await api.deploy(APPROVAL_WORKFLOW);
    const { data } = await api.call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
    const runPath = `/api/v2/workflows/${id}/runs/${data.runId}`;
    const { paused } = await waitForStatus(api, runPath, 'paused');
    const body = { contextId: paused?.contextId, input: { ok: true } };
    refusals.push({ refusal: 'limit' });
    expect(await api.call('POST', `${runPath}/resume`, { body })).toMatchObject({
      status: 402,
      body: { error: { code: 'USAGE_LIMIT_EXCEEDED', message: 'Usage limit reached' } },
    });
    expect(await api.call('POST', `${runPath}/resume`, { body })).toMatchObject({ status: 200 });
  });

  it('that cannot be reserved is an internal error, and nothing runs', async () => {
    const api = await createTestApi({ usage: { reserve: () => Promise.reject(new Error('usage is down')) } });
    const id = await api.deploy(GREETING_WORKFLOW);
    const headers = { 'X-Run-Id': crypto.randomUUID() };
    const response = await api.call('POST', `/api/v2/workflows/${id}/execute`, { headers, body: {} });
    expect(response.body).toEqual({ error: { code: 'INTERNAL_ERROR', message: 'Internal server error' } });
    expect(api.reportedErrors).toEqual([expect.objectContaining({ message: 'usage is down' })]);
    const runPath = `/api/v2/workflows/${id}/runs/${headers['X-Run-Id']}`;
    expect((await api.call('GET', runPath)).status).toBe(404);
  });
});
