import { describe, expect, it } from 'vitest';
import { ORIGIN, createTestApi } from '../../../../../test/support/api.ts';
import { APPROVAL_WORKFLOW, GREETING_WORKFLOW } from '../../../../../test/support/api-workflows.ts';
import type { RunResponse } from '../../../../../test/support/api-workflows.ts';
import { block, parallel, workflow } from '../../../../../test/support/workflow.ts';
import { memoryLimiter } from '../../admission/limiter.ts';

const api = await createTestApi();
const { call } = api;

interface PausePoint {
  contextId: string;
  resumeLinks: { apiUrl: string };
}

interface PausedExecution {
  status: string;
  executionId: string;
  pausePoints: PausePoint[];
}

async function startRun(id: string): Promise<string> {
  const { data } = await call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
  return data.runId;
}

describe('paused executions', () => {
  it('are listed, newest first, with their pause points', async () => {
    const id = await api.deploy(APPROVAL_WORKFLOW);
    const firstRunId = await startRun(id);
    const secondRunId = await startRun(id);
    const { body } = await call('GET', `/api/workflows/${id}/paused`);
    const { pausedExecutions } = body as { pausedExecutions: PausedExecution[] };
    expect(pausedExecutions.map(({ executionId }) => executionId)).toEqual([secondRunId, firstRunId]);
    expect(pausedExecutions[0]).toMatchObject({
      ...{ id: secondRunId, workflowId: id, status: 'paused', totalPauseCount: 1, resumedCount: 0 },
      ...{ expiresAt: null, metadata: {}, triggerIds: [] },
      pausePoints: [{ resumeStatus: 'paused', snapshotReady: true, parallelScope: null, loopScope: null }],
    });
    const otherStatusResponse = await call('GET', `/api/workflows/${id}/paused?status=partially_resumed`);
    expect(otherStatusResponse.body).toEqual({ pausedExecutions: [] });
    expect((await call('GET', `/api/workflows/${id}/paused?status=running`)).status).toBe(400);
    const emptyId = await api.deploy(GREETING_WORKFLOW);
    expect((await call('GET', `/api/workflows/${emptyId}/paused`)).body).toEqual({ pausedExecutions: [] });
  });

  it('can be read at the resume path, all points or one', async () => {
    const ask = block('Ask', 'human_in_the_loop', {});
    const container = parallel('Both', { parallelType: 'count', count: 2 }, ask);
    const id = await api.deploy(workflow([container], ['Start -> Both', 'Both -> Ask']));
    const runId = await startRun(id);
    const resumePath = `/api/resume/${id}/${runId}`;
    const pausedExecution = (await call('GET', resumePath)).body as PausedExecution;
    expect((await call('GET', `/api/workflows/${id}/paused/${runId}`)).body).toEqual(pausedExecution);
    const { pausePoints, ...execution } = pausedExecution;
    expect(pausePoints).toHaveLength(2);
    const branches: unknown[] = [];
    for (const point of pausePoints) {
      const path = `${resumePath}/${point.contextId}`;
      expect(point.resumeLinks.apiUrl).toBe(ORIGIN + path);
      const { body } = await call('GET', path);
      expect(body).toEqual({ execution, pausePoint: point, queue: [], activeResumeEntry: null });
      branches.push(
        (body as { pausePoint: { parallelScope: { branchIndex: number } } }).pausePoint.parallelScope,
      );
    }
    expect(branches).toMatchObject([{ branchIndex: 0 }, { branchIndex: 1 }]);
    const response = await call('POST', `${resumePath}/${pausePoints[0]?.contextId}`, { body: {} });
    expect(response.status).toBe(200);
    expect((await call('GET', resumePath)).body).toMatchObject({
      status: 'partially_resumed',
      resumedCount: 1,
    });
  });

  it('are not found (404) for unknown ids, nor after the execution has ended', async () => {
    const id = await api.deploy(APPROVAL_WORKFLOW);
    const runId = await startRun(id);
    expect((await call('GET', `/api/resume/${id}/nothing`)).body).toEqual({ error: 'Run not found' });
    expect((await call('GET', `/api/resume/${id}/${runId}/wrong`)).body).toEqual({
      error: 'Pause point not found',
    });
    const endedId = await api.deploy(GREETING_WORKFLOW);
    expect((await call('GET', `/api/resume/${endedId}/${await startRun(endedId)}`)).body).toEqual({
      error: 'Paused execution not found',
    });
  });
});

describe('the limits of a caller', () => {
  const path = '/api/users/me/usage-limits';

  it('are null if nothing is counted', async () => {
    const unlimitedBucket = {
      ...{ isLimited: false, requestsPerMinute: null, maxBurst: null },
      ...{ remaining: null, resetAt: null },
    };
    expect((await call('GET', path)).body).toEqual({
      success: true,
      rateLimit: { sync: unlimitedBucket, async: unlimitedBucket, authType: 'api' },
      usage: null,
    });
  });

  it('are shown with the remaining tokens; reading them takes no token', async () => {
    const usageSummary = { currentPeriodCost: 3, limit: 10, plan: 'team' };
    const limitedApi = await createTestApi({
      limiter: memoryLimiter({ sync: { capacity: 2, perMinute: 60 } }, () => 0),
      usage: { reserve: () => ({}), getSummary: () => usageSummary },
      now: () => 0,
    });
    const id = await limitedApi.deploy(GREETING_WORKFLOW);
    const readSyncLimit = async () =>
      ((await limitedApi.call('GET', path)).body as { rateLimit: { sync: object } }).rateLimit.sync;
    const fullBucket = { isLimited: false, requestsPerMinute: 60, maxBurst: 2, remaining: 2 };
    expect(await readSyncLimit()).toEqual({ ...fullBucket, resetAt: '1970-01-01T00:00:00.000Z' });
    for (let runs = 0; runs < 2; runs += 1)
      await limitedApi.call('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
    expect(await readSyncLimit()).toMatchObject({ isLimited: true, remaining: 0 });
    expect(await readSyncLimit()).toMatchObject({ isLimited: true, remaining: 0 });
    expect((await limitedApi.call('GET', path)).body).toMatchObject({ usage: usageSummary });
  });
});
