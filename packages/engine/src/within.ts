import type { Clock } from '@heddle/core';

/** Time that is over by itself, or no longer waited for: a timer left behind would keep the process alive. */
export function within(clock: Clock, graceMs: number): { over: Promise<void>; cancel: () => void } {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  if (graceMs > 0) return { over, cancel: clock.at(clock.now() + graceMs, resolve) };
  resolve();
  return { over, cancel: () => undefined };
}
