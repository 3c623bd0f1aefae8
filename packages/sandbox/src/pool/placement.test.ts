import { describe, expect, it } from 'vitest';
import { LATE_JOBS, planGrowth, assignHelper } from './placement.ts';
import type { Slot } from './slot.ts';

function process(fields: Partial<Parameters<typeof assignHelper>[1]> = {}) {
  return { poolKey: 't', ready: true, retiring: false, runs: new Set<string>(), late: 0, ...fields };
}

const late = () => process({ runs: new Set(['run']), late: LATE_JOBS });

describe('a process whose jobs arrive faster than it creates contexts', () => {
  it('takes turns with another process of its tenant', () => {
    const [slot, stranger, leaving, helper] = [
      late(),
      process({ poolKey: 'u' }),
      process({ retiring: true }),
      process(),
    ];
    expect(assignHelper([slot, stranger, leaving, helper], slot, 'run')).toBe(false);
    expect([stranger, leaving, helper].map(({ runs }) => runs.has('run'))).toEqual([false, false, true]);
    expect(slot.late).toBe(0);
  });

  it('gets a new helper for jobs with their own isolates, unless there is one already', () => {
    const [slot, helper] = [process({ late: LATE_JOBS }), process()];
    expect(assignHelper([slot, process({ poolKey: 'u' })], slot, '')).toBe(true);
    expect(slot.late).toBe(0);
    slot.late = LATE_JOBS;
    expect(assignHelper([slot, helper], slot, '')).toBe(false);
    expect(helper.runs.size).toBe(0);
  });

  it('gets a new helper if all others of its tenant help already', () => {
    const slot = late();
    expect(
      assignHelper([slot, process({ poolKey: 'u' }), process({ runs: new Set(['run']) })], slot, 'run'),
    ).toBe(true);
  });

  it('waits for a helper that is starting', () => {
    const [slot, starting] = [late(), process({ ready: false })];
    expect(assignHelper([slot, starting], slot, 'run')).toBe(false);
    expect(starting.runs.size).toBe(0);
  });

  it('gets no helper before enough late jobs, for a released run, or when it is ending', () => {
    const helper = process();
    const rare = process({ runs: new Set(['run']), late: LATE_JOBS - 1 });
    expect(assignHelper([rare, helper], rare, 'run')).toBe(false);
    const released = process({ late: LATE_JOBS });
    expect(assignHelper([released, helper], released, 'run')).toBe(false);
    const ending = { ...late(), retiring: true };
    expect(assignHelper([ending, helper], ending, 'run')).toBe(false);
    expect(assignHelper([ending], ending, 'run')).toBe(false);
    expect(helper.runs.size).toBe(0);
  });
});

/** A process that has served its tenant for the minimum time. */
const serving = (tenant: string, image: string, fields: Partial<Slot> = {}): Slot =>
  ({
    ...{ tenant, poolKey: `${tenant}/${image}`, ready: true, retiring: false, idleSinceMs: 0 },
    ...{ startedAtMs: -1_000_000, jobs: new Map([[1, {}]]) },
    ...fields,
  }) as unknown as Slot;

describe('one more process for a pool key', () => {
  const wanted = { tenant: 'a', poolKey: 'a/2' };

  it('is started only once, if there is room', () => {
    expect(planGrowth([serving('a', '1')], wanted, 2)).toEqual({ start: true, isStarting: false });
    expect(planGrowth([serving('a', '2', { ready: false })], wanted, 2)).toEqual({
      start: false,
      isStarting: true,
    });
  });

  it('replaces an idle one, even of its own tenant', () => {
    const idle = serving('a', '1', { jobs: new Map() });
    expect(planGrowth([serving('b', '1'), idle], wanted, 2)).toEqual({
      start: true,
      isStarting: false,
      stop: idle,
    });
  });

  it('drains a busy one of its own tenant rather than the only one of another tenant', () => {
    const own = serving('a', '1');
    expect(planGrowth([serving('b', '1'), own], wanted, 2).drain).toBe(own);
    const other = serving('b', '1');
    expect(planGrowth([other, serving('c', '1', { startedAtMs: Infinity })], wanted, 2).drain).toBe(other);
  });

  it('waits if the pool key has a busy one', () => {
    expect(planGrowth([serving('b', '1'), serving('a', '2')], wanted, 2)).toEqual({
      start: false,
      isStarting: false,
    });
  });
});
