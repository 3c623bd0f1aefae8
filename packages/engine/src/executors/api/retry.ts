import type { BlockContext, Clock, Json } from '@heddle/core/blocks';
import type { EgressResponse } from '@heddle/sandbox/egress';
import { asText, isOn } from '../values.ts';
import type { ApiRequest } from './request.ts';

/** How an api block tries again, beside the retry policy that every block may have. */
export interface ApiRetry {
  /** Tries after the first. */
  retries: number;
  delayMs: number;
  maxDelayMs: number;
}

const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);
const MOST_RETRIES = 10;

/** The block's retries; none for a request that may act twice, unless the block allows it or the request has a key. */
export function readRetry(context: BlockContext, request: ApiRequest): ApiRetry {
  const safe =
    IDEMPOTENT.has(request.method) || request.hasKey || isOn(context.field('retryNonIdempotent', 'native'));
  const delayMs = count(context.field('retryDelayMs'), 500);
  return {
    retries: safe ? Math.min(Math.floor(count(context.field('retries'), 0)), MOST_RETRIES) : 0,
    delayMs,
    maxDelayMs: Math.max(count(context.field('retryMaxDelayMs'), 30_000), delayMs),
  };
}

function count(value: Json | undefined, otherwise: number): number {
  const text = asText(value).trim();
  const number = text === '' ? otherwise : Number(text);
  return Number.isFinite(number) && number >= 0 ? number : otherwise;
}

/** Whether another try can bring another answer. */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

/** Milliseconds the server asks to wait (RFC 9110 §10.2.3), or undefined. */
export function retryAfterMs(response: EgressResponse, nowMs: number): number | undefined {
  const value = response.headers.find(([name]) => name === 'retry-after')?.[1].trim();
  if (value === undefined || value === '') return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

/** The wait before retry `index` (0 is the first): doubling, never below what the server asked for; undefined: too long, give up. */
export function retryDelay(
  index: number,
  { delayMs, maxDelayMs }: ApiRetry,
  askedMs: number | undefined,
): number | undefined {
  const backoff = Math.min(delayMs * 2 ** index, maxDelayMs);
  if (askedMs === undefined) return backoff;
  return askedMs > maxDelayMs ? undefined : Math.max(backoff, askedMs);
}

/** Resolves after `ms` by the clock; rejects with the signal's reason when it is aborted before. */
export function sleep(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(reasonOf(signal));
    const abort = (): void => {
      cancel();
      reject(reasonOf(signal));
    };
    const cancel = clock.at(clock.now() + ms, () => {
      signal.removeEventListener('abort', abort);
      resolve();
    });
    signal.addEventListener('abort', abort, { once: true });
  });
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('aborted');
}
