import type { Clock } from '@heddle/core';

/** The longest delay of Node's timers; longer ones would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** The machine's clock. Timers have no maximum delay and keep the process alive until they fire or are cancelled. */
export const systemClock: Clock = {
  now: () => Date.now(),
  at(atMs, fire) {
    let timer: NodeJS.Timeout;
    // Node's timers use a monotonic clock and may fire slightly before the wall clock reaches `atMs`.
    const wait = (): void => {
      const leftMs = atMs - Date.now();
      if (leftMs <= 0) fire();
      else timer = setTimeout(wait, Math.min(leftMs, LONGEST_DELAY_MS));
    };
    timer = setTimeout(wait, Math.min(Math.max(atMs - Date.now(), 0), LONGEST_DELAY_MS));
    return () => clearTimeout(timer);
  },
};

/** Returns a promise that resolves after `limitMs`, and a function that cancels its timer, which would keep the process alive. */
export function timeLimit(clock: Clock, limitMs: number): { over: Promise<void>; cancel: () => void } {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  if (limitMs > 0) return { over, cancel: clock.at(clock.now() + limitMs, resolve) };
  resolve();
  return { over, cancel: () => undefined };
}
