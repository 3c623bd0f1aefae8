import type { Clock } from '@heddle/core';

/** A clock that advances only by `advance`. */
export class TestClock implements Clock {
  #nowMs: number;
  #timers: { atMs: number; fire: () => void }[] = [];
  readonly #timerWaiters: { atMs: number; resolve: () => void }[] = [];

  constructor(nowMs = 0) {
    this.#nowMs = nowMs;
  }

  /** Number of timers that have not fired. */
  get pendingTimerCount(): number {
    return this.#timers.length;
  }

  /** Waits until a timer is set that is due in exactly `ms`, and then for one iteration of the event loop. */
  async waitForTimer(ms: number): Promise<void> {
    const atMs = this.#nowMs + ms;
    if (!this.#timers.some((timer) => timer.atMs === atMs))
      await new Promise<void>((resolve) => this.#timerWaiters.push({ atMs, resolve }));
    await new Promise(setImmediate);
  }

  now(): number {
    return this.#nowMs;
  }

  at(atMs: number, fire: () => void): () => void {
    const timer = { atMs, fire };
    this.#timers.push(timer);
    for (const { resolve } of this.#timerWaiters.filter((waiter) => waiter.atMs === atMs)) resolve();
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Advances by `ms` and fires due timers in order, including timers that other timers set. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const [nextTimer] = this.#timers.toSorted((a, b) => a.atMs - b.atMs);
      if (!nextTimer || nextTimer.atMs > endMs) break;
      this.#timers = this.#timers.filter((other) => other !== nextTimer);
      this.#nowMs = Math.max(this.#nowMs, nextTimer.atMs);
      nextTimer.fire();
    }
    this.#nowMs = endMs;
  }
}
