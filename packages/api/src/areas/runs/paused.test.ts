import { describe, expect, it } from 'vitest';
import { createTestApi } from '../../../../../test/support/api.ts';
import {
  APPROVAL_WORKFLOW,
  LONG_WORKFLOW,
  waitForStatus,
} from '../../../../../test/support/api-workflows.ts';
import type { RunResponse } from '../../../../../test/support/api-workflows.ts';

const api = await createTestApi();
const { call } = api;

describe('a paused run', () => {
  async function startPausedRun(body: object = {}) {
    const id = await api.deploy(APPROVAL_WORKFLOW);
    const response = await call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body });
    const path = `/api/v2/workflows/${id}/runs/${response.data.runId}`;
    const run = await waitForStatus(api, path, 'paused');
    return { id, path, runId: response.data.runId, contextId: run.paused?.contextId ?? '' };
  }

  it('shows what it waits for, and keeps its id when it continues', async () => {
    const { path, runId, contextId } = await startPausedRun();
    const readResponse = await call<RunResponse>('GET', path);
    expect(readResponse.data.paused).toMatchObject({
      pauseKind: 'human',
      resumeAt: null,
      pausePointCount: 1,
      resumedCount: 0,
      automaticResumeWaitingReason: null,
    });
    const response = await call('POST', `${path}/resume`, { body: { contextId, input: { ok: true } } });
    expect(response).toMatchObject({
      status: 200,
      data: { runId, status: 'completed', output: { data: { ok: true } } },
    });
    expect(response.headers.get('x-run-id')).toBe(runId);
    const secondResponse = await call('POST', `${path}/resume`, {
      body: { contextId, input: { ok: false } },
    });
    expect(secondResponse).toMatchObject({ status: 200, data: { output: { data: { ok: true } } } });
  });

  it('refuses unknown pause points, invalid answers and unknown fields, and records nothing', async () => {
    const { path, contextId } = await startPausedRun();
    const resume = (body: object) => call('POST', `${path}/resume`, { body });
    expect(await resume({ contextId: 'wrong', input: {} })).toMatchObject({ status: 404 });
    expect(await resume({ contextId, input: { ok: 'perhaps' } })).toMatchObject({ status: 400 });
    expect(await resume({ contextId, inputs: {} })).toMatchObject({ status: 400 });
    expect(await resume({})).toMatchObject({ status: 400 });
    expect(await call('GET', path)).toMatchObject({ data: { status: 'paused', paused: { contextId } } });
  });

  it('cannot be resumed after its end', async () => {
    const { path, contextId } = await startPausedRun();
    const pausedCancelled = true;
    expect(await call('POST', `${path}/cancel`)).toMatchObject({ data: { success: true, pausedCancelled } });
    expect(await call('POST', `${path}/resume`, { body: { contextId } })).toMatchObject({ status: 409 });
    expect(await call('POST', `${path}/cancel`)).toMatchObject({
      data: { success: false, reason: 'already_cancelled' },
    });
  });

  it('that was started asynchronously returns 202 for an answer, and 400 for an invalid answer', async () => {
    const { path, runId, contextId } = await startPausedRun({ async: true });
    expect(
      await call('POST', `${path}/resume`, { body: { contextId, input: { ok: 'perhaps' } } }),
    ).toMatchObject({
      status: 400,
    });
    const response = await call('POST', `${path}/resume`, { body: { contextId, input: { ok: true } } });
    expect(response).toMatchObject({ status: 202, data: { runId, statusUrl: `http://heddle.test${path}` } });
    await waitForStatus(api, path, 'completed');
  });

  it('that waits for a timer cannot be resumed by a person', async () => {
    const id = await api.deploy(LONG_WORKFLOW);
    const options = { body: { async: true } };
    const response = await call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, options);
    const path = new URL(response.data.statusUrl).pathname;
    const { paused: pauseState } = await waitForStatus(api, path, 'paused');
    expect(pauseState).toMatchObject({ contextId: null, pauseKind: 'time', resumeAt: expect.any(String) });
    expect(await call('POST', `${path}/resume`, { body: { contextId: 'any' } })).toMatchObject({
      status: 400,
      body: {
        error: { message: "Pause kind 'time' is not allowed for this resume endpoint (allowed: human)" },
      },
    });
    await call('POST', `${path}/cancel`);
  });
});
