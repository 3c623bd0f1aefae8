import { ApiError, tooManyRequests, unavailable } from '../errors.ts';
import type { ApiDetailCode } from '../errors.ts';
import type { AreaContext } from '../context.ts';
import { once } from './counter.ts';
import { consumeRateLimit } from './limiter.ts';
import type { Release, RunRequest, UsageRefusal } from './usage.ts';

type Services = Pick<AreaContext, 'usage' | 'concurrency' | 'limiter' | 'now' | 'onError'>;

/**
 * Admits a run: reserves its cost, takes a rate limit token of its kind, and takes a slot among the runs in flight.
 * Returns a function that releases reservation and slot; undefined if there is nothing to release. Throws 402, 403,
 * 429, 503; then nothing stays reserved, but a token may have been taken.
 */
export async function admitRun(
  services: Services,
  run: RunRequest,
  account: string,
): Promise<Release | undefined> {
  const releaseUsage = await reserveUsage(services, run);
  try {
    const kind = run.mode === 'async' ? 'async' : 'sync';
    const { limiter } = services;
    await consumeRateLimit(limiter, kind, [account], {
      nowMs: services.now(),
      reason: 'RATE_LIMIT_EXCEEDED',
    });
    const releaseSlot = await acquireRunSlot(services, run);
    if (!releaseUsage || !releaseSlot) return releaseUsage ?? releaseSlot;
    return () => {
      releaseUsage();
      releaseSlot();
    };
  } catch (error) {
    releaseUsage?.();
    throw error;
  }
}

/**
 * Reserves the cost of a run. Returns a function that releases the reservation; undefined if there is nothing to
 * release. Throws 402, 403. If `usage.reserve` rejects, its error is thrown: an internal error (500).
 */
export async function reserveUsage(
  { usage }: Pick<Services, 'usage'>,
  run: RunRequest,
): Promise<Release | undefined> {
  const decision = await usage?.reserve(run);
  if (decision && 'refusal' in decision) throw usageRefused(decision.refusal);
  return decision?.release && once(decision.release);
}

const HEADROOM_CODES: { [refusal in UsageRefusal]?: ApiDetailCode } = {
  payer: 'EXECUTION_PAYER_HEADROOM_EXHAUSTED',
  member: 'EXECUTION_MEMBER_HEADROOM_EXHAUSTED',
};

/** Returns the error: 402, or 403 for a suspended account. */
function usageRefused(refusal: UsageRefusal): ApiError {
  if (refusal === 'suspended') return new ApiError(403, 'The account is suspended');
  const code = HEADROOM_CODES[refusal];
  const message = code ? 'The remaining usage limit does not cover the run' : 'Usage limit reached';
  return new ApiError(402, message, code ? { details: { code } } : {});
}

/** Takes a slot for the run and returns its release function; undefined if runs are not limited. Throws 429, 503. */
async function acquireRunSlot(
  { concurrency, onError }: Services,
  run: RunRequest,
): Promise<Release | undefined> {
  if (!concurrency) return undefined;
  const createOverloadError = () =>
    unavailable('Runs cannot be accepted at the moment. Please retry shortly.', 'SERVICE_OVERLOADED');
  const release = await acquireFromHost(onError, createOverloadError, () => concurrency.acquire(run));
  if (release) return once(release);
  throw tooManyRequests('Too many runs are in flight. Please retry shortly.', 'EXECUTION_CONCURRENCY_LIMIT');
}

/**
 * Takes a slot for a call of the operation and returns its release function; undefined if calls are not limited. Throws
 * 429, 503.
 */
export async function acquireCallSlot(
  { concurrency, onError }: Pick<Services, 'concurrency' | 'onError'>,
  operation: string,
  caller: string,
): Promise<Release | undefined> {
  if (!concurrency?.acquireCall) return undefined;
  const release = await acquireFromHost(onError, unavailable, () =>
    concurrency.acquireCall?.(operation, caller),
  );
  if (release) return once(release);
  throw tooManyRequests('Too many calls of this operation are in flight. Please retry shortly.');
}

/**
 * Calls the host's `acquire` and returns its result. If it fails, reports the error and throws the error that
 * `createError` returns.
 */
async function acquireFromHost<T>(
  onError: Services['onError'],
  createError: () => ApiError,
  acquire: () => Promise<T> | T,
): Promise<T> {
  try {
    return await acquire();
  } catch (error) {
    onError(error);
    throw createError();
  }
}
