import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { RunStartThrottle } from './queue.ts';

/** Queues `count` runs. Returns an array that gets the number of each run when it begins. */
function queueRuns(throttle: RunStartThrottle, count: number): number[] {
  const startedRuns: number[] = [];
  for (let run = 1; run <= count; run += 1) void throttle.wait().then(() => startedRuns.push(run));
  return startedRuns;
}

describe('queued runs', () => {
  it('begin in the order of the queue, in the next iteration of the event loop', async () => {
    const startedRuns = queueRuns(new RunStartThrottle(), 20);
    expect(startedRuns).toEqual([]);
    await nextTurn();
    expect(startedRuns).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  it('begin one per turn while requests are being accepted', async () => {
    const throttle = new RunStartThrottle();
    const { promise: acceptance, resolve: accept } = Promise.withResolvers<void>();
    const request = throttle.whileAccepting(() => acceptance);
    const startedRuns = queueRuns(throttle, 20);
    for (let turns = 1; turns <= 4; turns += 1) {
      await nextTurn();
      expect(startedRuns.length).toBeLessThanOrEqual(turns);
    }
    await expect.poll(() => startedRuns.length).toBe(20);
    accept();
    await request;
  });

  it('begin together when the last of the requests has been accepted or refused', async () => {
    const throttle = new RunStartThrottle();
    const { promise: acceptance, resolve: accept } = Promise.withResolvers<void>();
    const request = throttle.whileAccepting(() => acceptance);
    const refusal = throttle.whileAccepting(() => Promise.reject(new Error('refused')));
    await expect(refusal).rejects.toThrow('refused');
    const startedRuns = queueRuns(throttle, 9);
    await nextTurn();
    expect(startedRuns.length).toBeLessThan(3);
    accept();
    await request;
    await nextTurn();
    await nextTurn();
    expect(startedRuns.length).toBe(9);
  });
});
