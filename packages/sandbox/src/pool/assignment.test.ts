import { describe, expect, it } from 'vitest';
import { LATE_JOBS, planGrowth, assignHelper } from './assignment.ts';
import type { Slot } from './slot.ts';

type AssignedSlot = Parameters<typeof assignHelper>[1];

function slotWith(fields: Partial<AssignedSlot> = {}): AssignedSlot {
  return { poolKey: 't', ready: true, retiring: false, isolateKeys: new Set<string>(), late: 0, ...fields };
}

const lateSlot = () => slotWith({ isolateKeys: new Set(['run']), late: LATE_JOBS });

describe('a process whose jobs arrive faster than it creates contexts', () => {
  it('shares the jobs of the run with another process of its pool key', () => {
    const [slot, otherKey, retiring, helper] = [
      lateSlot(),
      slotWith({ poolKey: 'u' }),
      slotWith({ retiring: true }),
      slotWith(),
    ];
    expect(assignHelper([slot, otherKey, retiring, helper], slot, 'run')).toBe(false);
    expect([otherKey, retiring, helper].map(({ isolateKeys }) => isolateKeys.has('run'))).toEqual([
      false,
      false,
      true,
    ]);
    expect(slot.late).toBe(0);
  });

  it('gets a new helper for jobs with their own isolates, unless there is one already', () => {
    const [slot, helper] = [slotWith({ late: LATE_JOBS }), slotWith()];
    expect(assignHelper([slot, slotWith({ poolKey: 'u' })], slot, '')).toBe(true);
    expect(slot.late).toBe(0);
    slot.late = LATE_JOBS;
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
    const [slot, starting] = [lateSlot(), slotWith({ ready: false })];
    expect(assignHelper([slot, starting], slot, 'run')).toBe(false);
    expect(starting.isolateKeys.size).toBe(0);
  });

  it('gets no helper with too few late jobs, for a released run, or while it is retiring', () => {
    const helper = slotWith();
    const fewLate = slotWith({ isolateKeys: new Set(['run']), late: LATE_JOBS - 1 });
    expect(assignHelper([fewLate, helper], fewLate, 'run')).toBe(false);
    const released = slotWith({ late: LATE_JOBS });
    expect(assignHelper([released, helper], released, 'run')).toBe(false);
    const retiring = { ...lateSlot(), retiring: true };
    expect(assignHelper([retiring, helper], retiring, 'run')).toBe(false);
    expect(assignHelper([retiring], retiring, 'run')).toBe(false);
    expect(helper.isolateKeys.size).toBe(0);
  });
});

/** Returns a busy process that is old enough to be drained. */
const busySlot = (tenant: string, image: string, fields: Partial<Slot> = {}): Slot =>
  ({
    ...{ tenant, poolKey: `${tenant}/${image}`, ready: true, retiring: false, idleSinceMs: 0 },
    ...{ startedAtMs: -1_000_000, jobs: new Map([[1, {}]]) },
    ...fields,
  }) as unknown as Slot;

describe('one more process for a pool key', () => {
  const target = { tenant: 'a', poolKey: 'a/2' };

  it('is started only once, if there is room', () => {
    expect(planGrowth([busySlot('a', '1')], target, 2)).toEqual({ start: true, isStarting: false });
    expect(planGrowth([busySlot('a', '2', { ready: false })], target, 2)).toEqual({
      start: false,
      isStarting: true,
    });
  });

  it('replaces an idle process, even of its own tenant', () => {
    const idle = busySlot('a', '1', { jobs: new Map() });
    expect(planGrowth([busySlot('b', '1'), idle], target, 2)).toEqual({
      start: true,
      isStarting: false,
      stop: idle,
    });
  });

  it('drains a busy process of its own tenant rather than the only process of another tenant', () => {
    const own = busySlot('a', '1');
    expect(planGrowth([busySlot('b', '1'), own], target, 2).drain).toBe(own);
    const other = busySlot('b', '1');
    expect(planGrowth([other, busySlot('c', '1', { startedAtMs: Infinity })], target, 2).drain).toBe(other);
  });

  it('waits if the pool key has a busy process', () => {
    expect(planGrowth([busySlot('b', '1'), busySlot('a', '2')], target, 2)).toEqual({
      start: false,
      isStarting: false,
    });
  });
});
