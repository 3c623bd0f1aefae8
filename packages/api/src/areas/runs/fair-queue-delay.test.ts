import PQueue from 'p-queue';
import { describe, expect, it } from 'vitest';
import { FairQueue } from './fair-queue.ts';
import type { FairQueueOptions } from './fair-queue.ts';

/** The concurrency of `RunQueue`. */
const CONCURRENCY = 16;
/** Duration of a slow start of a run. */
const START_MS = 400;
const MAX_DELAY_MS = 1000;

/** A clock that advances to the next timer when no other work is pending. */
class VirtualClock {
  nowMs = 0;
  #timers: { atMs: number; wake: () => void }[] = [];

  sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#timers.push({ atMs: this.nowMs + ms, wake: resolve });
    return promise;
  }

  /** Advances the clock until no timer is left. */
  async run(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#timers.length === 0) return;
      this.nowMs = Math.min(...this.#timers.map(({ atMs }) => atMs));
      const dueTimers = this.#timers.filter(({ atMs }) => atMs <= this.nowMs);
      this.#timers = this.#timers.filter(({ atMs }) => atMs > this.nowMs);
      for (const { wake } of dueTimers) wake();
    }
  }
}

describe('a burst of runs of one workspace', () => {
  it('delays a run of another workspace by less than a second, whenever it is submitted', async () => {
    const clock = new VirtualClock();
    const queue = new PQueue<FairQueue, FairQueueOptions>({
      concurrency: CONCURRENCY,
      queueClass: FairQueue,
    });
    for (let run = 0; run < 2000; run += 1) void queue.add(() => clock.sleep(START_MS), { group: 'busy' });
    const delays: number[] = [];
    const submitAt = async (atMs: number, group: string): Promise<void> => {
      await clock.sleep(atMs);
      await queue.add(
        async () => {
          delays.push(clock.nowMs - atMs);
          await clock.sleep(START_MS);
        },
        { group },
      );
    };
    for (let index = 0; index < 20; index += 1) void submitAt(index * 777, `other ${index}`);
    await clock.run();
    expect(delays).toHaveLength(20);
    expect(Math.max(...delays)).toBeLessThan(MAX_DELAY_MS);
    // The burst took far longer.
    expect(clock.nowMs).toBeGreaterThan(20 * MAX_DELAY_MS);
  });
});
