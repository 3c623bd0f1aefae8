import type { BlockContext, Clock, Json } from '@heddle/core/blocks';
import { asText, isOn } from '../values.ts';
import type { ApiRequest } from './request.ts';

/** The retries of an api block, in addition to the retry policy of blocks. */
export interface ApiRetry {
  /** Attempts after the first one. */
  maxRetries: number;
  delayMs: number;
  maxDelayMs: number;
}

const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);
const MAX_RETRIES = 10;

/**
 * Returns the retries of the block. There are none for a request that is not idempotent, unless the block allows them
 * or the request has an idempotency key.
 */
export function readRetry(context: BlockContext, request: ApiRequest): ApiRetry {
  const mayRetry =
    IDEMPOTENT_METHODS.has(request.method) ||
    request.hasIdempotencyKey ||
    isOn(context.field('retryNonIdempotent', 'native'));
  const delayMs = nonNegativeNumberOf(context.field('retryDelayMs'), 500);
  return {
    maxRetries: mayRetry
      ? Math.min(Math.floor(nonNegativeNumberOf(context.field('retries'), 0)), MAX_RETRIES)
      : 0,
    delayMs,
    maxDelayMs: Math.max(nonNegativeNumberOf(context.field('retryMaxDelayMs'), 30_000), delayMs),
  };
}

function nonNegativeNumberOf(value: Json | undefined, fallback: number): number {
  const text = asText(value).trim();
  const number = text === '' ? fallback : Number(text);
  return Number.isFinite(number) && number >= 0 ? number : fallback;
}

/**
 * Returns the milliseconds before retry `index` (from 0); undefined if Retry-After exceeds the maximum. The delay
 * doubles with each retry, up to the maximum, and is at least the delay of Retry-After.
 */
export function retryDelay(
  index: number,
  { delayMs, maxDelayMs }: ApiRetry,
  retryAfterMs: number | undefined,
): number | undefined {
  const backoffMs = Math.min(delayMs * 2 ** index, maxDelayMs);
  if (retryAfterMs === undefined) return backoffMs;
  return retryAfterMs > maxDelayMs ? undefined : Math.max(backoffMs, retryAfterMs);
}

/** Resolves after `ms`. Rejects with the reason of the signal when it is aborted. */
export function sleep(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(reasonOf(signal));
    const onAbort = (): void => {
      cancel();
      reject(reasonOf(signal));
    };
    const cancel = clock.at(clock.now() + ms, () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('aborted');
}
