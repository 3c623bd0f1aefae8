import { BlockError } from '@heddle/core/blocks';
import type { Context } from '../define.ts';
import { sleep } from '../sleep.ts';

const MAX_ATTEMPTS = 3;
const INITIAL_RETRY_DELAY_MS = 1000;
/**
 * The longest delay before a retry of a call. If a service requests a longer delay, the block fails. The retries
 * of the block may wait longer.
 */
export const MAX_RETRY_DELAY_MS = 30_000;

/**
 * Returns the result of `operation`, which returns a failure as a BlockError. Calls it up to three times, with delays,
 * while `mayRepeat` accepts the failure and time is left. Throws the last failure.
 */
export async function withRetries<T>(
  context: Pick<Context, 'clock' | 'signal' | 'remainingMs'>,
  operation: () => Promise<T | BlockError>,
  mayRepeat: (failure: BlockError) => boolean,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const result = await operation();
    if (!(result instanceof BlockError)) return result;
    const delayMs = Math.max(result.retryAfterMs ?? 0, INITIAL_RETRY_DELAY_MS * 2 ** (attempt - 1));
    const isLastAttempt =
      attempt === MAX_ATTEMPTS || delayMs > Math.min(MAX_RETRY_DELAY_MS, context.remainingMs ?? Infinity);
    if (!mayRepeat(result) || isLastAttempt) throw result;
    await sleep(context, delayMs);
  }
}
