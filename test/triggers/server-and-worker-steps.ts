import { randomUUID } from 'node:crypto';
import type { Json } from '@heddle/core';
import { expect } from 'vitest';
import { draftOf } from '../support/draft.ts';
import { createTriggerWorkflow } from '../support/trigger-workflow.ts';
import { startNewsFeed } from './feeds/setup.ts';
import { START_TIME_MS, startProcess } from './trigger-process.ts';
import type { Backend, TriggerProcess, TriggeredRun } from './trigger-process.ts';
import { createWebhookWorkflow } from './webhook-setup.ts';

const MINUTE_MS = 60_000;
const INTERVAL_MINUTES = 10;
/** Longer than the lease that a killed process may still have on a poll. */
const ROUND_MS = 6 * MINUTE_MS;
const POLL_OPTIONS = { timeout: 60_000, interval: 100 };

/**
 * An API key, and the ids of workflows that a schedule, a feed, an event of the workflow `watchedId` and a webhook
 * start.
 */
interface DeployedWorkflows {
  key: string;
  scheduleWorkflowId: string;
  feedWorkflowId: string;
  watchedId: string;
  watcherId: string;
  hook: { id: string; path: string };
}

async function deployWorkflows(process: TriggerProcess, feedUrl: string): Promise<DeployedWorkflows> {
  const { key, workspaceId } = await process.call<{ key: string; workspaceId: string }>('createWorkspace');
  const request = <Data>(...args: [string, string, unknown?]) =>
    process.call<Data>('request', { key, request: args });
  const deploy = async (definition: Json): Promise<string> => {
    const { id } = await request<{ id: string }>('POST', '/workflows', { workspaceId, name: randomUUID() });
    await request('PUT', `/workflows/${id}/state`, draftOf(definition));
    await request('POST', `/workflows/${id}/deploy`);
    return id;
  };
  const watchedId = await deploy(createTriggerWorkflow({}, { type: 'start_trigger' }));
  const eventFields = { eventType: 'execution_success', workflowIds: [watchedId], cooldownMinutes: 0 };
  const scheduleFields = { scheduleType: 'minutes', minutesInterval: INTERVAL_MINUTES, missedRuns: 'all' };
  const id = await deploy(createWebhookWorkflow({ flowControl: { concurrency: 1 } }));
  const { webhooks } = await request<{ webhooks: { url: string }[] }>('GET', `/workflows/${id}/deployment`);
  return {
    ...{ key, watchedId, hook: { id, path: new URL(webhooks[0]?.url ?? 'http://none').pathname } },
    scheduleWorkflowId: await deploy(createTriggerWorkflow({ ...scheduleFields, missedLimit: 100 })),
    feedWorkflowId: await deploy(createTriggerWorkflow({ feedUrl, pollMinutes: 1 }, { type: 'rss' })),
    watcherId: await deploy(createTriggerWorkflow(eventFields, { type: 'sim_workspace_event' })),
  };
}

/**
 * Kills a server and a worker in turn, at various steps, while the other keeps working. Expects exactly one run for
 * each event.
 */
export async function expectOneRunPerEventWhenKilledInTurn(
  backend: Backend,
  roundCount: number,
): Promise<void> {
  const news = await startNewsFeed();
  let nowMs = START_TIME_MS;
  const start = (name: 'server' | 'worker', round: number): Promise<TriggerProcess> =>
    startProcess({
      ...{ ...backend, nowMs },
      ...(name === 'worker' && { isWorker: true }),
      ...(round % 4 > 1 && { countsEvents: true }),
    });
  const processes = { server: await start('server', 0), worker: await start('worker', 0) };
  const { key, scheduleWorkflowId, feedWorkflowId, watchedId, watcherId, hook } = await deployWorkflows(
    processes.server,
    news.url,
  );
  /** Advances the clock of both processes. Returns the counts that `computeExpectedCounts` lists. */
  const advanceAndCount = async (process: TriggerProcess): Promise<number[]> => {
    nowMs += 6000;
    for (const triggerProcess of [processes.server, processes.worker])
      await triggerProcess.call('tick', { nowMs, keepsKillStep: true }).catch(() => undefined);
    const countCompleted = async (
      call: 'listTriggeredRuns' | 'listItems' | 'listDeliveries',
    ): Promise<number> => {
      const runs = await process.call<Pick<TriggeredRun, 'status'>[]>(call);
      return runs.every(({ status }) => status === 'completed') ? runs.length : -1;
    };
    const completedCounts = [
      await countCompleted('listTriggeredRuns'),
      await countCompleted('listItems'),
      await countCompleted('listDeliveries'),
    ];
    const runCounts = [scheduleWorkflowId, feedWorkflowId, hook.id, watcherId].map((workflowId) =>
      process.call<number>('countRuns', { workflowId }),
    );
    return [...completedCounts, ...(await Promise.all(runCounts))];
  };
  /**
   * Returns the expected numbers of runs of triggers, items and deliveries, and of the runs of the four workflows,
   * after a round: one for each due time that has passed, two deliveries, and one of each other event per round.
   */
  const computeExpectedCounts = (round: number): number[] => {
    const dueCount = Math.floor((nowMs - START_TIME_MS) / MINUTE_MS / INTERVAL_MINUTES);
    return [dueCount, round, 2 * round, dueCount, round, 2 * round, round];
  };
  const expectCounts = async (process: TriggerProcess, round: number): Promise<void> => {
    const compareCounts = async (): Promise<string> => {
      const actual = (await advanceAndCount(process)).join();
      const expected = computeExpectedCounts(round).join();
      return actual === expected ? 'equal' : `the counts are ${actual}, not ${expected}`;
    };
    await expect.poll(compareCounts, POLL_OPTIONS).toBe('equal');
  };
  const isPolled = async (): Promise<boolean> => {
    await advanceAndCount(processes.server);
    return news.requests.length > 0;
  };
  await expect.poll(isPolled, POLL_OPTIONS).toBe(true);

  const deathCounts = { server: 0, worker: 0 };
  for (let round = 1; round <= roundCount; round += 1) {
    const killedProcessName = round % 2 === 0 ? 'server' : 'worker';
    news.items.unshift({ id: `item ${round}` });
    await processes.server.call('request', { key, request: ['POST', `/workflows/${watchedId}/execute`, {}] });
    for (const suffix of ['a', 'b']) {
      const response = processes.server.call('deliver', { path: hook.path, deliveryId: `${round}${suffix}` });
      expect(await response).toMatchObject({ status: 200 });
    }
    nowMs += ROUND_MS;
    await processes[killedProcessName]
      .call('tick', { nowMs, killStep: ((7 * round) % 19) + 1 })
      .catch(() => undefined);
    const otherProcess = processes[killedProcessName === 'server' ? 'worker' : 'server'];
    await expectCounts(otherProcess, round);
    if (!processes[killedProcessName].isDead()) continue;
    deathCounts[killedProcessName] += 1;
    processes[killedProcessName] = await start(killedProcessName, round);
  }
  // Further polls start no run.
  for (let poll = 0; poll < 3; poll += 1) await advanceAndCount(processes.worker);
  await expectCounts(processes.server, roundCount);
  expect(Math.min(deathCounts.server, deathCounts.worker)).toBeGreaterThan(0);
}
