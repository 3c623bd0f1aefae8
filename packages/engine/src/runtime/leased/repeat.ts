import type { Clock } from '@heddle/core';

/** Does `work` every so many milliseconds, never twice at once. The returned function ends that, and waits for what is under way. */
export function repeat(
  clock: Clock,
  everyMs: number,
  work: () => Promise<void>,
  report: (error: unknown) => void,
): () => Promise<void> {
  let stopped = false;
  let doing: Promise<void> = Promise.resolve();
  let cancel = (): void => undefined;
  const next = (): void => {
    cancel = clock.at(clock.now() + everyMs, () => {
      doing = work()
        .catch(report)
        .then(() => {
          if (!stopped) next();
        });
    });
  };
  next();
  return () => {
    stopped = true;
    cancel();
    return doing;
  };
}
