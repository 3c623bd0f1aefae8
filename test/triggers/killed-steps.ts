import type { Json } from '@heddle/core';
import { expect } from 'vitest';
import { draftOf } from '../support/draft.ts';
import type { Steps } from '../support/scale.ts';
import {
  atMinute,
  deployMinutely,
  advanceAndKill,
  expectOneRunPerMinute,
  startProcess,
} from './trigger-process.ts';
import type { Backend, TriggerProcess } from './trigger-process.ts';
import { triggerWorkflow } from '../support/trigger-workflow.ts';

/** The work under test must have more steps than this. */
const MIN_STEPS = 6;

/**
 * Kills a process at steps from a due time to its run, one after another. Expects that each due time has one run.
 */
export async function expectOneRunPerDueTimeWhenKilled(
  backend: Backend,
  { first, stride }: Steps,
): Promise<void> {
  let process = await startProcess({ ...backend, nowMs: atMinute(0) });
  const { workflowIds } = await deployMinutely(process, 1);
  let minute = 0;
  let step = first;
  for (let isDead = true; isDead; step += stride) {
    await expectOneRunPerMinute(process, { workflowIds, minutes: minute });
    minute += 1;
    const nowMs = atMinute(minute);
    isDead = await advanceAndKill(process, { nowMs, killAt: step });
    if (isDead) process = await startProcess({ ...backend, nowMs });
  }
  await expectOneRunPerMinute(process, { workflowIds, minutes: minute });
  expect(step - stride).toBeGreaterThan(MIN_STEPS);
}

/** The same lower bound for events. */
const MIN_EVENT_STEPS = 5;
const TIMEOUT = { timeout: 60_000, interval: 100 };

/**
 * Kills a process at steps from the end of a run to the run that its event starts, one after another, while
 * `otherCount` further processes also poll for events. Expects that each event has one run.
 */
export async function expectOneRunPerEventWhenKilled(
  backend: Backend,
  { first, stride }: Steps,
  otherCount = 0,
): Promise<void> {
  let nowMs = atMinute(0);
  const start = () => startProcess({ ...backend, nowMs, countsEvents: true });
  let process = await start();
  const others = await Promise.all(Array.from({ length: otherCount }, start));
  const { key, watched, watcher } = await deployWatched(process);
  /**
   * Advances the clock, so that the processes poll for events. Returns the number of runs of the watcher; -1 if the
   * process is dead.
   */
  const advanceAndCount = async (): Promise<number> => {
    nowMs += 6000;
    for (const each of [process, ...others])
      await each.call('tick', { nowMs, keepsKillAt: true }).catch(() => undefined);
    return process.isDead() ? -1 : process.call<number>('countRuns', { workflowId: watcher }).catch(() => -1);
  };
  let step = first;
  let eventCount = 0;
  for (let isDead = true; isDead; step += stride) {
    eventCount += 1;
    const request = ['POST', `/workflows/${watched}/execute`, {}] as const;
    await process.call('request', { key, request });
    await process.call('tick', { nowMs, killAt: step }).catch(() => undefined);
    const hasEnded = async (): Promise<boolean> =>
      (await advanceAndCount()) === eventCount || process.isDead();
    await expect.poll(hasEnded, TIMEOUT).toBe(true);
    // From here on the process does not die, even if its work after the run reaches the step.
    await process.call('tick', { nowMs }).catch(() => undefined);
    isDead = process.isDead();
    if (isDead) process = await start();
    await expect.poll(advanceAndCount, TIMEOUT).toBe(eventCount);
  }
  for (let poll = 0; poll < 3; poll += 1) expect(await advanceAndCount()).toBe(eventCount);
  expect(step - stride).toBeGreaterThan(MIN_EVENT_STEPS);
}

/** Deploys a workflow, and a second workflow that starts when a run of the first has completed. */
async function deployWatched(
  process: TriggerProcess,
): Promise<{ key: string; watched: string; watcher: string }> {
  const { key, workspaceId } = await process.call<{ key: string; workspaceId: string }>('workspace');
  const deploy = async (name: string, exported: Json): Promise<string> => {
    const request = <Data>(...parts: [string, string, unknown?]) =>
      process.call<Data>('request', { key, request: parts });
    const { id } = await request<{ id: string }>('POST', '/workflows', { workspaceId, name });
    await request('PUT', `/workflows/${id}/state`, draftOf(exported));
    await request('POST', `/workflows/${id}/deploy`);
    return id;
  };
  const watched = await deploy('Watched', triggerWorkflow({}, { type: 'start_trigger' }));
  const fields = { eventType: 'execution_success', workflowIds: [watched], cooldownMinutes: 0 };
  const watcher = await deploy('Watcher', triggerWorkflow(fields, { type: 'sim_workspace_event' }));
  return { key, watched, watcher };
}
