import { createApi } from '@heddle/api';
import { triggerTypes } from '@heddle/blocks/triggers';
import { createEngine } from '@heddle/engine';
import { openServiceStore, servicePorts, triggerWorkerAreas } from '@heddle/service';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenantOptionsOf } from '../support/api.ts';
import { draftOf } from '../support/draft.ts';
import { startHookProviders } from '../support/hook-providers.ts';
import type { HookProviders } from '../support/hook-providers.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { createTriggerWorkflow } from '../support/trigger-workflow.ts';
import { FAILING_BLOCK } from './event-setup.ts';
import { startNewsFeed } from './feeds/setup.ts';
import { HOOK_TYPES, openHookApi } from './registrations/setup.ts';
import type { HookApi } from './registrations/setup.ts';
import { createManualInterval } from './manual-interval.ts';
import { JSON_HEADERS, createWebhookWorkflow } from './webhook-setup.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const FEED_OPTIONS = { egress: { allowPrivate: true, ports: 'any' as const } };

describe.skipIf(!hasPostgres)('a server and a worker with triggers, on one PostgreSQL database,', () => {
  const workerInterval = createManualInterval();
  let providers: HookProviders;
  let server: HookApi;
  const cleanups: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    const url = await createPostgresDatabase();
    const secret = 'x'.repeat(32);
    const engineOptions = { postgres: { url }, triggers: triggerTypes };
    providers = await startHookProviders();
    server = await openHookApi('postgres', providers, {
      store: await openServiceStore({ postgres: { url }, secret }),
      ...{ engineOptions, feeds: FEED_OPTIONS },
    });
    const store = await openServiceStore({ postgres: { url }, secret });
    const engine = await createEngine({ ...tenantOptionsOf(store), ...engineOptions });
    const worker = await createApi({
      ...{ engine, database: store, authenticator: { authenticate: () => Promise.resolve(undefined) } },
      ports: servicePorts(store),
      areas: triggerWorkerAreas({ triggers: triggerTypes, feeds: FEED_OPTIONS }),
      ...{ now: () => server.now.ms, repeat: workerInterval.repeat },
      onError: (error) => server.reportedErrors.push(error),
    });
    cleanups.push(
      () => worker.close(),
      () => engine.close({ graceMs: 0 }),
      () => store.close(),
      () => providers.close(),
    );
  });
  afterAll(async () => {
    for (const close of cleanups) await close();
  });

  /**
   * Advances the clock and runs the background work of both processes, or only of `activeProcess`, as if the other had
   * died.
   */
  function advance(ms: number, activeProcess?: 'server' | 'worker'): void {
    server.now.ms += ms;
    if (activeProcess !== 'worker') server.advance(0);
    if (activeProcess !== 'server') workerInterval.tick();
  }

  /** Waits until a workflow has exactly `count` runs, all completed. Each poll advances the clock by `stepMs`. */
  async function expectRuns(
    id: string,
    count: number,
    { activeProcess, stepMs = 0 }: { activeProcess?: 'server' | 'worker' | undefined; stepMs?: number },
  ): Promise<void> {
    const countCompletedRuns = async (): Promise<number> => {
      advance(stepMs, activeProcess);
      const { runs } = await server.engine.listRuns({ workflowId: id, limit: 100 });
      return runs.every(({ status }) => status === 'completed') ? runs.length : -1;
    };
    await expect.poll(countCompletedRuns, { timeout: 10_000, interval: 30 }).toBe(count);
  }

  /**
   * Calls `addEvents` in each of four minutes: while both processes work, only the server, both, and only the worker.
   * Expects as many runs as `addEvents` returns; `addEvents(0)` adds none and returns the total.
   */
  async function expectRunsEachMinute(
    id: string,
    addEvents: (minute: number) => Promise<number>,
    stepMs = 0,
  ): Promise<void> {
    for (const [index, activeProcess] of ([undefined, 'server', undefined, 'worker'] as const).entries()) {
      const count = await addEvents(index + 1);
      advance(MINUTE_MS, activeProcess);
      await expectRuns(id, count, { activeProcess, stepMs });
    }
    advance(0);
    await expectRuns(id, await addEvents(0), { stepMs });
  }

  it('start one run for each due time of a schedule', async () => {
    const id = await server.deploy(createTriggerWorkflow({ scheduleType: 'minutes', minutesInterval: 1 }));
    await expectRunsEachMinute(id, (minute) => Promise.resolve(minute === 0 ? 4 : minute));
    await server.call('DELETE', `/api/v2/workflows/${id}/deploy`);
  });

  it('poll a source once per interval, and start one run for each of its items', async () => {
    const news = await startNewsFeed();
    const id = await server.deploy(
      createTriggerWorkflow({ feedUrl: news.url, pollMinutes: 1 }, { type: 'rss' }),
    );
    const readLastCheckTime = async (): Promise<unknown> => {
      advance(0);
      return (await server.triggerOf(id)).health.lastCheckAt;
    };
    await expect.poll(readLastCheckTime).toEqual(expect.any(String));
    await expectRunsEachMinute(id, (minute) => {
      if (minute > 0) news.items.unshift({ id: `${minute}a` }, { id: `${minute}b` });
      return Promise.resolve(news.items.length);
    });
    expect(news.requests).toHaveLength(5);
    await server.call('DELETE', `/api/v2/workflows/${id}/deploy`);
  });

  it('start one run for each event', async () => {
    const watchedId = await server.deploy(createTriggerWorkflow({}, { type: 'start_trigger' }));
    const fields = { eventType: 'execution_success', workflowIds: [watchedId], cooldownMinutes: 0 };
    const id = await server.deploy(createTriggerWorkflow(fields, { type: 'sim_workspace_event' }));
    const runWatchedWorkflow = async (minute: number): Promise<number> => {
      if (minute === 0) return 4;
      const { status } = await server.call('POST', `/api/v2/workflows/${watchedId}/execute`, { body: {} });
      expect(status).toBe(200);
      return minute;
    };
    await expectRunsEachMinute(id, runWatchedWorkflow, 1000);
  });

  it('start one run for each event that flow control has delayed', async () => {
    const { workflowId, path } = await server.deployWebhook({ flowControl: { concurrency: 1 } });
    let count = 0;
    const sendThreeDeliveries = async (minute: number): Promise<number> => {
      for (let index = 0; index < 3 && minute > 0; index += 1) {
        const body = JSON.stringify({ number: (count += 1) });
        expect((await server.send(path, { headers: JSON_HEADERS, body })).status).toBe(200);
      }
      return count;
    };
    // If a process checks a waiting event just before the other process ends the run, it checks again a second later.
    await expectRunsEachMinute(workflowId, sendThreeDeliveries, 1000);
  });

  it('create each webhook at a provider once, and remove only the webhook of a trigger that the worker suspended', async () => {
    const { type, fields } = HOOK_TYPES.github;
    const hookFields = { ...fields, triggerCredentials: server.credentials['github'] ?? '' };
    const draft = draftOf(createWebhookWorkflow(hookFields, { type, lastBlock: FAILING_BLOCK as never })) as {
      blocks: { [id: string]: object };
      edges: { target: string }[];
    };
    const [[blockId, block] = ['', {}]] = Object.entries(draft.blocks);
    const secondBlock = JSON.parse(
      JSON.stringify(block).replaceAll(blockId, `${blockId}-two`).replace('"loom"', '"shuttle"'),
    ) as object;
    draft.blocks[`${blockId}-two`] = { ...secondBlock, name: 'Second' };
    draft.edges.push({
      ...(draft.edges[0] as object),
      id: crypto.randomUUID(),
      source: `${blockId}-two`,
    } as never);
    const id = await server.createDraft(createWebhookWorkflow({}));
    await server.call('PUT', `/api/v2/workflows/${id}/state`, { body: draft });
    expect((await server.call('POST', `/api/v2/workflows/${id}/deploy`)).status).toBe(200);
    await server.waitForStatus(id, 'active');
    advance(0);
    const listHookResources = () => providers.hooks.map(({ resource }) => resource).toSorted();
    expect(listHookResources()).toEqual(['ada/loom', 'ada/shuttle']);
    expect(providers.requests.filter((request) => request.startsWith('POST github'))).toHaveLength(2);

    const failureColumns = { failures: 9, failing_since_ms: server.now.ms - 25 * HOUR_MS };
    await server.db
      .updateTable('triggers')
      .set(failureColumns)
      .where('workflow_id', '=', id)
      .where('block_id', '=', blockId)
      .execute();
    const loomHook = providers.hooks.find(({ resource }) => resource === 'ada/loom');
    expect(await server.deliver(loomHook!, 'fails')).toMatchObject({ status: 200 });
    // Only the background work of the worker runs, so the worker counts the failure.
    const readStates = async () => {
      advance(1000, 'worker');
      const rows = await server.db
        .selectFrom('triggers')
        .select('state')
        .where('workflow_id', '=', id)
        .orderBy('block_id')
        .execute();
      return rows.map(({ state }) => state);
    };
    await expect.poll(readStates).toEqual(['suspended', 'active']);
    advance(6000);
    await expect
      .poll(() => {
        advance(0);
        return listHookResources();
      })
      .toEqual(['ada/shuttle']);
    const readHookStates = () =>
      server.hookDb.selectFrom('provider_hooks').select('state').where('workflow_id', '=', id).execute();
    await expect.poll(readHookStates).toEqual([{ state: 'active' }]);
    expect(server.reportedErrors).toEqual([]);
  });
});
