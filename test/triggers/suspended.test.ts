import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { triggerWorkflow } from '../support/trigger-workflow.ts';
import { storesToTest } from '../support/postgres.ts';
import { hookProviders } from '../support/hook-providers.ts';
import type { HookProviders } from '../support/hook-providers.ts';
import { HOOK_TYPES, hookApi } from './hooks/setup.ts';
import type { HookApi } from './hooks/setup.ts';
import { JSON_TYPE, webhookWorkflow } from './webhook-setup.ts';

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
    providers = await hookProviders();
    api = await hookApi(store, providers);
  });
  afterAll(() => providers.close());

  const triggerRow = (id: string) =>
    api.db.selectFrom('triggers').selectAll().where('workflow_id', '=', id).executeTakeFirstOrThrow();
  const failureCount = async (id: string): Promise<number> => {
    // Background work counts the failures of the runs that the engine has recorded.
    api.advance(0);
    return (await triggerRow(id)).failures;
  };
  /** Sends a delivery whose run fails, and waits until the failure is counted. */
  const deliverFailing = async (id: string, path: string, count: number): Promise<void> => {
    const response = await api.send(path, { headers: JSON_TYPE, body: JSON.stringify({ count }) });
    expect(response.status).toBe(200);
    await expect.poll(() => failureCount(id)).toBe(count);
  };

  it('a webhook is suspended with the reason, answers like an unknown path, and can be resumed', async () => {
    const id = await api.deploy(webhookWorkflow({}, { last: FAILING_BLOCK }));
    const path = await api.pathOf(id);
    const event = { type: 'sim_workspace_event' };
    const watcher = await api.deploy(triggerWorkflow({ eventType: 'trigger_suspended' }, event));
    for (let count = 1; count <= 9; count += 1) {
      await deliverFailing(id, path, count);
      api.advance(3 * HOUR_MS);
    }
    expect(await triggerRow(id)).toMatchObject({ state: 'active' });
    await deliverFailing(id, path, 10);
    expect(await triggerRow(id)).toMatchObject({
      state: 'suspended',
      last_error: expect.stringMatching(/not a url/),
    });
    const unknown = await api.send('/api/webhooks/trigger/wh_unknown', { headers: JSON_TYPE, body: '{}' });
    const suspended = await api.send(path, { headers: JSON_TYPE, body: '{}' });
    expect(suspended.status).toBe(404);
    expect(suspended.body).toEqual(unknown.body);
    const { warnings } = await api.deployment(id);
    expect(warnings).toEqual([expect.stringMatching(/^The trigger "Clock" is suspended/)]);
    const { id: triggerId } = await triggerRow(id);
    expect(await api.store.audit.listByResource(triggerId)).toMatchObject([
      { action: 'TRIGGER_SUSPENDED', user_id: null },
    ]);
    // The event starts the run of the other workflow.
    await expect
      .poll(async () => {
        api.advance(1000);
        return (await triggerRow(watcher)).last_run_id;
      })
      .toEqual(expect.any(String));
    expect((await api.call('POST', `/api/v2/triggers/${triggerId}/resume`)).status).toBe(200);
    expect((await api.send(path, { headers: JSON_TYPE, body: '{}' })).status).toBe(200);
    await expect.poll(() => failureCount(id)).toBe(1);
  });

  it('a webhook at a provider is removed, and created again when its trigger is resumed', async () => {
    const { type, fields } = HOOK_TYPES.github;
    const id = await api.deployHook(type, fields, FAILING_BLOCK);
    await api.waitForStatus(id, 'active');
    const [hook] = await api.hooksOf(id);
    const failing = { failures: 9, failing_since_ms: api.now.ms - 25 * HOUR_MS };
    await api.db.updateTable('triggers').set(failing).where('workflow_id', '=', id).execute();
    expect(await api.deliver(hook!, 'fails')).toMatchObject({ status: 200 });
    await expect
      .poll(async () => {
        api.advance(1000);
        return (await triggerRow(id)).state;
      })
      .toBe('suspended');
    api.advance(6000);
    await expect.poll(() => api.hooksOf(id)).toEqual([]);
    const { id: triggerId } = await triggerRow(id);
    await api.call('POST', `/api/v2/triggers/${triggerId}/resume`);
    await api.waitForStatus(id, 'active');
    expect(await api.hooksOf(id)).toHaveLength(1);
  });

  it('an event trigger is suspended; a completed run resets the number of failures', async () => {
    const event = { type: 'sim_workspace_event', last: FAILING_BLOCK };
    const id = await api.deploy(triggerWorkflow({ eventType: 'workflow_deployed' }, event));
    const healthy = await api.deploy(
      triggerWorkflow({ eventType: 'workflow_deployed' }, { type: 'sim_workspace_event' }),
    );
    const failing = { failures: 9, failing_since_ms: api.now.ms - 25 * HOUR_MS };
    await api.db.updateTable('triggers').set(failing).where('workflow_id', 'in', [id, healthy]).execute();
    await api.deploy(triggerWorkflow({ scheduleType: 'minutes', minutesInterval: 60 }));
    const statesAfter = async (): Promise<unknown[]> => {
      api.advance(1000);
      const [first, second] = [await triggerRow(id), await triggerRow(healthy)];
      return [first.state, first.failures, second.state, second.failures];
    };
    await expect.poll(statesAfter).toEqual(['suspended', 10, 'active', 0]);
  });
});
