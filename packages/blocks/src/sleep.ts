import type { BlockContext } from '@heddle/core/blocks';

/** Resolves after `ms` milliseconds. Rejects when the block is stopped. */
export function sleep({ clock, signal }: Pick<BlockContext, 'clock' | 'signal'>, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel();
      reject(signal.reason as Error);
    };
    const cancel = clock.at(clock.now() + ms, () => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
