import { beforeAll, describe, expect, it } from 'vitest';
import { errorIn } from '../support/api.ts';
import { draftOf } from '../support/draft.ts';
import { createTriggerWorkflow } from '../support/trigger-workflow.ts';
import { openScheduleApi } from './setup.ts';
import type { ScheduleApi, TriggerResponse } from './setup.ts';
import { storesToTest } from '../support/postgres.ts';

const MINUTELY_SCHEDULE = { scheduleType: 'minutes', minutesInterval: 1 };
const HOURLY_SCHEDULE = { scheduleType: 'hourly', hourlyMinute: 0 };

interface Deployment {
  version: number;
  warnings: string[];
  latestDeploymentAttempt: { status: string; readiness: { schedules: string } };
}

describe.each(storesToTest('schedules'))('schedules on %s', (store) => {
  let api: ScheduleApi;

  beforeAll(async () => {
    api = await openScheduleApi(store, '2026-01-01T00:30Z');
  });

  const deploy = (id: string) => api.call<Deployment>('POST', `/api/v2/workflows/${id}/deploy`);
  const postAction = (id: string, action: string, body?: object) =>
    api.call<TriggerResponse>('POST', `/api/v2/triggers/${id}/${action}`, body && { body });
  /** Waits until the trigger has fired for exactly these due times. */
  const expectFiredDueTimes = async (id: string, dueTimes: readonly string[]): Promise<void> => {
    await expect.poll(() => api.listFiredDueTimes(id)).toEqual(dueTimes);
  };

  it('start one run at each due time, with the time as input', async () => {
    api.advanceTo('2026-01-01T00:30Z');
    const id = await api.deploy(createTriggerWorkflow({ ...HOURLY_SCHEDULE, timezone: 'Asia/Kolkata' }));
    expect(await api.readTrigger(id)).toMatchObject({
      state: 'active',
      version: 1,
      nextDueAt: '2026-01-01T01:30:00.000Z',
    });
    api.advanceTo('2026-01-01T01:29:59.999Z');
    api.advanceTo('2026-01-01T01:30:00Z');
    await expectFiredDueTimes(id, ['2026-01-01T01:30Z']);
    api.advanceTo('2026-01-01T01:30:01Z');
    api.advanceTo('2026-01-01T02:30:00Z');
    await expectFiredDueTimes(id, ['2026-01-01T01:30Z', '2026-01-01T02:30Z']);
    const { lastRunId, lastDueAt } = await api.readTrigger(id);
    expect(lastDueAt).toBe('2026-01-01T02:30:00.000Z');
    const runPath = `/api/v2/workflows/${id}/runs/${lastRunId}`;
    await expect
      .poll(async () => (await api.call('GET', runPath)).data)
      .toMatchObject({ status: 'completed', trigger: 'schedule' });
    const logs = await api.call<{ runId: string }[]>(
      'GET',
      `/api/v2/logs?workspaceId=${api.workspaceId}&workflowIds=${id}&triggers=schedule&details=full`,
    );
    expect(logs.data).toHaveLength(2);
    const blockLogs = await api.engine.getLogs(lastRunId ?? '');
    expect(blockLogs[0]?.output).toMatchObject({
      scheduledAt: '2026-01-01T02:30:00.000Z',
      timezone: 'Asia/Kolkata',
    });
    expect(api.reportedErrors).toEqual([]);
  });

  it('start no runs before their workflow is deployed, or while it is undeployed or archived', async () => {
    api.advanceTo('2026-01-02T00:00:30Z');
    const id = await api.createDraft(createTriggerWorkflow(MINUTELY_SCHEDULE));
    api.advanceTo('2026-01-02T00:01Z');
    const { data } = await deploy(id);
    expect(data.latestDeploymentAttempt).toMatchObject({
      status: 'active',
      readiness: { schedules: 'ready' },
    });
    api.advanceTo('2026-01-02T00:02Z');
    await expectFiredDueTimes(id, ['2026-01-02T00:02Z']);
    await api.call('DELETE', `/api/v2/workflows/${id}/deploy`);
    api.advanceTo('2026-01-02T00:03Z');
    await deploy(id);
    api.advanceTo('2026-01-02T00:04Z');
    await expectFiredDueTimes(id, ['2026-01-02T00:02Z', '2026-01-02T00:04Z']);
    await api.call('DELETE', `/api/v2/workflows/${id}`);
    api.advanceTo('2026-01-02T00:06Z');
    await api.call('POST', `/api/v2/workflows/${id}/restore`);
    api.advanceTo('2026-01-02T00:07Z');
    await expectFiredDueTimes(id, ['2026-01-02T00:02Z', '2026-01-02T00:04Z', '2026-01-02T00:07Z']);
  });

  it('are stopped when the folder of their workflow is deleted', async () => {
    api.advanceTo('2026-01-03T00:00:30Z');
    const path = `/f${crypto.randomUUID().slice(0, 8)}`;
    const { workspaceId } = api;
    await api.call('POST', '/api/v2/workflows/folders', { body: { workspaceId, path } });
    const id = await api.deploy(createTriggerWorkflow(MINUTELY_SCHEDULE));
    await api.call('PATCH', `/api/v2/workflows/${id}`, { body: { folderPath: path } });
    const query = `workspaceId=${workspaceId}&path=${encodeURIComponent(path)}&recursive=true`;
    expect((await api.call('DELETE', `/api/v2/workflows/folders?${query}`)).status).toBe(200);
    const rows = await api.db.selectFrom('triggers').select('due_ms').where('workflow_id', '=', id).execute();
    expect(rows).toEqual([{ due_ms: null }]);
  });

  it('belong to the live version, so that another version has its own schedule', async () => {
    api.advanceTo('2026-01-04T00:30Z');
    const id = await api.deploy(createTriggerWorkflow(HOURLY_SCHEDULE));
    const draft = draftOf(createTriggerWorkflow({ ...HOURLY_SCHEDULE, hourlyMinute: 15 }));
    await api.call('PUT', `/api/v2/workflows/${id}/state`, { body: draft });
    await deploy(id);
    expect(await api.readTrigger(id)).toMatchObject({ version: 2, nextDueAt: '2026-01-04T01:15:00.000Z' });
    api.advanceTo('2026-01-04T01:15Z');
    await expectFiredDueTimes(id, ['2026-01-04T01:15Z']);
    await api.call('POST', `/api/v2/workflows/${id}/versions/1/activate`);
    expect(await api.readTrigger(id)).toMatchObject({ version: 1, nextDueAt: '2026-01-04T02:00:00.000Z' });
    api.advanceTo('2026-01-04T02:15Z');
    await expectFiredDueTimes(id, ['2026-01-04T01:15Z', '2026-01-04T02:00Z']);
    const triggerFires = await api.db
      .selectFrom('trigger_fires')
      .selectAll()
      .where('workflow_id', '=', id)
      .execute();
    expect(triggerFires.map(({ version }) => version).toSorted((a, b) => a - b)).toEqual([1, 2]);
  });

  it('keep a due run when the same schedule is deployed again', async () => {
    api.advanceTo('2026-01-05T00:30Z');
    const id = await api.deploy(createTriggerWorkflow(HOURLY_SCHEDULE));
    const triggerBefore = await api.readTrigger(id);
    // The run is due but not claimed yet: no scheduler polls between the change of the time and the deployment.
    const updateResults = await api.db
      .updateTable('triggers')
      .set({ due_ms: Date.parse('2026-01-05T00:29Z') })
      .where('workflow_id', '=', id)
      .execute();
    expect(updateResults).toHaveLength(1);
    await deploy(id);
    expect(await api.readTrigger(id)).toMatchObject({
      id: triggerBefore.id,
      version: 2,
      nextDueAt: '2026-01-05T00:29:00.000Z',
    });
  });

  it('can be paused, even across deployments, and resumed', async () => {
    api.advanceTo('2026-01-06T00:00:30Z');
    const id = await api.deploy(createTriggerWorkflow(MINUTELY_SCHEDULE));
    const { id: triggerId } = await api.readTrigger(id);
    expect((await postAction(triggerId, 'pause')).data).toMatchObject({ state: 'paused', nextDueAt: null });
    await deploy(id);
    expect(await api.readTrigger(id)).toMatchObject({ id: triggerId, state: 'paused', version: 2 });
    api.advanceTo('2026-01-06T00:05Z');
    expect((await postAction(triggerId, 'resume')).data).toMatchObject({
      state: 'active',
      nextDueAt: '2026-01-06T00:06:00.000Z',
    });
    expect((await postAction(triggerId, 'resume')).status).toBe(409);
    api.advanceTo('2026-01-06T00:06Z');
    await expectFiredDueTimes(id, ['2026-01-06T00:06Z']);
    const actions = (await api.store.audit.listByResource(triggerId)).map(({ action }) => action);
    expect(actions).toEqual(['TRIGGER_PAUSED', 'TRIGGER_RESUMED']);
  });

  it('can be run manually, in addition to due runs', async () => {
    api.advanceTo('2026-01-07T00:30Z');
    const id = await api.deploy(createTriggerWorkflow(HOURLY_SCHEDULE));
    const { id: triggerId } = await api.readTrigger(id);
    const response = await api.call<{ runId: string }>('POST', `/api/v2/triggers/${triggerId}/run`);
    expect(response.status).toBe(202);
    const runPath = `/api/v2/workflows/${id}/runs/${response.data.runId}`;
    await expect
      .poll(async () => (await api.call('GET', runPath)).data)
      .toMatchObject({ status: 'completed', trigger: 'schedule' });
    expect(await api.readTrigger(id)).toMatchObject({
      nextDueAt: '2026-01-07T01:00:00.000Z',
      lastDueAt: null,
    });
  });

  it('can be backfilled for a past period, except for due times that already have runs', async () => {
    api.advanceTo('2026-01-08T00:30Z');
    const id = await api.deploy(createTriggerWorkflow(HOURLY_SCHEDULE));
    const { id: triggerId } = await api.readTrigger(id);
    api.advanceTo('2026-01-08T01:00Z');
    await expectFiredDueTimes(id, ['2026-01-08T01:00Z']);
    const period = { from: '2026-01-07T23:00:00Z', to: '2026-01-08T01:00:00Z' };
    const backfill = (body: object) =>
      api.call<{ started: { dueAt: string }[]; alreadyStarted: number }>(
        'POST',
        `/api/v2/triggers/${triggerId}/backfill`,
        { body },
      );
    const firstResponse = await backfill(period);
    expect(firstResponse.status).toBe(202);
    expect(firstResponse.data).toMatchObject({
      started: [{ dueAt: '2026-01-07T23:00:00.000Z' }, { dueAt: '2026-01-08T00:00:00.000Z' }],
      alreadyStarted: 1,
      refused: null,
    });
    expect((await backfill(period)).data).toMatchObject({ started: [], alreadyStarted: 3 });
    await expectFiredDueTimes(id, ['2026-01-07T23:00Z', '2026-01-08T00:00Z', '2026-01-08T01:00Z']);
    expect(errorIn((await backfill({ ...period, limit: 2 })).body).message).toMatch(
      /More than 2 runs were due/,
    );
    const futureResponse = await backfill({ from: period.from, to: '2026-02-01T00:00:00Z' });
    expect(errorIn(futureResponse.body).message).toBe('"to" is in the future');
    expect((await backfill({ from: period.to, to: period.from })).status).toBe(400);
  });

  it.each([
    ['none', {}, []],
    ['last', {}, ['2026-01-09T04:00Z']],
    ['all', { missedLimit: 3 }, ['2026-01-09T02:00Z', '2026-01-09T03:00Z', '2026-01-09T04:00Z']],
    ['all', {}, ['2026-01-09T01:00Z', '2026-01-09T02:00Z', '2026-01-09T03:00Z', '2026-01-09T04:00Z']],
  ])('start the missed runs that the fields select: %s %j', async (missedRuns, otherFields, dueTimes) => {
    api.advanceTo('2026-01-09T00:30Z');
    const id = await api.deploy(createTriggerWorkflow({ ...HOURLY_SCHEDULE, missedRuns, ...otherFields }));
    api.advanceTo('2026-01-09T04:30Z');
    const nextDueTime = '2026-01-09T05:00:00.000Z';
    await expect.poll(async () => (await api.readTrigger(id)).nextDueAt).toBe(nextDueTime);
    expect(await api.listFiredDueTimes(id)).toEqual(dueTimes);
    api.advanceTo(nextDueTime);
    await expect.poll(() => api.listFiredDueTimes(id)).toEqual([...dueTimes, '2026-01-09T05:00Z']);
  });

  it('start no runs after their end', async () => {
    api.advanceTo('2026-01-10T00:30Z');
    const id = await api.deploy(createTriggerWorkflow({ ...HOURLY_SCHEDULE, endsAt: '2026-01-10T01:30' }));
    api.advanceTo('2026-01-10T01:00Z');
    await expectFiredDueTimes(id, ['2026-01-10T01:00Z']);
    expect(await api.readTrigger(id)).toMatchObject({ nextDueAt: null, state: 'active' });
  });

  it('are delayed by the same jitter each time', async () => {
    api.advanceTo('2026-01-11T00:30Z');
    const id = await api.deploy(createTriggerWorkflow({ ...HOURLY_SCHEDULE, jitterSeconds: 600 }));
    const readJitterMs = async (): Promise<number> => {
      const row = await api.db
        .selectFrom('triggers')
        .select(['due_ms', 'fire_ms'])
        .where('workflow_id', '=', id)
        .executeTakeFirstOrThrow();
      return Number(row.fire_ms) - Number(row.due_ms);
    };
    const jitterMs = await readJitterMs();
    expect(jitterMs).toBeGreaterThan(0);
    expect(jitterMs).toBeLessThanOrEqual(600_000);
    const fireMs = Date.parse('2026-01-11T01:00Z') + jitterMs;
    api.advanceTo(new Date(fireMs - 1).toISOString());
    api.advanceTo(new Date(fireMs).toISOString());
    await expectFiredDueTimes(id, ['2026-01-11T01:00Z']);
    expect(await readJitterMs()).toBe(jitterMs);
  });

  it('that cannot fire are refused at deployment, with the field and the reason', async () => {
    const id = await api.createDraft(
      createTriggerWorkflow({ scheduleType: 'cron', cronExpression: '61 * * * *' }),
    );
    const response = await deploy(id);
    expect(response.status).toBe(400);
    expect(errorIn(response.body).message).toMatch(
      /^Triggers of the workflow cannot fire: the field "cronExpression" of "Clock" is not /,
    );
    expect(
      (await api.call<{ isDeployed: boolean }>('GET', `/api/v2/workflows/${id}/deployment`)).data.isDeployed,
    ).toBe(false);
  });

  it('of a trigger type that nothing fires are deployed with a warning', async () => {
    const id = await api.createDraft(createTriggerWorkflow({}, { type: 'trigger' }));
    const { data } = await deploy(id);
    expect(data.warnings).toContainEqual(expect.stringMatching(/^Nothing fires "Clock": /));
    expect(data.latestDeploymentAttempt.readiness.schedules).toBe('not_applicable');
  });

  it('can be read and changed only by members of their workspace', async () => {
    api.advanceTo('2026-01-12T00:30Z');
    const id = await api.deploy(createTriggerWorkflow(HOURLY_SCHEDULE));
    const { id: triggerId } = await api.readTrigger(id);
    const userId = await api.store.workspaces.createUser({
      email: `${crypto.randomUUID()}@heddle.test`,
      name: 'Eve',
    });
    await api.store.workspaces.createWorkspace('Other', userId);
    const { key } = await api.store.keys.create({ userId }, 'test');
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/pause'],
      ['POST', '/resume'],
      ['POST', '/run'],
    ] as const) {
      const { status } = await api.call(method, `/api/v2/triggers/${triggerId}${path}`, { key });
      expect(status, path).toBe(404);
    }
    const listResponse = await api.call('GET', `/api/v2/triggers?workspaceId=${api.workspaceId}`, { key });
    expect(listResponse.status).toBe(404);
    expect((await api.call('GET', `/api/v2/triggers/${crypto.randomUUID()}`)).status).toBe(404);
  });
});
