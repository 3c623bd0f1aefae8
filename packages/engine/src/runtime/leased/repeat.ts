import type { Clock } from '@heddle/core';

/**
 * Calls `work` at an interval, never twice at the same time. Returns a function that stops the calls and resolves when
 * the current call has ended.
 */
export function repeat(
  clock: Clock,
  intervalMs: number,
  work: () => Promise<void>,
  report: (error: unknown) => void,
): () => Promise<void> {
  let isStopped = false;
  let current: Promise<void> = Promise.resolve();
  let cancel = (): void => undefined;
  const schedule = (): void => {
    cancel = clock.at(clock.now() + intervalMs, () => {
      current = work()
        .catch(report)
        .then(() => {
          if (!isStopped) schedule();
        });
    });
  };
  schedule();
  return () => {
    isStopped = true;
    cancel();
    return current;
  };
}
