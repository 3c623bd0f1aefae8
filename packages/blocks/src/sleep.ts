import type { BlockContext } from '@heddle/core/blocks';

/** Resolves after `ms` milliseconds. Rejects when the block is stopped. */
export function sleep({ clock, signal }: Pick<BlockContext, 'clock' | 'signal'>, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      cancelTimer();
      reject(signal.reason as Error);
    };
    const cancelTimer = clock.at(clock.now() + ms, () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
