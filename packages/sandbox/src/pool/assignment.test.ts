import { describe, expect, it } from 'vitest';
import { MAX_COLD_START_BALANCE, planGrowth, assignHelper } from './assignment.ts';
import type { PoolWorker } from './pool-worker.ts';

type AssignedWorker = Parameters<typeof assignHelper>[1];

function createWorker(fields: Partial<AssignedWorker> = {}): AssignedWorker {
  return {
    poolKey: 't',
    ready: true,
    retiring: false,
    isolateKeys: new Set<string>(),
    coldStartBalance: 0,
    ...fields,
  };
}

const createColdWorker = () =>
  createWorker({ isolateKeys: new Set(['run']), coldStartBalance: MAX_COLD_START_BALANCE });

describe('a process whose jobs arrive faster than it creates contexts', () => {
  it('shares the jobs of the run with another process of its pool key', () => {
    const [worker, otherKeyWorker, retiringWorker, helper] = [
      createColdWorker(),
      createWorker({ poolKey: 'u' }),
      createWorker({ retiring: true }),
      createWorker(),
    ];
    expect(assignHelper([worker, otherKeyWorker, retiringWorker, helper], worker, 'run')).toBe(false);
    expect([otherKeyWorker, retiringWorker, helper].map(({ isolateKeys }) => isolateKeys.has('run'))).toEqual(
      [false, false, true],
    );
    expect(worker.coldStartBalance).toBe(0);
  });

  it('gets a new helper for jobs with their own isolates, unless there is one already', () => {
    const [worker, helper] = [createWorker({ coldStartBalance: MAX_COLD_START_BALANCE }), createWorker()];
    expect(assignHelper([worker, createWorker({ poolKey: 'u' })], worker, '')).toBe(true);
    expect(worker.coldStartBalance).toBe(0);
    worker.coldStartBalance = MAX_COLD_START_BALANCE;
    expect(assignHelper([worker, helper], worker, '')).toBe(false);
    expect(helper.isolateKeys.size).toBe(0);
  });

  it('gets a new helper if all others of its pool key help already', () => {
    const worker = createColdWorker();
    expect(
      assignHelper(
        [worker, createWorker({ poolKey: 'u' }), createWorker({ isolateKeys: new Set(['run']) })],
        worker,
        'run',
      ),
    ).toBe(true);
  });

  it('waits for a helper that is starting', () => {
    const [worker, startingWorker] = [createColdWorker(), createWorker({ ready: false })];
    expect(assignHelper([worker, startingWorker], worker, 'run')).toBe(false);
    expect(startingWorker.isolateKeys.size).toBe(0);
  });

  it('gets no helper if too few of its jobs had to wait for their contexts, for a released run, or while it is retiring', () => {
    const helper = createWorker();
    const workerBelowThreshold = createWorker({
      isolateKeys: new Set(['run']),
      coldStartBalance: MAX_COLD_START_BALANCE - 1,
    });
    expect(assignHelper([workerBelowThreshold, helper], workerBelowThreshold, 'run')).toBe(false);
    const workerOfReleasedRun = createWorker({ coldStartBalance: MAX_COLD_START_BALANCE });
    expect(assignHelper([workerOfReleasedRun, helper], workerOfReleasedRun, 'run')).toBe(false);
    const retiringWorker = { ...createColdWorker(), retiring: true };
    expect(assignHelper([retiringWorker, helper], retiringWorker, 'run')).toBe(false);
    expect(assignHelper([retiringWorker], retiringWorker, 'run')).toBe(false);
    expect(helper.isolateKeys.size).toBe(0);
  });
});

/** Returns a busy process that is old enough to be drained. */
const createBusyWorker = (tenant: string, image: string, fields: Partial<PoolWorker> = {}): PoolWorker =>
  ({
    ...{ tenant, poolKey: `${tenant}/${image}`, ready: true, retiring: false, idleSinceMs: 0 },
    ...{ startedAtMs: -1_000_000, assignments: new Map([[1, {}]]) },
    ...fields,
  }) as unknown as PoolWorker;

describe('one more process for a pool key', () => {
  const workerKey = { tenant: 'a', poolKey: 'a/2' };

  it('is started only once, if there is room', () => {
    expect(planGrowth([createBusyWorker('a', '1')], workerKey, 2)).toEqual({
      mustStart: true,
      isStarting: false,
    });
    expect(planGrowth([createBusyWorker('a', '2', { ready: false })], workerKey, 2)).toEqual({
      mustStart: false,
      isStarting: true,
    });
  });

  it('replaces an idle process, even of its own tenant', () => {
    const idleWorker = createBusyWorker('a', '1', { assignments: new Map() });
    expect(planGrowth([createBusyWorker('b', '1'), idleWorker], workerKey, 2)).toEqual({
      mustStart: true,
      isStarting: false,
      workerToStop: idleWorker,
    });
  });

  it('drains a busy process of its own tenant rather than the only process of another tenant', () => {
    const ownWorker = createBusyWorker('a', '1');
    expect(planGrowth([createBusyWorker('b', '1'), ownWorker], workerKey, 2).workerToDrain).toBe(ownWorker);
    const otherWorker = createBusyWorker('b', '1');
    expect(
      planGrowth([otherWorker, createBusyWorker('c', '1', { startedAtMs: Infinity })], workerKey, 2)
        .workerToDrain,
    ).toBe(otherWorker);
  });

  it('waits if the pool key has a busy process', () => {
    expect(planGrowth([createBusyWorker('b', '1'), createBusyWorker('a', '2')], workerKey, 2)).toEqual({
      mustStart: false,
      isStarting: false,
    });
  });
});
