import type { Json } from '@heddle/core';
import { expect } from 'vitest';
import { draftOf } from '../support/draft.ts';
import type { Steps } from '../support/scale.ts';
import {
  timeAtMinute,
  deployMinuteSchedules,
  advanceAndKill,
  expectOneRunPerMinute,
  startProcess,
} from './trigger-process.ts';
import type { Backend, TriggerProcess } from './trigger-process.ts';
import { createTriggerWorkflow } from '../support/trigger-workflow.ts';

/** The work under test must have more steps than this. */
const MIN_STEPS = 6;

/**
 * Kills a process at steps from a due time to its run, one after another. Expects that each due time has one run.
 */
export async function expectOneRunPerDueTimeWhenKilled(
  backend: Backend,
  { firstStep, stride }: Steps,
): Promise<void> {
  let process = await startProcess({ ...backend, nowMs: timeAtMinute(0) });
  const { workflowIds } = await deployMinuteSchedules(process, 1);
  let minute = 0;
  let step = firstStep;
  for (let isDead = true; isDead; step += stride) {
    await expectOneRunPerMinute(process, { workflowIds, minutes: minute });
    minute += 1;
    const nowMs = timeAtMinute(minute);
    isDead = await advanceAndKill(process, { nowMs, killStep: step });
    if (isDead) process = await startProcess({ ...backend, nowMs });
  }
  await expectOneRunPerMinute(process, { workflowIds, minutes: minute });
  expect(step - stride).toBeGreaterThan(MIN_STEPS);
}

/** The same lower bound for events. */
const MIN_EVENT_STEPS = 5;
const POLL_OPTIONS = { timeout: 60_000, interval: 100 };

/**
 * Kills a process at steps from the end of a run to the run that its event starts, one after another, while
 * `otherCount` further processes also poll for events. Expects that each event has one run.
 */
export async function expectOneRunPerEventWhenKilled(
  backend: Backend,
  { firstStep, stride }: Steps,
  otherCount = 0,
): Promise<void> {
  let nowMs = timeAtMinute(0);
  const start = () => startProcess({ ...backend, nowMs, countsEvents: true });
  let process = await start();
  const otherProcesses = await Promise.all(Array.from({ length: otherCount }, start));
  const { key, watchedId, watcherId } = await deployWatchedAndWatchingWorkflows(process);
  /**
   * Advances the clock, so that the processes poll for events. Returns the number of runs of the watcher; -1 if the
   * process is dead.
   */
  const advanceAndCount = async (): Promise<number> => {
    nowMs += 6000;
    for (const triggerProcess of [process, ...otherProcesses])
      await triggerProcess.call('tick', { nowMs, keepsKillStep: true }).catch(() => undefined);
    return process.isDead()
      ? -1
      : process.call<number>('countRuns', { workflowId: watcherId }).catch(() => -1);
  };
  let step = firstStep;
  let eventCount = 0;
  for (let isDead = true; isDead; step += stride) {
    eventCount += 1;
    const request = ['POST', `/workflows/${watchedId}/execute`, {}] as const;
    await process.call('request', { key, request });
    await process.call('tick', { nowMs, killStep: step }).catch(() => undefined);
    const hasEnded = async (): Promise<boolean> =>
      (await advanceAndCount()) === eventCount || process.isDead();
    await expect.poll(hasEnded, POLL_OPTIONS).toBe(true);
    // From here on the process does not die, even if its work after the run reaches the step.
    await process.call('tick', { nowMs }).catch(() => undefined);
    isDead = process.isDead();
    if (isDead) process = await start();
    await expect.poll(advanceAndCount, POLL_OPTIONS).toBe(eventCount);
  }
  for (let poll = 0; poll < 3; poll += 1) expect(await advanceAndCount()).toBe(eventCount);
  expect(step - stride).toBeGreaterThan(MIN_EVENT_STEPS);
}

/** Deploys a workflow, and a second workflow that starts when a run of the first has completed. */
async function deployWatchedAndWatchingWorkflows(
  process: TriggerProcess,
): Promise<{ key: string; watchedId: string; watcherId: string }> {
  const { key, workspaceId } = await process.call<{ key: string; workspaceId: string }>('createWorkspace');
  const deploy = async (name: string, definition: Json): Promise<string> => {
    const request = <Data>(...args: [string, string, unknown?]) =>
      process.call<Data>('request', { key, request: args });
    const { id } = await request<{ id: string }>('POST', '/workflows', { workspaceId, name });
    await request('PUT', `/workflows/${id}/state`, draftOf(definition));
    await request('POST', `/workflows/${id}/deploy`);
    return id;
  };
  const watchedId = await deploy('Watched', createTriggerWorkflow({}, { type: 'start_trigger' }));
  const fields = { eventType: 'execution_success', workflowIds: [watchedId], cooldownMinutes: 0 };
  const watcherId = await deploy('Watcher', createTriggerWorkflow(fields, { type: 'sim_workspace_event' }));
  return { key, watchedId, watcherId };
}
