import { expect } from 'vitest';
import { draftOf } from '../../support/draft.ts';
import type { Steps } from '../../support/scale.ts';
import { createTriggerWorkflow } from '../../support/trigger-workflow.ts';
import { timeAtMinute, startProcess } from '../trigger-process.ts';
import type { Backend, TriggerProcess } from '../trigger-process.ts';
import { startNewsFeed } from './setup.ts';
import type { NewsFeed } from './setup.ts';

/** The work under test must have more steps than this. */
const MIN_STEPS = 8;
/** Longer than the lease that a killed process may still have on a poll. */
export const ROUND_MINUTES = 6;
const POLL_OPTIONS = { timeout: 60_000, interval: 100 };

/** A deployed feed: an API key, and the id of its workflow. */
interface DeployedFeed {
  key: string;
  workflowId: string;
}

/** Deploys a workflow with a feed, and waits for the first poll of its source. */
export async function deployFeed(process: TriggerProcess, news: NewsFeed): Promise<DeployedFeed> {
  const { key, workspaceId } = await process.call<{ key: string; workspaceId: string }>('createWorkspace');
  const request = <Data>(...args: [string, string, unknown?]) =>
    process.call<Data>('request', { key, request: args });
  const { id: workflowId } = await request<{ id: string }>('POST', '/workflows', {
    workspaceId,
    name: 'News',
  });
  const workflow = createTriggerWorkflow({ feedUrl: news.url, pollMinutes: 1 }, { type: 'rss' });
  await request('PUT', `/workflows/${workflowId}/state`, draftOf(workflow));
  await request('POST', `/workflows/${workflowId}/deploy`);
  const readLastCheckTime = async (): Promise<unknown> => {
    await process.call('tick');
    const [trigger] = await request<{ health: { lastCheckAt: string | null } }[]>(
      'GET',
      `/triggers?workspaceId=${workspaceId}`,
    );
    return trigger?.health.lastCheckAt;
  };
  await expect.poll(readLastCheckTime, POLL_OPTIONS).not.toBeNull();
  return { key, workflowId };
}

/** Expects one completed run for each item, and no other run. */
export async function expectOneRunPerItem(
  process: TriggerProcess,
  { workflowId }: DeployedFeed,
  titles: readonly string[],
): Promise<void> {
  const readItemStatuses = async () => {
    await process.call('tick');
    const items = await process.call<{ status: string; title: string }[]>('listItems');
    return new Set(items.map(({ status, title }) => `${title} ${status}`));
  };
  await expect
    .poll(readItemStatuses, POLL_OPTIONS)
    .toEqual(new Set(titles.map((title) => `${title} completed`)));
  expect(await process.call<number>('countRuns', { workflowId })).toBe(titles.length);
}

/**
 * Advances the clock of a process, which is killed at step `killStep`. Returns true if the process has died, false if
 * the run of the item completed before that step.
 */
async function advanceAndKill(
  process: TriggerProcess,
  { nowMs, killStep, title }: { nowMs: number; killStep: number; title: string },
): Promise<boolean> {
  const ignoreIfDead = async <Value>(call: Promise<Value>): Promise<Value | undefined> =>
    call.catch((error: unknown) => {
      if (process.isDead()) return undefined;
      throw error;
    });
  await ignoreIfDead(process.call('tick', { nowMs, killStep }));
  const hasEnded = async (): Promise<boolean> => {
    const items = (await ignoreIfDead(process.call<{ status: string; title: string }[]>('listItems'))) ?? [];
    return process.isDead() || items.some((item) => item.title === title && item.status === 'completed');
  };
  await expect.poll(hasEnded, POLL_OPTIONS).toBe(true);
  return process.isDead();
}

/**
 * Kills a process at steps from a poll to the run of an item, and starts another process each time. Expects that each
 * item has one run.
 */
export async function expectOneRunPerItemWhenKilled(
  backend: Backend,
  { firstStep, stride }: Steps,
): Promise<void> {
  const news = await startNewsFeed();
  const startAt = (nowMs: number) => startProcess({ ...backend, nowMs, countsResults: true });
  let process = await startAt(timeAtMinute(0));
  const feed = await deployFeed(process, news);
  const titles: string[] = [];
  let [minute, step] = [0, firstStep];
  for (let isDead = true; isDead; step += stride) {
    minute += ROUND_MINUTES;
    const title = `item ${step}`;
    titles.push(title);
    news.items.unshift({ id: title, title });
    const nowMs = timeAtMinute(minute);
    isDead = await advanceAndKill(process, { nowMs, killStep: step, title });
    if (!isDead) break;
    minute += ROUND_MINUTES;
    process = await startAt(timeAtMinute(minute));
    await expectOneRunPerItem(process, feed, titles);
  }
  await expectOneRunPerItem(process, feed, titles);
  expect(step).toBeGreaterThan(MIN_STEPS);
}
