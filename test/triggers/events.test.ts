import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Kysely } from 'kysely';
import { markReconnectRequired } from '../../packages/service/src/credentials/refresh-store.ts';
import { recordEvents } from '../../packages/service/src/triggers/events/outbox.ts';
import type { CredentialTables } from '../../packages/service/src/credentials/tables.ts';
import { openEventApi, FAILING_BLOCK } from './event-setup.ts';
import type { EventApi } from './event-setup.ts';
import { hasPostgres, storesToTest } from '../support/postgres.ts';

const EMPTY_RUN_FIELDS = { runId: null, durationMs: null, cost: null, finalOutput: null, errorMessage: null };

describe.each(storesToTest('workspace events'))('workspace events on %s', (kind) => {
  let api: EventApi;
  beforeAll(async () => {
    api = await openEventApi(kind);
  });
  afterEach(() => {
    const [reportedError] = api.reportedErrors;
    if (reportedError !== undefined)
      throw new Error('The API has reported an error.', { cause: reportedError });
  });

  it('start a run with data about a failed run, and none for completed runs or other workflows', async () => {
    const watchedId = await api.deployWatchedWorkflow();
    const otherId = await api.deployWatchedWorkflow();
    const id = await api.deployWatcher({ eventType: 'execution_error', workflowIds: [watchedId] });
    await api.run(watchedId);
    await api.run(otherId, { fails: true });
    expect(await api.listInputs(id)).toEqual([]);
    const runId = await api.run(watchedId, { fails: true });
    const [input, ...otherInputs] = await api.listInputs(id);
    expect(otherInputs).toEqual([]);
    expect(input).toMatchObject({
      ...{ event: 'execution_error', workflowId: watchedId, runId, cost: null, triggeringRun: null },
      ...{ version: null, credential: null },
    });
    expect(input).toMatchObject({
      workflowName: expect.stringContaining('Workflow') as string,
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      durationMs: expect.any(Number) as number,
      errorMessage: expect.stringContaining('It was asked to fail.') as string,
    });
  });

  it('start no runs for runs that events have started', async () => {
    const watchedId = await api.deployWatchedWorkflow();
    const failingId = await api.deployWatcher(
      { eventType: 'execution_error', workflowIds: [watchedId] },
      { lastBlock: FAILING_BLOCK },
    );
    const chainedWatcherId = await api.deployWatcher({
      eventType: 'execution_error',
      workflowIds: [failingId],
    });
    await api.run(watchedId, { fails: true });
    expect(await api.listInputs(failingId)).toHaveLength(1);
    await api.waitUntilIdle();
    expect(await api.listInputs(failingId)).toHaveLength(1);
    expect(await api.listInputs(chainedWatcherId)).toEqual([]);
  });

  it('start no run of a workflow for its own failures', async () => {
    const failingId = await api.deployWatcher({ eventType: 'execution_error' }, { lastBlock: FAILING_BLOCK });
    const otherId = await api.deployWatcher({ eventType: 'execution_error', workflowIds: [failingId] });
    await api.run(failingId);
    expect(await api.listInputs(otherId)).toMatchObject([{ workflowId: failingId }]);
    expect(await api.listInputs(failingId)).toHaveLength(1);
    await api.call('DELETE', `/api/v2/workflows/${failingId}/deploy`);
  });

  it('start a run for each deployment, with the version that became live, and for an undeployment', async () => {
    const watchedId = await api.deployWatchedWorkflow();
    const workflowIds = [watchedId];
    const deploymentWatcherId = await api.deployWatcher({ eventType: 'workflow_deployed', workflowIds });
    const undeploymentWatcherId = await api.deployWatcher({ eventType: 'workflow_undeployed', workflowIds });
    await api.call('POST', `/api/v2/workflows/${watchedId}/deploy`);
    await api.call('POST', `/api/v2/workflows/${watchedId}/versions/1/activate`);
    await api.call('DELETE', `/api/v2/workflows/${watchedId}/deploy`);
    await api.waitUntilIdle();
    const commonFields = { ...EMPTY_RUN_FIELDS, workflowId: watchedId, triggeringRun: null };
    const inputs = await api.listInputs(deploymentWatcherId);
    expect(inputs.toSorted((a, b) => Number(b['version']) - Number(a['version']))).toMatchObject([
      { ...commonFields, event: 'workflow_deployed', version: 2 },
      { ...commonFields, event: 'workflow_deployed', version: 1 },
    ]);
    expect(await api.listInputs(undeploymentWatcherId)).toMatchObject([
      { ...commonFields, event: 'workflow_undeployed', version: null },
    ]);
  });

  it('start a run after a number of failed runs in a row, and then none during the cooldown', async () => {
    const watchedId = await api.deployWatchedWorkflow();
    const id = await api.deployWatcher({
      ...{ eventType: 'consecutive_failures', workflowIds: [watchedId], consecutiveFailures: '2' },
      cooldownMinutes: '90',
    });
    for (const fails of [true, false, true]) await api.run(watchedId, { fails });
    expect(await api.listInputs(id)).toEqual([]);
    const runId = await api.run(watchedId, { fails: true });
    const [input, ...otherInputs] = await api.listInputs(id);
    expect(otherInputs).toEqual([]);
    expect(input).toMatchObject({
      ...{ ...EMPTY_RUN_FIELDS, event: 'consecutive_failures', workflowId: watchedId },
      triggeringRun: { runId, errorMessage: expect.stringContaining('It was asked to fail.') as string },
    });
    await api.run(watchedId, { fails: true });
    expect(await api.listInputs(id)).toHaveLength(1);
    api.now.ms += 90 * 60_000;
    await api.run(watchedId, { fails: true });
    expect(await api.listInputs(id)).toHaveLength(2);
  });

  it('start one run for each period in which a workflow has no runs', async () => {
    const watchedId = await api.deployWatchedWorkflow();
    const id = await api.deployWatcher({
      eventType: 'no_activity',
      workflowIds: watchedId,
      inactivityHours: 12,
    });
    await api.run(watchedId);
    expect(await api.listInputs(id)).toEqual([]);
    api.now.ms += 12 * 3_600_000;
    await api.waitUntilIdle();
    await api.waitUntilIdle();
    expect(await api.listInputs(id)).toMatchObject([
      { ...EMPTY_RUN_FIELDS, event: 'no_activity', workflowId: watchedId, triggeringRun: null },
    ]);
    api.now.ms += 12 * 3_600_000;
    await api.waitUntilIdle();
    expect(await api.listInputs(id)).toHaveLength(2);
  });
});

describe('conditions on the runs of a workflow', () => {
  it('are met by a number of failures and by slow runs, and after five runs by a failure rate and a latency spike', async () => {
    const api = await openEventApi('sqlite');
    const watchedId = await api.deployWatchedWorkflow();
    const workflowIds = `["${watchedId}"]`;
    const rateWatcherId = await api.deployWatcher({
      eventType: 'failure_rate',
      workflowIds,
      failureRatePercent: '40',
    });
    const countWatcherId = await api.deployWatcher({
      eventType: 'error_count',
      workflowIds,
      errorCountThreshold: 2,
    });
    const slowRunWatcherId = await api.deployWatcher({
      eventType: 'latency_threshold',
      workflowIds,
      durationThresholdMs: 1,
    });
    const defaultThresholdWatcherId = await api.deployWatcher({
      eventType: 'latency_threshold',
      workflowIds,
    });
    const spikeWatcherId = await api.deployWatcher({ eventType: 'latency_spike', workflowIds });
    const costWatcherId = await api.deployWatcher({ eventType: 'cost_threshold', workflowIds });
    for (const fails of [true, false, false, true]) await api.run(watchedId, { fails });
    expect(await api.listInputs(countWatcherId)).toHaveLength(1);
    expect(await api.listInputs(rateWatcherId)).toEqual([]);
    // Three of five runs have failed, and none of them had a cost.
    const lastRunId = await api.run(watchedId, { fails: true });
    expect(await api.listInputs(rateWatcherId)).toMatchObject([{ triggeringRun: { runId: lastRunId } }]);
    expect(await api.listInputs(slowRunWatcherId)).toHaveLength(1);
    // The earlier runs have a duration of almost 0.
    await api.db.updateTable('run_logs').set({ duration_ms: 0 }).execute();
    expect(await api.listInputs(spikeWatcherId)).toEqual([]);
    await api.run(watchedId);
    expect(await api.listInputs(spikeWatcherId)).toHaveLength(1);
    expect(await api.listInputs(defaultThresholdWatcherId)).toEqual([]);
    expect(await api.listInputs(costWatcherId)).toEqual([]);
    expect(api.reportedErrors).toEqual([]);
  });

  it('are met by the cost of a run, in credits', async () => {
    const api = await openEventApi('sqlite');
    const watchedId = await api.deployWatchedWorkflow();
    const id = await api.deployWatcher({ eventType: 'cost_threshold', costThresholdCredits: '150.5' });
    const runId = await api.run(watchedId);
    expect(await api.listInputs(id)).toEqual([]);
    for (const cost of [0.75, 0.76]) {
      await api.db.updateTable('run_logs').set({ cost }).execute();
      const event = { kind: 'run_ended', workspaceId: api.workspaceId, happenedMs: 0 } as const;
      await recordEvents(api.db, [{ ...event, workflowId: watchedId, subjectId: runId }]);
      await api.waitUntilIdle();
      expect(await api.listInputs(id)).toHaveLength(cost === 0.76 ? 1 : 0);
    }
    expect(await api.listInputs(id)).toMatchObject([{ triggeringRun: { runId, cost: 152 } }]);
  });
});

describe('events of credentials', () => {
  it('start runs whose input does not contain the secret', async () => {
    const api = await openEventApi('sqlite');
    const changeWatcherId = await api.deployWatcher({ eventType: 'credential_changed' });
    const reconnectWatcherId = await api.deployWatcher({ eventType: 'credential_reconnect' });
    const { workspaceId } = api;
    const body = {
      workspaceId,
      type: 'service_account',
      providerId: 'shop',
      displayName: 'Ours',
      credentials: '{"apiToken": "key-secret"}',
    };
    const { data } = await api.call<{ id: string }>('POST', '/api/v2/credentials', { body });
    const path = `/api/v2/credentials/${data.id}?workspaceId=${workspaceId}`;
    await api.call('PATCH', path, { body: { displayName: 'Theirs' } });
    const database = api.store.database as Kysely<CredentialTables>;
    const row = await database.selectFrom('credentials').selectAll().executeTakeFirstOrThrow();
    await markReconnectRequired(database, api.store.audit, { row, now: new Date().toISOString() });
    await api.call('DELETE', path);
    await api.waitUntilIdle();
    const inputs = await api.listInputs(changeWatcherId);
    expect(inputs.map(({ credential }) => credential)).toEqual(
      expect.arrayContaining([
        { id: data.id, name: 'Ours', provider: 'shop', change: 'created' },
        { id: data.id, name: 'Theirs', provider: 'shop', change: 'updated' },
        { id: data.id, name: 'Theirs', provider: 'shop', change: 'deleted' },
      ]),
    );
    expect(inputs).toHaveLength(3);
    expect(JSON.stringify(inputs)).not.toContain('key-secret');
    expect(await api.listInputs(reconnectWatcherId)).toMatchObject([
      { event: 'credential_reconnect', workflowId: null, credential: { id: data.id, name: 'Theirs' } },
    ]);
  });
});

describe('a workspace', () => {
  it('without an event trigger records no events, and events of another workspace start no runs in it', async () => {
    const api = await openEventApi('sqlite');
    const watchedId = await api.deployWatchedWorkflow();
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Others', api.userId);
    await api.db
      .insertInto('event_watchers')
      .values({ workflow_id: 'other', workspace_id: otherWorkspaceId, since_ms: 0 })
      .execute();
    await api.call('POST', `/api/v2/workflows/${watchedId}/execute`, { body: { input: { fails: true } } });
    await api.waitUntilIdle();
    expect(await api.db.selectFrom('run_logs').selectAll().execute()).toHaveLength(1);
    expect(await api.db.selectFrom('service_events').selectAll().execute()).toEqual([]);
    // The event of another workspace has no trigger in this one.
    const id = await api.deployWatcher({ eventType: 'workflow_undeployed' });
    const event = {
      id: 'theirs',
      workspace_id: otherWorkspaceId,
      workflow_id: watchedId,
      subject_id: null,
      details: null,
    };
    const times = { happened_ms: 0, recorded_ms: Date.now(), look_ms: 0, attempts: 0 };
    await api.db
      .insertInto('service_events')
      .values({ ...event, ...times, kind: 'workflow_undeployed' })
      .execute();
    await api.waitUntilIdle();
    expect(await api.listInputs(id)).toEqual([]);
    expect(await api.db.selectFrom('service_events').selectAll().execute()).toEqual([]);
  });
});

describe('several processes with event triggers', () => {
  it('start one run for each event', async () => {
    const kind = hasPostgres ? 'postgres' : 'sqlite';
    const firstApi = await openEventApi(kind);
    // The second process shares the engine and the store.
    const secondApi = await openEventApi(kind, { store: firstApi.store, engine: firstApi.engine });
    const watchedId = await firstApi.deployWatchedWorkflow();
    const id = await firstApi.deployWatcher({ eventType: 'execution_success', workflowIds: [watchedId] });
    const path = `/api/v2/workflows/${watchedId}/execute`;
    await Promise.all(Array.from({ length: 5 }, () => firstApi.call('POST', path, { body: {} })));
    await Promise.all([firstApi.waitUntilIdle(), secondApi.waitUntilIdle()]);
    const inputs = await firstApi.listInputs(id);
    expect(new Set(inputs.map(({ runId }) => runId)).size).toBe(5);
    expect(inputs).toHaveLength(5);
    expect([...firstApi.reportedErrors, ...secondApi.reportedErrors]).toEqual([]);
  });
});

describe('the fields of an event trigger', () => {
  it('are checked when the workflow is deployed', async () => {
    const api = await openEventApi('sqlite');
    const fields = {
      eventType: 'error_count',
      errorCountThreshold: 'many',
      windowHours: '0',
      cooldownMinutes: -1,
    };
    await expect(api.deployWatcher(fields)).rejects.toThrow(
      /errorCountThreshold.*windowHours.*cooldownMinutes/s,
    );
    await expect(api.deployWatcher({ eventType: 'sunrise' })).rejects.toThrow('eventType');
    const ids = Array.from({ length: 101 }, (_, index) => `w${index}`);
    await expect(api.deployWatcher({ workflowIds: ids })).rejects.toThrow('workflowIds');
    // Fields of other conditions are ignored.
    await api.deployWatcher({ eventType: 'execution_error', windowHours: 'x' });
  });
});
