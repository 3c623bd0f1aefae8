import { describe, expect, it } from 'vitest';
import { MAX_LATE_JOB_EXCESS, planGrowth, assignHelper } from './assignment.ts';
import type { Slot } from './slot.ts';

type AssignedSlot = Parameters<typeof assignHelper>[1];

function slotWith(fields: Partial<AssignedSlot> = {}): AssignedSlot {
  return {
    poolKey: 't',
    ready: true,
    retiring: false,
    isolateKeys: new Set<string>(),
    lateJobExcess: 0,
    ...fields,
  };
}

const lateSlot = () => slotWith({ isolateKeys: new Set(['run']), lateJobExcess: MAX_LATE_JOB_EXCESS });

describe('a process whose jobs arrive faster than it creates contexts', () => {
  it('shares the jobs of the run with another process of its pool key', () => {
    const [slot, otherKeySlot, retiringSlot, helper] = [
      lateSlot(),
      slotWith({ poolKey: 'u' }),
      slotWith({ retiring: true }),
      slotWith(),
    ];
    expect(assignHelper([slot, otherKeySlot, retiringSlot, helper], slot, 'run')).toBe(false);
    expect([otherKeySlot, retiringSlot, helper].map(({ isolateKeys }) => isolateKeys.has('run'))).toEqual([
      false,
      false,
      true,
    ]);
    expect(slot.lateJobExcess).toBe(0);
  });

  it('gets a new helper for jobs with their own isolates, unless there is one already', () => {
    const [slot, helper] = [slotWith({ lateJobExcess: MAX_LATE_JOB_EXCESS }), slotWith()];
    expect(assignHelper([slot, slotWith({ poolKey: 'u' })], slot, '')).toBe(true);
    expect(slot.lateJobExcess).toBe(0);
    slot.lateJobExcess = MAX_LATE_JOB_EXCESS;
    expect(assignHelper([slot, helper], slot, '')).toBe(false);
    expect(helper.isolateKeys.size).toBe(0);
  });

  it('gets a new helper if all others of its pool key help already', () => {
    const slot = lateSlot();
    expect(
      assignHelper(
        [slot, slotWith({ poolKey: 'u' }), slotWith({ isolateKeys: new Set(['run']) })],
        slot,
        'run',
      ),
    ).toBe(true);
  });

  it('waits for a helper that is starting', () => {
    const [slot, startingSlot] = [lateSlot(), slotWith({ ready: false })];
    expect(assignHelper([slot, startingSlot], slot, 'run')).toBe(false);
    expect(startingSlot.isolateKeys.size).toBe(0);
  });

  it('gets no helper with too few late jobs, for a released run, or while it is retiring', () => {
    const helper = slotWith();
    const slotWithFewLateJobs = slotWith({
      isolateKeys: new Set(['run']),
      lateJobExcess: MAX_LATE_JOB_EXCESS - 1,
    });
    expect(assignHelper([slotWithFewLateJobs, helper], slotWithFewLateJobs, 'run')).toBe(false);
    const slotOfReleasedRun = slotWith({ lateJobExcess: MAX_LATE_JOB_EXCESS });
    expect(assignHelper([slotOfReleasedRun, helper], slotOfReleasedRun, 'run')).toBe(false);
    const retiringSlot = { ...lateSlot(), retiring: true };
    expect(assignHelper([retiringSlot, helper], retiringSlot, 'run')).toBe(false);
    expect(assignHelper([retiringSlot], retiringSlot, 'run')).toBe(false);
    expect(helper.isolateKeys.size).toBe(0);
  });
});

/** Returns a busy process that is old enough to be drained. */
const busySlot = (tenant: string, image: string, fields: Partial<Slot> = {}): Slot =>
  ({
    ...{ tenant, poolKey: `${tenant}/${image}`, ready: true, retiring: false, idleSinceMs: 0 },
    ...{ startedAtMs: -1_000_000, assignments: new Map([[1, {}]]) },
    ...fields,
  }) as unknown as Slot;

describe('one more process for a pool key', () => {
  const target = { tenant: 'a', poolKey: 'a/2' };

  it('is started only once, if there is room', () => {
    expect(planGrowth([busySlot('a', '1')], target, 2)).toEqual({ mustStart: true, isStarting: false });
    expect(planGrowth([busySlot('a', '2', { ready: false })], target, 2)).toEqual({
      mustStart: false,
      isStarting: true,
    });
  });

  it('replaces an idle process, even of its own tenant', () => {
    const idleSlot = busySlot('a', '1', { assignments: new Map() });
    expect(planGrowth([busySlot('b', '1'), idleSlot], target, 2)).toEqual({
      mustStart: true,
      isStarting: false,
      slotToStop: idleSlot,
    });
  });

  it('drains a busy process of its own tenant rather than the only process of another tenant', () => {
    const ownSlot = busySlot('a', '1');
    expect(planGrowth([busySlot('b', '1'), ownSlot], target, 2).slotToDrain).toBe(ownSlot);
    const otherSlot = busySlot('b', '1');
    expect(
      planGrowth([otherSlot, busySlot('c', '1', { startedAtMs: Infinity })], target, 2).slotToDrain,
    ).toBe(otherSlot);
  });

  it('waits if the pool key has a busy process', () => {
    expect(planGrowth([busySlot('b', '1'), busySlot('a', '2')], target, 2)).toEqual({
      mustStart: false,
      isStarting: false,
    });
  });
});
