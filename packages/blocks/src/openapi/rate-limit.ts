import { BlockError } from '@heddle/core/blocks';
import type { ConfiguredService } from '@heddle/engine';
import type { Context } from '../define.ts';
import { sleep } from '../sleep.ts';
import { MAX_RETRY_DELAY_MS } from './retry.ts';

/** The longest time for which one response of a service stops all calls with a key. */
const MAX_KEY_PAUSE_MS = 600_000;
/** The size of a burst, as a share of the period: bursts may exceed the rate limit by a tenth. */
const BURST_SHARE = 0.1;
/** Calls to services use no tokens: only model calls do. */
const NO_TOKEN_COST = { tokensMs: 0, tokenBurstMs: 0 };

type ServiceRate = NonNullable<ConfiguredService['rate']>;

/** The state that the calls with one key share, in all processes. */
export interface KeyRateLimit {
  /** Identifies the rate limit of the key: a hash of the key and the base URL. */
  rateLimitKey: string;
  /** Undefined: calls wait only after the service has refused the key. */
  rate: ServiceRate | undefined;
}

/**
 * Waits while the rate limit of a key allows no call, or while the service refuses the key (in any process). The block
 * releases its slot while it waits.
 *
 * Throws HTTP_FAILED if the wait would be longer than the longest delay or the remaining time of the block.
 */
export async function waitForRateLimit(
  context: Context,
  { rateLimitKey, rate }: KeyRateLimit,
  service: string,
): Promise<void> {
  const { rateLimiter } = context.services;
  const periodMs = (rate?.seconds ?? 0) * 1000;
  const requestMs = rate === undefined ? 0 : periodMs / rate.calls;
  for (;;) {
    const nowMs = context.clock.now();
    const demand = { nowMs, requestMs, requestBurstMs: periodMs * BURST_SHARE, ...NO_TOKEN_COST };
    const waitMs = await rateLimiter.take(rateLimitKey, demand);
    context.signal.throwIfAborted();
    if (waitMs === 0) return;
    if (waitMs > Math.min(MAX_RETRY_DELAY_MS, context.remainingMs ?? Infinity))
      throw new BlockError(
        'HTTP_FAILED',
        `The service "${service}" was not called: ${waitReason(rate, waitMs)}.`,
        {
          retryAfterMs: waitMs,
          details: { status: 429, kind: 'rate' },
        },
      );
    await context.services.withoutSlot(() => sleep(context, waitMs));
  }
}

function waitReason(rate: ServiceRate | undefined, waitMs: number): string {
  const seconds = `${Math.ceil(waitMs / 1000)} s`;
  if (rate === undefined) return `it has refused calls with this credential for another ${seconds}`;
  return `its rate limit of ${rate.calls} calls in ${rate.seconds} s, or a refusal, allows the next call in ${seconds}`;
}

/** Stops all calls with a key, in every process, for the delay that a service requests. */
export async function pauseKey(
  context: Context,
  { rateLimitKey }: KeyRateLimit,
  pauseMs: number,
): Promise<void> {
  await context.services.rateLimiter.pauseKey(
    rateLimitKey,
    context.clock.now() + Math.min(pauseMs, MAX_KEY_PAUSE_MS),
  );
}
