import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTriggerWorkflow } from '../support/trigger-workflow.ts';
import { storesToTest } from '../support/postgres.ts';
import { startHookProviders } from '../support/hook-providers.ts';
import type { HookProviders } from '../support/hook-providers.ts';
import { HOOK_TYPES, openHookApi } from './registrations/setup.ts';
import type { HookApi } from './registrations/setup.ts';
import { JSON_HEADERS, createWebhookWorkflow } from './webhook-setup.ts';

const HOUR_MS = 3_600_000;
/** A block that fails. */
const FAILING_BLOCK = {
  type: 'api',
  subBlocks: { url: { id: 'url', type: 'short-input', value: 'not a url' } },
};

describe.each(storesToTest('suspended'))('after ten failures in a row over a day, on %s', (store) => {
  let providers: HookProviders;
  let api: HookApi;

  beforeAll(async () => {
    providers = await startHookProviders();
    api = await openHookApi(store, providers);
  });
  afterAll(() => providers.close());

  const readTriggerRow = (id: string) =>
    api.db.selectFrom('triggers').selectAll().where('workflow_id', '=', id).executeTakeFirstOrThrow();
  const readFailureCount = async (id: string): Promise<number> => {
    // Background work counts the failures of the runs that the engine has recorded.
    api.advance(0);
    return (await readTriggerRow(id)).failures;
  };
  /** Sends a delivery whose run fails, and waits until the failure is counted. */
  const deliverFailingEvent = async (id: string, path: string, count: number): Promise<void> => {
    const response = await api.send(path, { headers: JSON_HEADERS, body: JSON.stringify({ count }) });
    expect(response.status).toBe(200);
    await expect.poll(() => readFailureCount(id)).toBe(count);
  };

  it('a webhook is suspended with the reason, responds like an unknown path, and can be resumed', async () => {
    const id = await api.deploy(createWebhookWorkflow({}, { lastBlock: FAILING_BLOCK }));
    const path = await api.pathOf(id);
    const options = { type: 'sim_workspace_event' };
    const watcherId = await api.deploy(createTriggerWorkflow({ eventType: 'trigger_suspended' }, options));
    for (let count = 1; count <= 9; count += 1) {
      await deliverFailingEvent(id, path, count);
      api.advance(3 * HOUR_MS);
    }
    expect(await readTriggerRow(id)).toMatchObject({ state: 'active' });
    await deliverFailingEvent(id, path, 10);
    expect(await readTriggerRow(id)).toMatchObject({
      state: 'suspended',
      last_error: expect.stringMatching(/not a url/),
    });
    const unknownPathResponse = await api.send('/api/webhooks/trigger/wh_unknown', {
      headers: JSON_HEADERS,
      body: '{}',
    });
    const suspendedResponse = await api.send(path, { headers: JSON_HEADERS, body: '{}' });
    expect(suspendedResponse.status).toBe(404);
    expect(suspendedResponse.body).toEqual(unknownPathResponse.body);
    const { warnings } = await api.readDeployment(id);
    expect(warnings).toEqual([expect.stringMatching(/^The trigger "Clock" is suspended/)]);
    const { id: triggerId } = await readTriggerRow(id);
    expect(await api.store.audit.listByResource(triggerId)).toMatchObject([
      { action: 'TRIGGER_SUSPENDED', user_id: null },
    ]);
    // The event starts the run of the other workflow.
    await expect
      .poll(async () => {
        api.advance(1000);
        return (await readTriggerRow(watcherId)).last_run_id;
      })
      .toEqual(expect.any(String));
    expect((await api.call('POST', `/api/v2/triggers/${triggerId}/resume`)).status).toBe(200);
    expect((await api.send(path, { headers: JSON_HEADERS, body: '{}' })).status).toBe(200);
    await expect.poll(() => readFailureCount(id)).toBe(1);
  });

  it('a webhook at a provider is removed, and created again when its trigger is resumed', async () => {
    const { type, fields } = HOOK_TYPES.github;
    const id = await api.deployWebhookWorkflow(type, fields, FAILING_BLOCK);
    await api.waitForStatus(id, 'active');
    const [hook] = await api.hooksOf(id);
    const failureColumns = { failures: 9, failing_since_ms: api.now.ms - 25 * HOUR_MS };
    await api.db.updateTable('triggers').set(failureColumns).where('workflow_id', '=', id).execute();
    expect(await api.deliver(hook!, 'fails')).toMatchObject({ status: 200 });
    await expect
      .poll(async () => {
        api.advance(1000);
        return (await readTriggerRow(id)).state;
      })
      .toBe('suspended');
    api.advance(6000);
    await expect.poll(() => api.hooksOf(id)).toEqual([]);
    const { id: triggerId } = await readTriggerRow(id);
    await api.call('POST', `/api/v2/triggers/${triggerId}/resume`);
    await api.waitForStatus(id, 'active');
    expect(await api.hooksOf(id)).toHaveLength(1);
  });

  it('an event trigger is suspended; a completed run resets the number of failures', async () => {
    const options = { type: 'sim_workspace_event', lastBlock: FAILING_BLOCK };
    const id = await api.deploy(createTriggerWorkflow({ eventType: 'workflow_deployed' }, options));
    const healthyId = await api.deploy(
      createTriggerWorkflow({ eventType: 'workflow_deployed' }, { type: 'sim_workspace_event' }),
    );
    const failureColumns = { failures: 9, failing_since_ms: api.now.ms - 25 * HOUR_MS };
    await api.db
      .updateTable('triggers')
      .set(failureColumns)
      .where('workflow_id', 'in', [id, healthyId])
      .execute();
    await api.deploy(createTriggerWorkflow({ scheduleType: 'minutes', minutesInterval: 60 }));
    const readStates = async (): Promise<unknown[]> => {
      api.advance(1000);
      const [firstRow, secondRow] = [await readTriggerRow(id), await readTriggerRow(healthyId)];
      return [firstRow.state, firstRow.failures, secondRow.state, secondRow.failures];
    };
    await expect.poll(readStates).toEqual(['suspended', 10, 'active', 0]);
  });
});
