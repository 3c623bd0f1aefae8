import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { StartPace } from './start-pace.ts';

/** Begins `count` runs. Returns the numbers of those that have begun. */
function begin(pace: StartPace, count: number): number[] {
  const begun: number[] = [];
  for (let run = 1; run <= count; run += 1) void pace.turn().then(() => begun.push(run));
  return begun;
}

describe('starts of queued runs', () => {
  it('begin in the order of the queue, in the next turn of the event loop', async () => {
    const begun = begin(new StartPace(), 20);
    expect(begun).toEqual([]);
    await turnOfLoop();
    expect(begun).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  it('begin one in each turn while requests are being accepted', async () => {
    const pace = new StartPace();
    const { promise: accepted, resolve: accept } = Promise.withResolvers<void>();
    const request = pace.whileAccepting(() => accepted);
    const begun = begin(pace, 20);
    for (let turns = 1; turns <= 4; turns += 1) {
      await turnOfLoop();
      expect(begun.length).toBeLessThanOrEqual(turns);
    }
    await expect.poll(() => begun.length).toBe(20);
    accept();
    await request;
  });

  it('begin together when the last of the requests has been accepted or refused', async () => {
    const pace = new StartPace();
    const { promise: accepted, resolve: accept } = Promise.withResolvers<void>();
    const request = pace.whileAccepting(() => accepted);
    await expect(pace.whileAccepting(() => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
    const begun = begin(pace, 9);
    await turnOfLoop();
    expect(begun.length).toBeLessThan(3);
    accept();
    await request;
    await turnOfLoop();
    await turnOfLoop();
    expect(begun.length).toBe(9);
  });
});
