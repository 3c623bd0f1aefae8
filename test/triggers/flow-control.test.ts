import type { Json } from '@heddle/core';
import { beforeAll, describe, expect, it } from 'vitest';
import { openFlowApi, JSON_HEADERS } from './flow-setup.ts';
import type { FlowApi } from './flow-setup.ts';
import { storesToTest } from '../support/postgres.ts';

const SECOND_MS = 1000;

describe.each(storesToTest('flow control'))('flow control on %s', (store) => {
  let api: FlowApi;

  beforeAll(async () => {
    api = await openFlowApi(store);
  });

  /** Deploys a webhook with flow control, whose runs wait for a resume if `pauses`. */
  const deploy = (flowControl: Json, pauses = false) =>
    api.deployWebhookWithFlowControl(flowControl, { pauses });

  it('starts runs of one key one after another, in order, and does not delay runs of other keys', async () => {
    const hook = await deploy({ concurrency: 1, key: 'customer.id' }, true);
    const [firstResult, secondResult, thirdResult] = [
      await hook.send({ customer: { id: 'a' }, n: 1 }),
      await hook.send({ customer: { id: 'a' }, n: 2 }),
      await hook.send({ customer: { id: 'a' }, n: 3 }),
    ];
    const otherResult = await hook.send({ customer: { id: 'b' } });
    expect(firstResult).toMatchObject({ flow: { state: 'waiting' }, runId: expect.any(String) });
    await api.expectStatus(firstResult.runId, 'paused');
    await api.expectStatus(otherResult.runId, 'paused');
    await api.advance(60 * SECOND_MS);
    expect(await api.statusOf(secondResult.runId)).toBe('queued');
    expect(await hook.listEvents()).toMatchObject([
      { key: 'b', state: 'started', reason: null, runId: otherResult.runId },
      { key: 'a', state: 'waiting', reason: 'queue', runId: thirdResult.runId },
      { key: 'a', state: 'waiting', reason: 'concurrency', runId: secondResult.runId },
      { key: 'a', state: 'started', reason: null, runId: firstResult.runId },
    ]);
    await hook.resume(firstResult.runId);
    await api.advance(SECOND_MS);
    await api.expectStatus(secondResult.runId, 'paused');
    expect(await api.statusOf(thirdResult.runId)).toBe('queued');
    await api.cancel(secondResult.runId);
    await api.advance(SECOND_MS);
    await api.expectStatus(thirdResult.runId, 'paused');
  });

  it('drops a waiting event whose run a caller has cancelled, and starts the run of the next event', async () => {
    const hook = await deploy({ concurrency: 1 }, true);
    const [firstResult, secondResult, thirdResult] = [
      await hook.send({}),
      await hook.send({}),
      await hook.send({}),
    ];
    await api.expectStatus(firstResult.runId, 'paused');
    await api.cancel(secondResult.runId);
    await hook.resume(firstResult.runId);
    await api.advance(SECOND_MS);
    await api.expectStatus(thirdResult.runId, 'paused');
    await api.expectStatus(secondResult.runId, 'cancelled');
    expect(await hook.listEvents()).toMatchObject([
      { state: 'started' },
      { state: 'dropped', reason: 'cancelled' },
      { state: 'started' },
    ]);
  });

  it('starts at most the configured number of runs in any period, and delays further runs', async () => {
    const hook = await deploy({ throttle: { limit: 2, seconds: 60 } });
    const results = [await hook.send({ n: 1 }), await hook.send({ n: 2 })];
    await api.waitUntilIdle();
    await api.advance(10 * SECOND_MS);
    results.push(await hook.send({ n: 3 }), await hook.send({ n: 4 }));
    await api.waitUntilIdle();
    const readStatuses = () => Promise.all(results.map(({ runId }) => api.statusOf(runId)));
    await expect.poll(readStatuses).toEqual(['completed', 'completed', 'queued', 'queued']);
    expect(await hook.listEvents()).toMatchObject([{ reason: 'queue' }, { reason: 'throttle' }, {}, {}]);
    await api.advance(49 * SECOND_MS);
    expect(await readStatuses()).toEqual(['completed', 'completed', 'queued', 'queued']);
    await api.advance(2 * SECOND_MS);
    await expect.poll(readStatuses).toEqual(['completed', 'completed', 'completed', 'completed']);
  });

  it('drops the events above the limit of a throttle whose excess is "drop", and lists them', async () => {
    const hook = await deploy({ throttle: { limit: 1, seconds: 60, excess: 'drop' } });
    const firstResult = await hook.send({ n: 1 });
    const secondResult = await hook.send({ n: 2 });
    expect(secondResult).toEqual({
      success: true,
      runId: firstResult.runId,
      flow: { state: 'dropped', reason: 'throttle' },
    });
    expect(await hook.listDeliveries()).toMatchObject([
      { runId: firstResult.runId, flow: { state: 'dropped', reason: 'throttle', key: '' } },
      { runId: firstResult.runId, flow: { state: 'started', reason: null } },
    ]);
    expect(await hook.replay(0)).toMatchObject({ status: 409 });
    await api.advance(61 * SECOND_MS);
    expect(await hook.send({ n: 3 })).toMatchObject({ flow: { state: 'waiting' } });
  });

  it('debounces events: starts one run for the last event after a pause, or after the maximum delay', async () => {
    const hook = await deploy({ debounce: { seconds: 30, maxSeconds: 70 } });
    const firstResult = await hook.send({ n: 1 });
    await api.advance(20 * SECOND_MS);
    const secondResult = await hook.send({ n: 2 });
    expect(secondResult.runId).toBe(firstResult.runId);
    await api.advance(20 * SECOND_MS);
    expect(await api.statusOf(firstResult.runId)).toBe('queued');
    await api.advance(11 * SECOND_MS);
    await api.expectStatus(firstResult.runId, 'completed');
    expect(await api.readTriggerOutput(firstResult.runId)).toMatchObject({ n: 2 });
    expect(await hook.listEvents()).toMatchObject([
      { state: 'started', runId: firstResult.runId },
      { state: 'merged', reason: 'debounce', runId: firstResult.runId },
    ]);
    const nextResult = await hook.send({ n: 3 });
    expect(nextResult.runId).not.toBe(firstResult.runId);
    // After the maximum delay, the run starts although events still arrive.
    for (const n of [4, 5, 6]) {
      await api.advance(20 * SECOND_MS);
      expect((await hook.send({ n })).runId).toBe(nextResult.runId);
    }
    await api.advance(11 * SECOND_MS);
    await api.expectStatus(nextResult.runId, 'completed');
    expect(await api.readTriggerOutput(nextResult.runId)).toMatchObject({ n: 6 });
  });

  it('starts one run for a batch that is full or whose time is over, and can replay each of its events', async () => {
    const hook = await deploy({ batch: { size: 3, seconds: 60 }, key: 'k' });
    const firstResult = await hook.send({ k: 'a', n: 1 });
    for (const n of [2, 3]) expect((await hook.send({ k: 'a', n })).runId).toBe(firstResult.runId);
    const fourthResult = await hook.send({ k: 'a', n: 4 });
    expect(fourthResult.runId).not.toBe(firstResult.runId);
    await api.expectStatus(firstResult.runId, 'completed');
    const events = [{ n: 1 }, { n: 2 }, { n: 3 }];
    expect(await api.readTriggerOutput(firstResult.runId)).toMatchObject({ events });
    expect(await api.statusOf(fourthResult.runId)).toBe('queued');
    await api.advance(61 * SECOND_MS);
    await api.expectStatus(fourthResult.runId, 'completed');
    expect(await api.readTriggerOutput(fourthResult.runId)).toMatchObject({ events: [{ n: 4 }] });
    // The deliveries are listed newest first, so index 2 is the second event.
    const replayResponse = await hook.replay(2);
    expect(replayResponse).toMatchObject({ status: 202 });
    await api.advance(61 * SECOND_MS);
    await api.expectStatus(replayResponse.data.runId, 'completed');
    expect(await api.readTriggerOutput(replayResponse.data.runId)).toMatchObject({ events: [{ n: 2 }] });
  });

  it('drops events of a singleton while its run has not ended', async () => {
    const hook = await deploy({ singleton: 'skip', key: 'k' }, true);
    const firstResult = await hook.send({ k: 1 });
    expect(await hook.send({ k: 1 })).toMatchObject({
      runId: firstResult.runId,
      flow: { state: 'dropped', reason: 'singleton' },
    });
    expect(await hook.send({ k: 2 })).toMatchObject({ flow: { state: 'waiting' } });
    await api.expectStatus(firstResult.runId, 'paused');
    await hook.resume(firstResult.runId);
    const nextResult = await hook.send({ k: 1 });
    expect(nextResult).toMatchObject({ flow: { state: 'waiting' } });
    await api.expectStatus(nextResult.runId, 'paused');
  });

  it('cancels the run of a singleton when another event arrives, and starts a run for the last event', async () => {
    const hook = await deploy({ singleton: 'cancel' }, true);
    const firstResult = await hook.send({ n: 1 });
    await api.expectStatus(firstResult.runId, 'paused');
    const [secondResult, thirdResult] = [await hook.send({ n: 2 }), await hook.send({ n: 3 })];
    await api.expectStatus(firstResult.runId, 'cancelled');
    await api.advance(2 * SECOND_MS);
    await api.expectStatus(thirdResult.runId, 'paused');
    await api.expectStatus(secondResult.runId, 'cancelled');
    expect(await hook.listEvents()).toMatchObject([{ state: 'started' }, {}, { state: 'started' }]);
  });

  it('applies one limit to all triggers of a workflow if its scope is "workflow"', async () => {
    const [firstHook, secondHook] = await api.deployTwoHooks({ concurrency: 1, scope: 'workflow' });
    const firstResult = await firstHook.send({});
    await api.expectStatus(firstResult.runId, 'paused');
    const secondResult = await secondHook.send({});
    await api.advance(5 * SECOND_MS);
    expect(await api.statusOf(secondResult.runId)).toBe('queued');
    await firstHook.resume(firstResult.runId);
    await api.advance(SECOND_MS);
    await api.expectStatus(secondResult.runId, 'paused');
  });

  it('starts runs of waiting events with the newly deployed version, and drops the events after an undeployment', async () => {
    const hook = await deploy({ throttle: { limit: 1, seconds: 60 } });
    const [firstResult, secondResult, thirdResult] = [
      await hook.send({}),
      await hook.send({ n: 2 }),
      await hook.send({}),
    ];
    await api.expectStatus(firstResult.runId, 'completed');
    await hook.redeploy();
    await api.advance(61 * SECOND_MS);
    await api.expectStatus(secondResult.runId, 'completed');
    expect(await hook.versionOf(secondResult.runId)).not.toBe(await hook.versionOf(firstResult.runId));
    await hook.undeploy();
    await api.advance(61 * SECOND_MS);
    await api.expectStatus(thirdResult.runId, 'cancelled');
    const events = await api.readEventRows(hook.workflowId);
    expect(events).toMatchObject([
      { state: 'started' },
      { state: 'started' },
      { state: 'dropped', reason: 'undeployed' },
    ]);
  });

  it('does not start waiting events while the trigger is paused', async () => {
    const hook = await deploy({ debounce: { seconds: 10 } });
    const { runId } = await hook.send({});
    await hook.callTriggerAction('pause');
    await api.advance(60 * SECOND_MS);
    expect(await api.statusOf(runId)).toBe('queued');
    expect(await hook.listEvents()).toMatchObject([{ state: 'waiting', reason: 'paused' }]);
    await hook.callTriggerAction('resume');
    await api.advance(10 * SECOND_MS);
    await api.expectStatus(runId, 'completed');
  });

  it('refuses events with 429 and Retry-After while too many bytes are waiting', async () => {
    const hook = await deploy({ debounce: { seconds: 10 } });
    await hook.send({});
    await api.db
      .updateTable('flow_events')
      .set({ bytes: 300_000_000 })
      .where('workflow_id', '=', hook.workflowId)
      .execute();
    const response = await api.send(hook.path, { headers: JSON_HEADERS, body: '{}' });
    expect(response).toMatchObject({ status: 429 });
    expect(response.headers.get('retry-after')).not.toBeNull();
    await api.db
      .updateTable('flow_events')
      .set({ bytes: 2 })
      .where('workflow_id', '=', hook.workflowId)
      .execute();
    expect(await api.send(hook.path, { headers: JSON_HEADERS, body: '{}' })).toMatchObject({ status: 200 });
  });

  it('also delays the runs of schedules', async () => {
    const id = await api.deployMinuteSchedule({ throttle: { limit: 1, seconds: 300 } });
    await api.advance(60 * SECOND_MS);
    await api.advance(60 * SECOND_MS);
    await api.advance(SECOND_MS);
    await expect
      .poll(() => api.readEventRows(id))
      .toMatchObject([{ state: 'started' }, { state: 'waiting' }]);
    expect(await api.readEventRows(id)).toMatchObject([{ source: 'schedule' }, { source: 'schedule' }]);
  });
});
