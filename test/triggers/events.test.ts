import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Kysely } from 'kysely';
import { markReconnect } from '../../packages/service/src/credentials/refresh-store.ts';
import { recordEvents } from '../../packages/service/src/triggers/events/outbox.ts';
import type { CredentialTables } from '../../packages/service/src/credentials/tables.ts';
import { eventApi, FAILING_BLOCK } from './event-setup.ts';
import type { EventApi } from './event-setup.ts';
import { hasPostgres, storesToTest } from '../support/postgres.ts';

const RUN_FIELDS = { runId: null, durationMs: null, cost: null, finalOutput: null, errorMessage: null };

describe.each(storesToTest('events of the service'))('events of the service on %s', (kind) => {
  let api: EventApi;
  beforeAll(async () => {
    api = await eventApi(kind);
  });
  afterEach(() => {
    const [fault] = api.faults;
    if (fault !== undefined) throw new Error('The API has reported a fault.', { cause: fault });
  });

  it('start a run with data about a failed run, and none for completed runs or other workflows', async () => {
    const watched = await api.deployWatched();
    const other = await api.deployWatched();
    const id = await api.deployWatcher({ eventType: 'execution_error', workflowIds: [watched] });
    await api.run(watched);
    await api.run(other, { fails: true });
    expect(await api.inputs(id)).toEqual([]);
    const runId = await api.run(watched, { fails: true });
    const [input, ...otherInputs] = await api.inputs(id);
    expect(otherInputs).toEqual([]);
    expect(input).toMatchObject({
      ...{ event: 'execution_error', workflowId: watched, runId, cost: null, triggeringRun: null },
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
    const watched = await api.deployWatched();
    const failing = await api.deployWatcher(
      { eventType: 'execution_error', workflowIds: [watched] },
      { last: FAILING_BLOCK },
    );
    const chained = await api.deployWatcher({ eventType: 'execution_error', workflowIds: [failing] });
    await api.run(watched, { fails: true });
    expect(await api.inputs(failing)).toHaveLength(1);
    await api.waitUntilIdle();
    expect(await api.inputs(failing)).toHaveLength(1);
    expect(await api.inputs(chained)).toEqual([]);
  });

  it('start no run of a workflow for its own failures', async () => {
    const failing = await api.deployWatcher({ eventType: 'execution_error' }, { last: FAILING_BLOCK });
    const other = await api.deployWatcher({ eventType: 'execution_error', workflowIds: [failing] });
    await api.run(failing);
    expect(await api.inputs(other)).toMatchObject([{ workflowId: failing }]);
    expect(await api.inputs(failing)).toHaveLength(1);
    await api.call('DELETE', `/api/v2/workflows/${failing}/deploy`);
  });

  it('start a run for each deployment, with the version that became live, and for an undeployment', async () => {
    const watched = await api.deployWatched();
    const workflowIds = [watched];
    const deployed = await api.deployWatcher({ eventType: 'workflow_deployed', workflowIds });
    const undeployed = await api.deployWatcher({ eventType: 'workflow_undeployed', workflowIds });
    await api.call('POST', `/api/v2/workflows/${watched}/deploy`);
    await api.call('POST', `/api/v2/workflows/${watched}/versions/1/activate`);
    await api.call('DELETE', `/api/v2/workflows/${watched}/deploy`);
    await api.waitUntilIdle();
    const common = { ...RUN_FIELDS, workflowId: watched, triggeringRun: null };
    const inputs = await api.inputs(deployed);
    expect(inputs.toSorted((a, b) => Number(b['version']) - Number(a['version']))).toMatchObject([
      { ...common, event: 'workflow_deployed', version: 2 },
      { ...common, event: 'workflow_deployed', version: 1 },
    ]);
    expect(await api.inputs(undeployed)).toMatchObject([
      { ...common, event: 'workflow_undeployed', version: null },
    ]);
  });

  it('start a run after a number of failed runs in a row, and then none during the cooldown', async () => {
    const watched = await api.deployWatched();
    const id = await api.deployWatcher({
      ...{ eventType: 'consecutive_failures', workflowIds: [watched], consecutiveFailures: '2' },
      cooldownMinutes: '90',
    });
    for (const fails of [true, false, true]) await api.run(watched, { fails });
    expect(await api.inputs(id)).toEqual([]);
    const runId = await api.run(watched, { fails: true });
    const [input, ...otherInputs] = await api.inputs(id);
    expect(otherInputs).toEqual([]);
    expect(input).toMatchObject({
      ...{ ...RUN_FIELDS, event: 'consecutive_failures', workflowId: watched },
      triggeringRun: { runId, errorMessage: expect.stringContaining('It was asked to fail.') as string },
    });
    await api.run(watched, { fails: true });
    expect(await api.inputs(id)).toHaveLength(1);
    api.now.ms += 90 * 60_000;
    await api.run(watched, { fails: true });
    expect(await api.inputs(id)).toHaveLength(2);
  });

  it('start one run for each period in which a workflow has no runs', async () => {
    const watched = await api.deployWatched();
    const id = await api.deployWatcher({
      eventType: 'no_activity',
      workflowIds: watched,
      inactivityHours: 12,
    });
    await api.run(watched);
    expect(await api.inputs(id)).toEqual([]);
    api.now.ms += 12 * 3_600_000;
    await api.waitUntilIdle();
    await api.waitUntilIdle();
    expect(await api.inputs(id)).toMatchObject([
      { ...RUN_FIELDS, event: 'no_activity', workflowId: watched, triggeringRun: null },
    ]);
    api.now.ms += 12 * 3_600_000;
    await api.waitUntilIdle();
    expect(await api.inputs(id)).toHaveLength(2);
  });
});

describe('conditions on the runs of a workflow', () => {
  it('are met by a number of failures and by slow runs, and after five runs by a failure rate and a latency spike', async () => {
    const api = await eventApi('sqlite');
    const watched = await api.deployWatched();
    const workflowIds = `["${watched}"]`;
    const rate = await api.deployWatcher({
      eventType: 'failure_rate',
      workflowIds,
      failureRatePercent: '40',
    });
    const count = await api.deployWatcher({ eventType: 'error_count', workflowIds, errorCountThreshold: 2 });
    const slow = await api.deployWatcher({
      eventType: 'latency_threshold',
      workflowIds,
      durationThresholdMs: 1,
    });
    const never = await api.deployWatcher({ eventType: 'latency_threshold', workflowIds });
    const spike = await api.deployWatcher({ eventType: 'latency_spike', workflowIds });
    const cost = await api.deployWatcher({ eventType: 'cost_threshold', workflowIds });
    for (const fails of [true, false, false, true]) await api.run(watched, { fails });
    expect(await api.inputs(count)).toHaveLength(1);
    expect(await api.inputs(rate)).toEqual([]);
    // Three of five runs have failed, and none of them had a cost.
    const lastRunId = await api.run(watched, { fails: true });
    expect(await api.inputs(rate)).toMatchObject([{ triggeringRun: { runId: lastRunId } }]);
    expect(await api.inputs(slow)).toHaveLength(1);
    // The earlier runs have a duration of almost 0.
    await api.db.updateTable('run_logs').set({ duration_ms: 0 }).execute();
    expect(await api.inputs(spike)).toEqual([]);
    await api.run(watched);
    expect(await api.inputs(spike)).toHaveLength(1);
    expect(await api.inputs(never)).toEqual([]);
    expect(await api.inputs(cost)).toEqual([]);
    expect(api.faults).toEqual([]);
  });

  it('are met by the cost of a run, in credits', async () => {
    const api = await eventApi('sqlite');
    const watched = await api.deployWatched();
    const id = await api.deployWatcher({ eventType: 'cost_threshold', costThresholdCredits: '150.5' });
    const runId = await api.run(watched);
    expect(await api.inputs(id)).toEqual([]);
    for (const cost of [0.75, 0.76]) {
      await api.db.updateTable('run_logs').set({ cost }).execute();
      const event = { kind: 'run_ended', workspaceId: api.workspaceId, happenedMs: 0 } as const;
      await recordEvents(api.db, [{ ...event, workflowId: watched, subjectId: runId }]);
      await api.waitUntilIdle();
      expect(await api.inputs(id)).toHaveLength(cost === 0.76 ? 1 : 0);
    }
    expect(await api.inputs(id)).toMatchObject([{ triggeringRun: { runId, cost: 152 } }]);
  });
});

describe('events of credentials', () => {
  it('start runs whose input does not contain the secret', async () => {
    const api = await eventApi('sqlite');
    const changed = await api.deployWatcher({ eventType: 'credential_changed' });
    const reconnect = await api.deployWatcher({ eventType: 'credential_reconnect' });
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
    const tables = api.store.database as Kysely<CredentialTables>;
    const row = await tables.selectFrom('credentials').selectAll().executeTakeFirstOrThrow();
    await markReconnect(tables, api.store.audit, { row, now: new Date().toISOString() });
    await api.call('DELETE', path);
    await api.waitUntilIdle();
    const inputs = await api.inputs(changed);
    expect(inputs.map(({ credential }) => credential)).toEqual(
      expect.arrayContaining([
        { id: data.id, name: 'Ours', provider: 'shop', change: 'created' },
        { id: data.id, name: 'Theirs', provider: 'shop', change: 'updated' },
        { id: data.id, name: 'Theirs', provider: 'shop', change: 'deleted' },
      ]),
    );
    expect(inputs).toHaveLength(3);
    expect(JSON.stringify(inputs)).not.toContain('key-secret');
    expect(await api.inputs(reconnect)).toMatchObject([
      { event: 'credential_reconnect', workflowId: null, credential: { id: data.id, name: 'Theirs' } },
    ]);
  });
});

describe('a workspace', () => {
  it('without an event trigger records no events, and events of another workspace start no runs in it', async () => {
    const api = await eventApi('sqlite');
    const watched = await api.deployWatched();
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Others', api.userId);
    await api.db
      .insertInto('event_watchers')
      .values({ workflow_id: 'other', workspace_id: otherWorkspaceId, since_ms: 0 })
      .execute();
    await api.call('POST', `/api/v2/workflows/${watched}/execute`, { body: { input: { fails: true } } });
    await api.waitUntilIdle();
    expect(await api.db.selectFrom('run_logs').selectAll().execute()).toHaveLength(1);
    expect(await api.db.selectFrom('service_events').selectAll().execute()).toEqual([]);
    // The event of another workspace has no trigger in this one.
    const id = await api.deployWatcher({ eventType: 'workflow_undeployed' });
    const event = {
      id: 'theirs',
      workspace_id: otherWorkspaceId,
      workflow_id: watched,
      subject_id: null,
      details: null,
    };
    const times = { happened_ms: 0, recorded_ms: Date.now(), look_ms: 0, attempts: 0 };
    await api.db
      .insertInto('service_events')
      .values({ ...event, ...times, kind: 'workflow_undeployed' })
      .execute();
    await api.waitUntilIdle();
    expect(await api.inputs(id)).toEqual([]);
    expect(await api.db.selectFrom('service_events').selectAll().execute()).toEqual([]);
  });
});

describe('several processes with event triggers', () => {
  it('start one run for each event', async () => {
    const kind = hasPostgres ? 'postgres' : 'sqlite';
    const first = await eventApi(kind);
    // The second process shares the engine and the store.
    const second = await eventApi(kind, { store: first.store, engine: first.engine });
    const watched = await first.deployWatched();
    const id = await first.deployWatcher({ eventType: 'execution_success', workflowIds: [watched] });
    const path = `/api/v2/workflows/${watched}/execute`;
    await Promise.all(Array.from({ length: 5 }, () => first.call('POST', path, { body: {} })));
    await Promise.all([first.waitUntilIdle(), second.waitUntilIdle()]);
    const inputs = await first.inputs(id);
    expect(new Set(inputs.map(({ runId }) => runId)).size).toBe(5);
    expect(inputs).toHaveLength(5);
    expect([...first.faults, ...second.faults]).toEqual([]);
  });
});

describe('the fields of an event trigger', () => {
  it('are checked when the workflow is deployed', async () => {
    const api = await eventApi('sqlite');
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
