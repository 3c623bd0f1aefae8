import { expect } from 'vitest';
import type { Steps } from '../support/scale.ts';
import { atMinute, deployMinutely, dies, expectOnceEach, startProcess } from './killed.ts';
import type { Place } from './killed.ts';

/** Fewer steps than there are between a due time and its run: a lower bound that keeps the test honest. */
const LEAST_STEPS = 6;

/**
 * Kills a process at steps from a due time to its run, one after the other. Expects that each due time has one run.
 */
export async function expectOnceWhenKilled(place: Place, { first, stride }: Steps): Promise<void> {
  let process = await startProcess({ ...place, nowMs: atMinute(0) });
  const { workflowIds } = await deployMinutely(process, 1);
  let minute = 0;
  let step = first;
  for (let isDead = true; isDead; step += stride) {
    await expectOnceEach(process, { workflowIds, minutes: minute });
    minute += 1;
    const nowMs = atMinute(minute);
    isDead = await dies(process, { nowMs, dieAt: step });
    if (isDead) process = await startProcess({ ...place, nowMs });
  }
  await expectOnceEach(process, { workflowIds, minutes: minute });
  expect(step - stride).toBeGreaterThan(LEAST_STEPS);
}
