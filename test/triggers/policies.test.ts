import { describe, expect, it } from 'vitest';
import { isApiError } from '@heddle/api';
import { createTriggerWorkflow } from '../support/trigger-workflow.ts';
import { openScheduleApi } from './setup.ts';
import type { ScheduleApi } from './setup.ts';

const MINUTELY_SCHEDULE = { scheduleType: 'minutes', minutesInterval: 1 };
/** A block that waits for a person. */
const APPROVAL_BLOCK = { type: 'human_in_the_loop' };
/** A block that fails. */
const FAILING_BLOCK = {
  type: 'api',
  subBlocks: { url: { id: 'url', type: 'short-input', value: 'not a url' } },
};

/** Waits until the trigger has fired for exactly these due times. */
async function expectFiredDueTimes(api: ScheduleApi, id: string, dueTimes: readonly string[]): Promise<void> {
  await expect.poll(() => api.listFiredDueTimes(id)).toEqual(dueTimes);
}

/** Waits until the last run of the trigger has this status. Returns its id. */
async function waitForLastRun(api: ScheduleApi, id: string, status: string): Promise<string> {
  const { lastRunId } = await api.readTrigger(id);
  if (lastRunId === null) throw new Error('The trigger has no run.');
  await expect
    .poll(async () => (await api.engine.getRun(lastRunId).catch(() => undefined))?.status)
    .toBe(status);
  return lastRunId;
}

describe('a schedule whose last run waits for a person', () => {
  it.each([
    ['allow', ['2026-01-01T00:01Z', '2026-01-01T00:02Z']],
    ['skip', ['2026-01-01T00:01Z', '2026-01-01T00:04Z']],
    ['queue', ['2026-01-01T00:01Z', '2026-01-01T00:02Z', '2026-01-01T00:04Z']],
  ])('starts, skips or queues the next run according to "overlap": %s', async (overlap, expected) => {
    const api = await openScheduleApi('sqlite', '2026-01-01T00:00:30Z');
    const id = await api.deploy(
      createTriggerWorkflow({ ...MINUTELY_SCHEDULE, overlap }, { lastBlock: APPROVAL_BLOCK }),
    );
    api.advanceTo('2026-01-01T00:01Z');
    await expectFiredDueTimes(api, id, ['2026-01-01T00:01Z']);
    const firstRunId = await waitForLastRun(api, id, 'paused');
    api.advanceTo('2026-01-01T00:02Z');
    const waitsFor = overlap === 'queue' ? 'overlap' : null;
    const nextDueAt = overlap === 'queue' ? '2026-01-01T00:02:00.000Z' : '2026-01-01T00:03:00.000Z';
    await expect.poll(() => api.readTrigger(id)).toMatchObject({ waitsFor, nextDueAt });
    if (overlap === 'allow') {
      await expectFiredDueTimes(api, id, expected);
      return;
    }
    api.advanceTo('2026-01-01T00:03:30Z');
    await expect.poll(async () => (await api.readTrigger(id)).waitsFor).toBe(waitsFor);
    await api.engine.cancel(firstRunId);
    api.advanceTo('2026-01-01T00:03:40Z');
    if (overlap === 'queue') {
      await expectFiredDueTimes(api, id, expected.slice(0, 2));
      await api.engine.cancel(await waitForLastRun(api, id, 'paused'));
    }
    api.advanceTo('2026-01-01T00:04Z');
    await expectFiredDueTimes(api, id, expected);
  });
});

describe('limits', () => {
  it('of concurrency delay a due run', async () => {
    let isFull = true;
    const concurrency = { acquire: () => (isFull ? undefined : () => undefined) };
    const api = await openScheduleApi('sqlite', '2026-01-01T00:30Z', { concurrency });
    const id = await api.deploy(
      createTriggerWorkflow({ ...MINUTELY_SCHEDULE, minutesInterval: 60, missedRuns: 'none' }),
    );
    api.advanceTo('2026-01-01T01:00Z');
    await expect
      .poll(() => api.readTrigger(id))
      .toMatchObject({
        ...{ waitsFor: 'limits', nextDueAt: '2026-01-01T01:00:00.000Z' },
        health: { lastError: 'Too many runs are in flight. Please retry shortly.', failures: 0 },
      });
    isFull = false;
    api.advanceTo('2026-01-01T01:05Z');
    await expectFiredDueTimes(api, id, ['2026-01-01T01:00Z']);
    await expect
      .poll(() => api.readTrigger(id))
      .toMatchObject({ waitsFor: null, nextDueAt: '2026-01-01T02:00:00.000Z' });
  });

  it('of usage refuse the run, which counts as a failure', async () => {
    const usage = { reserve: () => ({ refusal: 'limit' }) as const };
    const api = await openScheduleApi('sqlite', '2026-01-01T00:30Z', { usage });
    const id = await api.deploy(createTriggerWorkflow({ ...MINUTELY_SCHEDULE, minutesInterval: 60 }));
    api.advanceTo('2026-01-01T01:00Z');
    await expect
      .poll(() => api.readTrigger(id))
      .toMatchObject({
        nextDueAt: '2026-01-01T02:00:00.000Z',
        health: { lastError: 'Usage limit reached', failures: 1 },
      });
    expect(await api.listFiredDueTimes(id)).toEqual([]);
    const { id: triggerId } = await api.readTrigger(id);
    const response = await api.call('POST', `/api/v2/triggers/${triggerId}/run`);
    expect(response.status).toBe(402);
  });

  it('of a workspace count the runs of its triggers as asynchronous runs without a user', async () => {
    const reservations: object[] = [];
    const usage = { reserve: (run: object) => (reservations.push(run), {}) };
    const api = await openScheduleApi('sqlite', '2026-01-01T00:30Z', { usage });
    const id = await api.deploy(createTriggerWorkflow({ ...MINUTELY_SCHEDULE, minutesInterval: 60 }));
    api.advanceTo('2026-01-01T01:00Z');
    await expectFiredDueTimes(api, id, ['2026-01-01T01:00Z']);
    const { lastRunId: runId } = await api.readTrigger(id);
    const { workspaceId } = api;
    expect(reservations).toEqual([{ runId, workflowId: id, workspaceId, userId: null, mode: 'async' }]);
  });
});

/** Returns the input of the last run of a trigger; undefined if the run has no log yet. */
async function readInputOfLastRun(api: ScheduleApi, id: string): Promise<unknown> {
  const { lastRunId } = await api.readTrigger(id);
  const logs = await api.engine.getLogs(lastRunId ?? '').catch(() => []);
  return logs[0]?.output;
}

describe('a schedule whose runs fail', () => {
  it('is suspended after ten failures in a row over a day, shows the reason, and can be resumed', async () => {
    const api = await openScheduleApi('sqlite', '2026-01-01T00:30Z');
    const id = await api.deploy(
      createTriggerWorkflow({ ...MINUTELY_SCHEDULE, minutesInterval: 180 }, { lastBlock: FAILING_BLOCK }),
    );
    const options = { type: 'sim_workspace_event' };
    const watcherId = await api.deploy(createTriggerWorkflow({ eventType: 'trigger_suspended' }, options));
    const dueTimes: string[] = [];
    for (let hour = 3; hour <= 30; hour += 3) {
      const dueTime = new Date(Date.UTC(2026, 0, 1, hour)).toISOString();
      dueTimes.push(dueTime.replace(':00.000Z', 'Z'));
      api.advanceTo(dueTime);
      await expectFiredDueTimes(api, id, dueTimes);
      await waitForLastRun(api, id, 'failed');
    }
    await expect.poll(() => api.readTrigger(id)).toMatchObject({ state: 'active', health: { failures: 9 } });
    const { id: triggerId } = await api.readTrigger(id);
    api.advanceTo('2026-01-02T09:00Z');
    await expect
      .poll(() => api.readTrigger(id))
      .toMatchObject({
        state: 'suspended',
        nextDueAt: null,
        health: { failures: 10, lastError: expect.stringMatching(/not a url/) },
      });
    const deployment = await api.call<{ warnings: string[] }>('GET', `/api/v2/workflows/${id}/deployment`);
    expect(deployment.data.warnings).toEqual([expect.stringMatching(/^The trigger "Clock" is suspended/)]);
    const [auditRecord] = await api.store.audit.listByResource(triggerId);
    expect(auditRecord).toMatchObject({
      action: 'TRIGGER_SUSPENDED',
      workspace_id: api.workspaceId,
      user_id: null,
    });
    api.advanceTo('2026-01-02T12:30Z');
    await expect
      .poll(() => readInputOfLastRun(api, watcherId))
      .toMatchObject({
        ...{ event: 'trigger_suspended', workflowId: id },
        errorMessage: expect.stringMatching(/not a url/) as string,
      });
    await api.call('POST', `/api/v2/triggers/${triggerId}/resume`);
    expect(await api.readTrigger(id)).toMatchObject({
      state: 'active',
      nextDueAt: '2026-01-02T15:00:00.000Z',
    });
  });

  it('resets the number of failures after a completed run', async () => {
    const api = await openScheduleApi('sqlite', '2026-01-01T00:30Z');
    const id = await api.deploy(createTriggerWorkflow(MINUTELY_SCHEDULE));
    await api.db
      .updateTable('triggers')
      .set({ failures: 9, failing_since_ms: 0 })
      .where('workflow_id', '=', id)
      .execute();
    api.advanceTo('2026-01-01T00:31Z');
    await expectFiredDueTimes(api, id, ['2026-01-01T00:31Z']);
    await waitForLastRun(api, id, 'completed');
    api.advanceTo('2026-01-01T00:32Z');
    await expect.poll(async () => (await api.readTrigger(id)).health.failures).toBe(0);
  });
});

describe('an error', () => {
  it('of the engine is reported and delays the trigger, which loses no run', async () => {
    const api = await openScheduleApi('sqlite', '2026-01-01T00:30Z');
    const id = await api.deploy(createTriggerWorkflow({ ...MINUTELY_SCHEDULE, minutesInterval: 60 }));
    const { engine } = api;
    const originalGetRun = engine.getRun.bind(engine);
    api.advanceTo('2026-01-01T01:00Z');
    await expectFiredDueTimes(api, id, ['2026-01-01T01:00Z']);
    engine.getRun = () => Promise.reject(new Error('The disk is gone.'));
    api.advanceTo('2026-01-01T02:00Z');
    await expect.poll(() => api.reportedErrors.length).toBeGreaterThan(0);
    expect(api.reportedErrors.every((error) => !isApiError(error))).toBe(true);
    engine.getRun = originalGetRun;
    api.advanceTo('2026-01-01T02:10Z');
    await expectFiredDueTimes(api, id, ['2026-01-01T01:00Z', '2026-01-01T02:00Z']);
  });
});
