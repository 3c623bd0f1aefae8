import { ApiError } from '../errors.ts';
import type { ApiDetailCode } from '../errors.ts';

/** The state of a token bucket. */
export interface LimitState {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** The time at which the bucket is full again, in milliseconds since the epoch. */
  resetAtMs: number;
  /** Milliseconds until the next token; 0 when there is a token. */
  retryAfterMs: number;
  /** Tokens added per minute, if known. */
  perMinute?: number;
}

/** The limit that a request counts against. */
export type LimitKind = 'address' | 'operation' | 'sync' | 'async';

type LimitResult = Promise<LimitState | undefined> | LimitState | undefined;

/** Rate limits. A host with several processes provides a shared limiter; without a limiter nothing is limited. */
export interface Limiter {
  /**
   * Takes a token from the bucket of each subject. Returns the state of the tightest bucket (`tightestState`);
   * undefined if there is no limit of this kind. `operation` is the id of the called operation, for limiters that limit
   * some operations separately.
   */
  take(kind: LimitKind, subjects: readonly string[], operation?: string): LimitResult;
  /** Returns the state of the bucket and takes nothing. Without this method callers cannot see their limits. */
  peek?(kind: LimitKind, subject: string): LimitResult;
}

/** The size of a token bucket, and how many tokens are added per minute. */
export interface Bucket {
  capacity: number;
  perMinute: number;
}

/** The buckets of each kind of limit. */
export interface Buckets extends Partial<Record<LimitKind, Bucket>> {
  /** Buckets of single operations, in place of `operation`, by the id of the operation; null: no limit. */
  operations?: { readonly [operationId: string]: Bucket | null };
}

/** Returns the bucket of a kind, for calls of an operation; undefined if there is no limit. */
export function bucketFor(buckets: Buckets, kind: LimitKind, operation?: string): Bucket | undefined {
  const { operations = {} } = buckets;
  if (kind !== 'operation' || operation === undefined || !Object.hasOwn(operations, operation))
    return buckets[kind];
  return operations[operation] ?? undefined;
}

const MINUTE_MS = 60_000;
/** Maximum number of buckets. The least recently used bucket is evicted first. */
const MAX_BUCKETS = 100_000;

/** Returns token buckets in the memory of this process. */
export function memoryLimiter(bucketsByKind: Buckets, now: () => number = Date.now): Limiter {
  const storedBuckets = new Map<string, { tokens: number; atMs: number }>();
  const tokensOf = (bucket: Bucket, key: string, atMs: number): number => {
    const storedBucket = storedBuckets.get(key) ?? { tokens: bucket.capacity, atMs };
    // A clock that is set back removes no tokens.
    const elapsedMs = Math.max(0, atMs - storedBucket.atMs);
    return Math.min(bucket.capacity, storedBucket.tokens + (elapsedMs * bucket.perMinute) / MINUTE_MS);
  };
  return {
    take(kind, subjects, operation) {
      const bucket = bucketFor(bucketsByKind, kind, operation);
      if (!bucket) return undefined;
      const atMs = now();
      const checks = [...new Set(subjects)].map((subject) => {
        const key = `${kind} ${subject}`;
        const tokens = tokensOf(bucket, key, atMs);
        const tokensLeft = tokens >= 1 ? tokens - 1 : tokens;
        storedBuckets.delete(key);
        storedBuckets.set(key, { tokens: tokensLeft, atMs });
        return { allowed: tokens >= 1, tokensLeft, atMs };
      });
      for (const oldestKey of storedBuckets.keys()) {
        if (storedBuckets.size <= MAX_BUCKETS) break;
        storedBuckets.delete(oldestKey);
      }
      return tightestState(bucket, checks);
    },
    peek(kind, subject) {
      const bucket = bucketsByKind[kind];
      if (!bucket) return undefined;
      const atMs = now();
      const tokensLeft = tokensOf(bucket, `${kind} ${subject}`, atMs);
      return stateOf(bucket, { allowed: tokensLeft >= 1, tokensLeft, atMs });
    },
  };
}

/** The result of a check at `atMs`: whether there was a token, and the tokens that are left. */
interface BucketCheck {
  allowed: boolean;
  tokensLeft: number;
  atMs: number;
}

function stateOf({ capacity, perMinute }: Bucket, { allowed, tokensLeft, atMs }: BucketCheck): LimitState {
  const tokensPerMs = perMinute / MINUTE_MS;
  return {
    allowed,
    limit: capacity,
    remaining: Math.floor(tokensLeft),
    resetAtMs: Math.ceil(atMs + (capacity - tokensLeft) / tokensPerMs),
    retryAfterMs: allowed ? 0 : Math.ceil((1 - tokensLeft) / tokensPerMs),
    perMinute,
  };
}

/**
 * Returns the state of the tightest of several buckets of one size: the empty bucket with the longest wait, else the
 * bucket with the fewest tokens.
 */
export function tightestState(bucket: Bucket, checks: readonly BucketCheck[]): LimitState | undefined {
  const states = checks.map((check) => stateOf(bucket, check));
  const [tightest] = states.toSorted((a, b) => b.retryAfterMs - a.retryAfterMs || a.remaining - b.remaining);
  return tightest;
}

/** The limit in headers when there is no limit: the largest number that every client can parse. */
const NO_LIMIT = 2_147_483_647;

/** Returns the state of a bucket that is always full. */
export function unlimitedState(nowMs: number): LimitState {
  return { allowed: true, limit: NO_LIMIT, remaining: NO_LIMIT, resetAtMs: nowMs, retryAfterMs: 0 };
}

/** Returns the `X-RateLimit-*` headers of a bucket. */
export function limitHeaders(state: LimitState): { [name: string]: string } {
  return {
    'X-RateLimit-Limit': String(state.limit),
    'X-RateLimit-Remaining': String(state.remaining),
    'X-RateLimit-Reset': new Date(state.resetAtMs).toISOString(),
  };
}

/** Returns the 429 for an empty bucket. */
function rateLimitError(state: LimitState, nowMs: number, reason?: ApiDetailCode): ApiError {
  const seconds = Math.max(1, Math.ceil(state.retryAfterMs / 1000));
  const retryAfter = new Date(nowMs + state.retryAfterMs).toISOString();
  return new ApiError(429, 'API rate limit exceeded', {
    details: reason === undefined ? { retryAfter } : { code: reason, retryAfter },
    headers: { 'Retry-After': String(seconds), ...limitHeaders(state) },
  });
}

/** Takes a token for each subject. Returns the state of the tightest bucket; throws 429 for an empty bucket. */
export async function consumeRateLimit(
  limiter: Limiter,
  kind: LimitKind,
  subjects: readonly string[],
  { nowMs, reason, operation }: { nowMs: number; reason?: ApiDetailCode; operation?: string },
): Promise<LimitState | undefined> {
  const state = await limiter.take(kind, subjects, operation);
  if (state && !state.allowed) throw rateLimitError(state, nowMs, reason);
  return state;
}
