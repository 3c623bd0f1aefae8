import { describe, expect, it } from 'vitest';
import { findQueuedStart, createTestApi } from '../../../../../test/support/api.ts';
import {
  GREETING_WORKFLOW,
  LONG_WORKFLOW,
  deployGreeting,
  queueRun,
  waitForStatus,
} from '../../../../../test/support/api-workflows.ts';
import type { RunResponse } from '../../../../../test/support/api-workflows.ts';
import { block, fn, workflow } from '../../../../../test/support/workflow.ts';

const api = await createTestApi();
const { call } = api;

describe('an asynchronous run', () => {
  it('is accepted with a URL at which it can be read immediately', async () => {
    const path = await deployGreeting(api);
    const acceptedResponse = await call<RunResponse>('POST', `${path}/execute`, {
      body: { async: true, input: { name: 'Ada' } },
    });
    const { runId, statusUrl } = acceptedResponse.data;
    expect(acceptedResponse.status).toBe(202);
    expect(acceptedResponse.headers.get('x-run-id')).toBe(runId);
    expect(statusUrl).toBe(`http://heddle.test${path}/runs/${runId}`);
    const statusPath = new URL(statusUrl).pathname;
    const response = await call<RunResponse>('GET', statusPath);
    expect(response.status).toBe(200);
    expect(['queued', 'running', 'completed']).toContain(response.data.status);
    await waitForStatus(api, statusPath, 'completed');
    expect(await call('GET', statusPath)).toMatchObject({ data: { output: null, trigger: 'api' } });
    expect(await call('GET', `${statusPath}?includeOutput=true`)).toMatchObject({
      data: { output: { data: { hello: 'Ada' } } },
    });
  });

  it('is shown as queued until it starts; if its process ends, the next process starts it', async () => {
    const id = await api.deploy(GREETING_WORKFLOW);
    const runId = await queueRun(api, id, { name: 'Bob' });
    const path = `/api/v2/workflows/${id}/runs/${runId}`;
    expect(await call('GET', path)).toMatchObject({
      status: 200,
      data: { runId, status: 'queued', trigger: 'api', output: null, endedAt: null },
    });
    const { engine, store, key } = api;
    const nextApi = await createTestApi({ engine, store });
    await waitForStatus(api, path, 'completed');
    expect(await nextApi.call('GET', `${path}?includeOutput=1`, { key })).toMatchObject({
      data: { output: { data: { hello: 'Bob' } } },
    });
  });

  it('that another process queued but did not start is started by this process, once', async () => {
    const id = await api.deploy(GREETING_WORKFLOW);
    const timerCallbacks: (() => void)[] = [];
    const { engine, store } = api;
    let clockOffsetMs = 0;
    await createTestApi({
      engine,
      store,
      now: () => Date.now() + clockOffsetMs,
      repeat: (_ms, callback) => {
        timerCallbacks.push(callback);
        return () => undefined;
      },
    });
    const runId = await queueRun(api, id, { name: 'Eve' });
    const path = `/api/v2/workflows/${id}/runs/${runId}`;
    expect(await store.reservations.queue.list(new Date(Date.now() - 5000).toISOString())).toEqual([]);
    clockOffsetMs = 3_600_000;
    for (let n = 0; n < 3; n++) for (const callback of timerCallbacks) callback();
    await waitForStatus(api, path, 'completed');
    await expect.poll(() => findQueuedStart(store, runId)).toBeUndefined();
    expect(api.reportedErrors).toEqual([]);
  });

  it('can be cancelled before it starts', async () => {
    const id = await api.deploy(GREETING_WORKFLOW);
    const runId = await queueRun(api, id, {});
    const path = `/api/v2/workflows/${id}/runs/${runId}`;
    const result = { success: true, reason: 'queue_cancelled', durablyRecorded: true };
    expect(await call('POST', `${path}/cancel`)).toMatchObject({ status: 200, data: result });
    expect(await call('GET', path)).toMatchObject({ data: { status: 'cancelled' } });
    const secondCancel = await call('POST', `${path}/cancel`);
    expect(secondCancel).toMatchObject({
      data: { success: false, reason: 'already_cancelled', durablyRecorded: false },
    });
  });

  it('ends after its timeout', async () => {
    const id = await api.deploy(LONG_WORKFLOW);
    const body = { async: true, executionTimeoutSeconds: 1 };
    const response = await call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body });
    await waitForStatus(api, new URL(response.data.statusUrl).pathname, 'failed');
    expect(await call('GET', new URL(response.data.statusUrl).pathname)).toMatchObject({
      data: { error: { code: 'TIMEOUT' } },
    });
  });
});

describe('a draft', () => {
  it('can be run with the role write', async () => {
    const id = await api.createDraft(GREETING_WORKFLOW);
    const body = { run: { source: 'manual' }, input: { name: 'Ada' } };
    const result = await call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body });
    expect(result).toMatchObject({ status: 200, data: { output: { data: { hello: 'Ada' } } } });
    const readResponse = await call('GET', `/api/v2/workflows/${id}/runs/${result.data.runId}`);
    expect(readResponse.data).toMatchObject({ trigger: 'manual' });
  });

  it('begins at its trigger, which must be named if there are several', async () => {
    const definition = workflow([block('Other', 'start_trigger')], []);
    const id = await api.createDraft(definition);
    const run = (entry?: object) =>
      call('POST', `/api/v2/workflows/${id}/execute`, {
        body: { run: { source: 'manual', ...(entry && { entry }) } },
      });
    const response = await run();
    expect(response).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('(Other)') } },
    });
    const { data } = await call<{ blocks: object }>('GET', `/api/v2/workflows/${id}/state`);
    const [blockId] = Object.keys(data.blocks);
    expect(await run({ type: 'trigger', blockId })).toMatchObject({ status: 200 });
    expect(await run({ type: 'trigger', blockId: 'ghost' })).toMatchObject({ status: 400 });
  });

  it('with errors is refused with its diagnostics', async () => {
    const id = await api.createDraft(workflow([fn('A', 'return <b.c>')], ['Start -> A']));
    const response = await call('POST', `/api/v2/workflows/${id}/execute`, {
      body: { run: { source: 'manual' } },
    });
    expect(response).toMatchObject({
      status: 400,
      body: { error: { details: { diagnostics: [{ code: 'REFERENCE_UNKNOWN_BLOCK' }] } } },
    });
  });

  it('runs from a block with the outputs of an earlier run', async () => {
    const id = await api.deploy(GREETING_WORKFLOW);
    const path = `/api/v2/workflows/${id}`;
    const firstResponse = await call<RunResponse>('POST', `${path}/execute`, {
      body: { input: { name: 'Ada' } },
    });
    const { data } = await call<{ blocks: { [id: string]: { name: string } } }>('GET', `${path}/state`);
    const [replyId] = Object.entries(data.blocks).find(([, candidate]) => candidate.name === 'Reply') ?? [];
    const runFromBlock = (sourceRunId: string, blockId = replyId) =>
      call('POST', `${path}/execute`, {
        body: { run: { source: 'manual', entry: { type: 'block', blockId, sourceRunId } } },
      });
    expect(await runFromBlock(firstResponse.data.runId)).toMatchObject({
      status: 200,
      data: { status: 'completed', output: { data: { hello: 'Ada' } } },
    });
    expect(await runFromBlock('ghost')).toMatchObject({ status: 404 });
    expect(await runFromBlock(firstResponse.data.runId, 'ghost')).toMatchObject({ status: 400 });
    const otherRun = await call<RunResponse>('POST', `${await deployGreeting(api)}/execute`, { body: {} });
    expect(await runFromBlock(otherRun.data.runId)).toMatchObject({ status: 404 });
  });
});
