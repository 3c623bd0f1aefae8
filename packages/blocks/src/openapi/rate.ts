import { BlockError } from '@heddle/core/blocks';
import type { Context } from '../define.ts';
import { pause } from '../pause.ts';
import { MAX_PAUSE_MS } from './attempts.ts';

/** The longest time for which one answer of a service stops all calls with a key. */
const MAX_BLOCK_MS = 600_000;
/** A call that takes nothing: it only waits while its key is refused. */
const NO_LIMITS = { requestMs: 0, requestBurstMs: 0, tokensMs: 0, tokenBurstMs: 0 };

/**
 * Waits while the service refuses the key, also in other processes. The block has no slot while it waits.
 *
 * Throws HTTP_FAILED if that would take too long.
 */
export async function awaitKey(context: Context, rateKey: string, service: string): Promise<void> {
  const { rates } = context.services;
  for (;;) {
    const waitMs = await rates.take(rateKey, { nowMs: context.clock.now(), ...NO_LIMITS });
    context.signal.throwIfAborted();
    if (waitMs === 0) return;
    if (waitMs > Math.min(MAX_PAUSE_MS, context.remainingMs ?? Infinity))
      throw new BlockError(
        'HTTP_FAILED',
        `The service "${service}" was not called: it has refused calls with this credential for another ${Math.ceil(waitMs / 1000)} s.`,
        { retryAfterMs: waitMs, details: { status: 429 } },
      );
    await context.services.withoutSlot(() => pause(context, waitMs));
  }
}

/** Stops all calls with a key, in every process, for the pause that a service asks for. */
export async function refuseKey(context: Context, rateKey: string, pauseMs: number): Promise<void> {
  await context.services.rates.block(rateKey, context.clock.now() + Math.min(pauseMs, MAX_BLOCK_MS));
}
