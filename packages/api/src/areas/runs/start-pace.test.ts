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
  it('are spread over turns of the event loop, in the order of the queue', async () => {
    const begun = begin(new StartPace(), 20);
    const after: number[] = [];
    while (begun.length < 20) {
      await turnOfLoop();
      after.push(begun.length);
    }
    expect(begun).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(after.length).toBeGreaterThan(1);
  });

  it('go on one by one while requests are being accepted', async () => {
    const pace = new StartPace();
    const accepted = pace.accepting();
    const begun = begin(pace, 20);
    for (let turns = 1; turns <= 4; turns += 1) {
      await turnOfLoop();
      expect(begun.length).toBeLessThanOrEqual(turns);
    }
    await expect.poll(() => begun.length).toBe(20);
    accepted();
  });

  it('have their full rate when the last of the requests has been accepted', async () => {
    const pace = new StartPace();
    const [first, second] = [pace.accepting(), pace.accepting()];
    first();
    first();
    const begun = begin(pace, 9);
    await turnOfLoop();
    await turnOfLoop();
    expect(begun.length).toBeLessThan(4);
    second();
    await turnOfLoop();
    await turnOfLoop();
    expect(begun.length).toBe(9);
  });
});
