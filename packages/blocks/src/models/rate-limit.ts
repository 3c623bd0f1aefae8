import { BlockError } from '@heddle/core/blocks';
import type { Context } from '../define.ts';
import { sleep } from '../sleep.ts';
import type { Estimate } from './estimate.ts';
import type { ResolvedModel } from './resolve.ts';

const MINUTE_MS = 60_000;
/** How far calls may exceed their rate limit: a key makes at most a tenth more calls in a minute. */
const BURST_MS = 6000;
/**
 * The longest delay before a call. If a provider requests a longer delay, the block fails. The retries of the block may
 * wait longer.
 */
const MAX_CALL_DELAY_MS = 60_000;
/** The longest time for which one response of a provider stops all calls of a key. */
const MAX_KEY_PAUSE_MS = 600_000;
const TOO_MANY_REQUESTS = 429;

type RateLimitedModel = Pick<ResolvedModel, 'rateLimits' | 'rateLimitKey' | 'model' | 'provider'>;

/** Returns the longest delay before a call, in milliseconds. */
export function maxCallDelayMs({ remainingMs = Infinity }: Pick<Context, 'remainingMs'>): number {
  return Math.min(MAX_CALL_DELAY_MS, remainingMs);
}

/**
 * Waits until the rate limit of the key allows the call. The block releases its concurrency slot while it waits.
 * Returns a function that replaces the estimated number of tokens by the actual one after the call.
 *
 * Throws MODEL_FAILED if the wait would take too long.
 */
export async function waitForRateLimit(
  context: Context,
  { rateLimits, rateLimitKey, model, provider }: RateLimitedModel,
  { input, output }: Estimate,
): Promise<(tokens: number) => Promise<void>> {
  const { rateLimiter } = context.services;
  const { requestsPerMinute, tokensPerMinute } = rateLimits;
  const msPerToken = tokensPerMinute === undefined ? 0 : MINUTE_MS / tokensPerMinute;
  const msPerRequest = requestsPerMinute === undefined ? 0 : MINUTE_MS / requestsPerMinute;
  for (;;) {
    const waitMs = await rateLimiter.take(rateLimitKey, {
      nowMs: context.clock.now(),
      ...{ requestMs: msPerRequest, requestBurstMs: BURST_MS },
      ...{ tokensMs: (input + output) * msPerToken, tokenBurstMs: BURST_MS },
    });
    context.signal.throwIfAborted();
    if (waitMs === 0) break;
    if (waitMs > maxCallDelayMs(context))
      throw new BlockError(
        'MODEL_FAILED',
        `The model "${model.modelId}" of ${provider} was not called: the rate limit of its key allows the next call in ${Math.ceil(waitMs / 1000)} s.`,
        { retryAfterMs: waitMs },
      );
    await context.services.withoutSlot(() => sleep(context, waitMs));
  }
  return async (tokens) => {
    if (msPerToken > 0) await rateLimiter.correctTokens(rateLimitKey, (tokens - input - output) * msPerToken);
  };
}

/** After status 429, stops all calls of a key, in every process, for the delay before the retry. */
export async function pauseAfterRateLimit(
  context: Context,
  { rateLimitKey }: Pick<ResolvedModel, 'rateLimitKey'>,
  { details }: BlockError,
  delayMs: number,
): Promise<void> {
  const status = (details as { status?: number } | undefined)?.status;
  if (status !== TOO_MANY_REQUESTS) return;
  await context.services.rateLimiter.pauseKey(
    rateLimitKey,
    context.clock.now() + Math.min(delayMs, MAX_KEY_PAUSE_MS),
  );
}
