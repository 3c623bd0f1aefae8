import { expect } from 'vitest';
import { atMinute, deployMinutely, dies, expectOnceEach, startProcess } from './killed.ts';
import type { Place } from './killed.ts';

/** Fewer steps than there are between a due time and its run: a lower bound that keeps the test honest. */
const LEAST_STEPS = 6;

/**
 * Kills a process at each step from a due time to its run, from `first` on, one after the other. Expects that each due time
 * has one run.
 */
export async function expectOnceWhenKilled(place: Place, first = 1): Promise<void> {
  let process = await startProcess({ ...place, nowMs: atMinute(0) });
  const { workflowIds } = await deployMinutely(process, 1);
  let minute = 0;
  for (let isDead = true; isDead;) {
    await expectOnceEach(process, { workflowIds, minutes: minute });
    minute += 1;
    const nowMs = atMinute(minute);
    isDead = await dies(process, { nowMs, dieAt: first + minute - 1 });
    if (isDead) process = await startProcess({ ...place, nowMs });
  }
  await expectOnceEach(process, { workflowIds, minutes: minute });
  expect(first + minute - 1).toBeGreaterThan(LEAST_STEPS);
}
