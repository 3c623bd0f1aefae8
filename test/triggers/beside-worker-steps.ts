import { randomUUID } from 'node:crypto';
import type { Json } from '@heddle/core';
import { expect } from 'vitest';
import { draftOf } from '../support/draft.ts';
import { scheduledWorkflow } from '../support/triggered.ts';
import { newsFeed } from './feeds/setup.ts';
import { FROM_MS, startProcess } from './killed.ts';
import type { FiringProcess, Place, ReportedFire } from './killed.ts';
import { webhookWorkflow } from './webhook-setup.ts';

const MINUTE_MS = 60_000;
const INTERVAL_MINUTES = 10;
/** Longer than the lease of the poll of a process that has died. */
const ROUND_MS = 6 * MINUTE_MS;
const TIMEOUT = { timeout: 60_000, interval: 100 };

/** Workflows that start at a schedule, a feed, an event, and a webhook with flow control. */
interface Deployed {
  key: string;
  schedule: string;
  feed: string;
  watched: string;
  watcher: string;
  hook: { id: string; path: string };
}

async function deployAll(from: FiringProcess, feedUrl: string): Promise<Deployed> {
  const { key, workspaceId } = await from.call<{ key: string; workspaceId: string }>('workspace');
  const request = <Data>(...parts: [string, string, unknown?]) =>
    from.call<Data>('request', { key, request: parts });
  const deployed = async (exported: Json): Promise<string> => {
    const { id } = await request<{ id: string }>('POST', '/workflows', { workspaceId, name: randomUUID() });
    await request('PUT', `/workflows/${id}/state`, draftOf(exported));
    await request('POST', `/workflows/${id}/deploy`);
    return id;
  };
  const watched = await deployed(scheduledWorkflow({}, { type: 'start_trigger' }));
  const events = { eventType: 'execution_success', workflowIds: [watched], cooldownMinutes: 0 };
  const every = { scheduleType: 'minutes', minutesInterval: INTERVAL_MINUTES, missedRuns: 'all' };
  const id = await deployed(webhookWorkflow({ flowControl: { concurrency: 1 } }));
  const { webhooks } = await request<{ webhooks: { url: string }[] }>('GET', `/workflows/${id}/deployment`);
  return {
    ...{ key, watched, hook: { id, path: new URL(webhooks[0]?.url ?? 'http://none').pathname } },
    schedule: await deployed(scheduledWorkflow({ ...every, missedLimit: 100 })),
    feed: await deployed(scheduledWorkflow({ feedUrl, pollMinutes: 1 }, { type: 'rss' })),
    watcher: await deployed(scheduledWorkflow(events, { type: 'sim_workspace_event' })),
  };
}

/** Kills a server and a worker in turn, at steps of their work, while the other works. Expects one run for each event. */
export async function expectOnceBeside(place: Place, rounds: number): Promise<void> {
  const news = await newsFeed();
  let nowMs = FROM_MS;
  const start = (name: 'server' | 'worker', round: number): Promise<FiringProcess> =>
    startProcess({
      ...{ ...place, nowMs },
      ...(name === 'worker' && { isWorker: true }),
      ...(round % 4 > 1 && { countsEvents: true }),
    });
  const all = { server: await start('server', 0), worker: await start('worker', 0) };
  const { key, schedule, feed, watched, watcher, hook } = await deployAll(all.server, news.url);
  const counts = async (from: FiringProcess): Promise<number[]> => {
    nowMs += 6000;
    for (const each of [all.server, all.worker])
      await each.call('now', { nowMs, stillDies: true }).catch(() => undefined);
    const completed = async (call: 'fires' | 'items' | 'deliveries'): Promise<number> => {
      const found = await from.call<Pick<ReportedFire, 'status'>[]>(call);
      return found.every(({ status }) => status === 'completed') ? found.length : -1;
    };
    const done = [await completed('fires'), await completed('items'), await completed('deliveries')];
    const runs = [schedule, feed, hook.id, watcher].map((workflowId) =>
      from.call<number>('runs', { workflowId }),
    );
    return [...done, ...(await Promise.all(runs))];
  };
  /**
   * Returns the expected counts after a round: one per due time that has passed, two deliveries per round, one of each
   * other event.
   */
  const expected = (round: number): number[] => {
    const dues = Math.floor((nowMs - FROM_MS) / MINUTE_MS / INTERVAL_MINUTES);
    return [dues, round, 2 * round, dues, round, 2 * round, round];
  };
  const expectAll = async (from: FiringProcess, round: number): Promise<void> => {
    const compared = async (): Promise<string> => {
      const found = (await counts(from)).join();
      const wanted = expected(round).join();
      return found === wanted ? 'equal' : `the runs are ${found}, not ${wanted}`;
    };
    await expect.poll(compared, TIMEOUT).toBe('equal');
  };
  const isPolled = async (): Promise<boolean> => {
    await counts(all.server);
    return news.requests.length > 0;
  };
  await expect.poll(isPolled, TIMEOUT).toBe(true);

  const deaths = { server: 0, worker: 0 };
  for (let round = 1; round <= rounds; round += 1) {
    const dying = round % 2 === 0 ? 'server' : 'worker';
    news.items.unshift({ id: `item ${round}` });
    await all.server.call('request', { key, request: ['POST', `/workflows/${watched}/execute`, {}] });
    for (const each of ['a', 'b']) {
      const answer = all.server.call('deliver', { path: hook.path, deliveryId: `${round}${each}` });
      expect(await answer).toMatchObject({ status: 200 });
    }
    nowMs += ROUND_MS;
    await all[dying].call('now', { nowMs, dieAt: ((7 * round) % 19) + 1 }).catch(() => undefined);
    const other = all[dying === 'server' ? 'worker' : 'server'];
    await expectAll(other, round);
    if (!all[dying].isDead()) continue;
    deaths[dying] += 1;
    all[dying] = await start(dying, round);
  }
  // No process starts a run later.
  for (let look = 0; look < 3; look += 1) await counts(all.worker);
  await expectAll(all.server, rounds);
  expect(Math.min(deaths.server, deaths.worker)).toBeGreaterThan(0);
}
