import type { Clock } from '@heddle/core';

/** The maximum delay of Node's timers. Timers with a longer delay would fire immediately. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The system clock. Timers have no maximum delay and keep the process alive until they fire or are cancelled. */
export const systemClock: Clock = {
  now: () => Date.now(),
  at(atMs, fire) {
    let timer: NodeJS.Timeout;
    // Node's timers use a monotonic clock and may fire slightly before the wall clock reaches `atMs`.
    const wait = (): void => {
      const remainingMs = atMs - Date.now();
      if (remainingMs <= 0) fire();
      else timer = setTimeout(wait, Math.min(remainingMs, MAX_DELAY_MS));
    };
    timer = setTimeout(wait, Math.min(Math.max(atMs - Date.now(), 0), MAX_DELAY_MS));
    return () => clearTimeout(timer);
  },
};

/**
 * Returns a promise that resolves after `limitMs`, and a function that cancels its timer. A pending timer keeps the
 * process alive.
 */
export function startTimer(
  clock: Clock,
  limitMs: number,
): { whenElapsed: Promise<void>; cancel: () => void } {
  const { promise: whenElapsed, resolve } = Promise.withResolvers<void>();
  if (limitMs > 0) return { whenElapsed, cancel: clock.at(clock.now() + limitMs, resolve) };
  resolve();
  return { whenElapsed, cancel: () => undefined };
}

/**
 * Calls `work` at an interval, never twice at the same time. Returns a function that stops the calls and resolves when
 * the current call has ended.
 */
export function repeat(
  clock: Clock,
  intervalMs: number,
  work: () => Promise<void>,
  onError: (error: unknown) => void,
): () => Promise<void> {
  let isStopped = false;
  let currentCall: Promise<void> = Promise.resolve();
  let cancel = (): void => undefined;
  const schedule = (): void => {
    cancel = clock.at(clock.now() + intervalMs, () => {
      currentCall = work()
        .catch(onError)
        .then(() => {
          if (!isStopped) schedule();
        });
    });
  };
  schedule();
  return () => {
    isStopped = true;
    cancel();
    return currentCall;
  };
}

/** First delay between polls. The delay doubles each time, up to the maximum. */
const FIRST_POLL_DELAY_MS = 10;
const MAX_POLL_DELAY_MS = 500;

/** Yields immediately, then at growing intervals, for the last time after `timeoutMs`. */
export async function* polls(clock: Clock, timeoutMs = Infinity): AsyncGenerator<void> {
  const endMs = clock.now() + timeoutMs;
  for (let waitMs = FIRST_POLL_DELAY_MS; ; waitMs = Math.min(MAX_POLL_DELAY_MS, waitMs * 2)) {
    yield;
    const nowMs = clock.now();
    if (nowMs >= endMs) return;
    await new Promise<void>((resolve) => {
      clock.at(Math.min(nowMs + waitMs, endMs), resolve);
    });
  }
}
