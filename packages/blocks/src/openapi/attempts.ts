import { BlockError } from '@heddle/core/blocks';
import type { Context } from '../define.ts';
import { sleep } from '../sleep.ts';

const MAX_ATTEMPTS = 3;
const INITIAL_RETRY_DELAY_MS = 1000;
/**
 * The longest delay before a call. If a service requests a longer delay, the block fails; its own retries may wait
 * longer.
 */
export const MAX_RETRY_DELAY_MS = 30_000;

/**
 * Returns the result of `once`. Calls it up to three times, with delays, while `mayRepeat` allows it for the failure
 * and time is left. Throws the last failure.
 */
export async function withRetries<T>(
  context: Pick<Context, 'clock' | 'signal' | 'remainingMs'>,
  once: () => Promise<T | BlockError>,
  mayRepeat: (failure: BlockError) => boolean,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const result = await once();
    if (!(result instanceof BlockError)) return result;
    const pauseMs = Math.max(result.retryAfterMs ?? 0, INITIAL_RETRY_DELAY_MS * 2 ** (attempt - 1));
    const isOver =
      attempt === MAX_ATTEMPTS || pauseMs > Math.min(MAX_RETRY_DELAY_MS, context.remainingMs ?? Infinity);
    if (!mayRepeat(result) || isOver) throw result;
    await sleep(context, pauseMs);
  }
}
