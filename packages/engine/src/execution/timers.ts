import type { Clock } from '@heddle/core';

/** Timers of one run by name: setting one again replaces it. */
export class Timers {
  private readonly clock: Clock;
  private readonly running = new Map<string, () => void>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get size(): number {
    return this.running.size;
  }

  set(name: string, atMs: number, fire: () => void): void {
    this.running.get(name)?.();
    const cancel = this.clock.at(atMs, () => {
      this.running.delete(name);
      fire();
    });
    this.running.set(name, cancel);
  }

  cancel(name: string): void {
    this.running.get(name)?.();
    this.running.delete(name);
  }

  clear(): void {
    for (const cancel of this.running.values()) cancel();
    this.running.clear();
  }
}
