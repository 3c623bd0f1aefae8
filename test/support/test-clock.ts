import type { Clock } from '@heddle/core';

/** A clock that stands still until it is moved. */
export class TestClock implements Clock {
  #nowMs: number;
  #timers: { atMs: number; fire: () => void }[] = [];

  constructor(nowMs = 0) {
    this.#nowMs = nowMs;
  }

  /** Timers that have not fired. */
  get waiting(): number {
    return this.#timers.length;
  }

  /** Resolves when there is a timer that is due in exactly `ms`. */
  async due(ms: number): Promise<void> {
    for (let turn = 0; turn < 100_000; turn++) {
      if (this.#timers.some(({ atMs }) => atMs === this.#nowMs + ms)) return;
      await new Promise(setImmediate);
    }
    throw new Error(`no timer is due in ${ms} ms`);
  }

  now(): number {
    return this.#nowMs;
  }

  at(atMs: number, fire: () => void): () => void {
    const timer = { atMs, fire };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Moves on by `ms`, firing what becomes due in order, also what is set meanwhile. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const [next] = this.#timers.toSorted((a, b) => a.atMs - b.atMs);
      if (!next || next.atMs > endMs) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.fire();
    }
    this.#nowMs = endMs;
  }
}
