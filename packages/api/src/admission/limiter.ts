import { ApiError } from '../errors.ts';
import type { ApiDetailCode } from '../errors.ts';

/** How a bucket stands after something was taken from it. */
export interface LimitState {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** When it is full again, in milliseconds since the epoch. */
  resetMs: number;
  /** Milliseconds until something can be taken again; 0 when it can. */
  retryAfterMs: number;
  /** How many come back in a minute, where that is known. */
  perMinute?: number;
}

/** Which limit something counts against. */
export type LimitKind = 'address' | 'operation' | 'sync' | 'async';

/** Counts requests. A host brings its own for several processes; without one nothing is limited. */
export interface Limiter {
  /** Takes one from the bucket of `subject`; null: there is no limit of this kind. */
  take(kind: LimitKind, subject: string): Promise<LimitState | null> | LimitState | null;
  /** How the bucket of `subject` stands; takes nothing. Absent: that is told to nobody. */
  peek?(kind: LimitKind, subject: string): Promise<LimitState | null> | LimitState | null;
}

/** One bucket: how many at once, and how many come back in a minute. */
export interface Bucket {
  capacity: number;
  perMinute: number;
}

const MINUTE_MS = 60_000;
/** Buckets of so many subjects are kept; the one that was not used for longest goes. */
const MOST_BUCKETS = 100_000;

/** Token buckets in the memory of this process. */
export function memoryLimiter(
  kinds: Partial<Record<LimitKind, Bucket>>,
  now: () => number = Date.now,
): Limiter {
  const held = new Map<string, { tokens: number; atMs: number }>();
  const tokensOf = (bucket: Bucket, key: string, atMs: number): number => {
    const before = held.get(key) ?? { tokens: bucket.capacity, atMs };
    return Math.min(bucket.capacity, before.tokens + ((atMs - before.atMs) * bucket.perMinute) / MINUTE_MS);
  };
  return {
    take(kind, subject) {
      const bucket = kinds[kind];
      if (!bucket) return null;
      const key = `${kind} ${subject}`;
      const atMs = now();
      const tokens = tokensOf(bucket, key, atMs);
      const left = tokens >= 1 ? tokens - 1 : tokens;
      held.delete(key);
      held.set(key, { tokens: left, atMs });
      for (const oldest of held.keys()) {
        if (held.size <= MOST_BUCKETS) break;
        held.delete(oldest);
      }
      return stateOf(bucket, { allowed: tokens >= 1, left, atMs });
    },
    peek(kind, subject) {
      const bucket = kinds[kind];
      if (!bucket) return null;
      const atMs = now();
      const left = tokensOf(bucket, `${kind} ${subject}`, atMs);
      return stateOf(bucket, { allowed: left >= 1, left, atMs });
    },
  };
}

function stateOf(
  { capacity, perMinute }: Bucket,
  { allowed, left, atMs }: { allowed: boolean; left: number; atMs: number },
): LimitState {
  const perMs = perMinute / MINUTE_MS;
  return {
    allowed,
    limit: capacity,
    remaining: Math.floor(left),
    resetMs: atMs + Math.ceil((capacity - left) / perMs),
    retryAfterMs: allowed ? 0 : Math.ceil((1 - left) / perMs),
    perMinute,
  };
}

/** The largest number that every client can read: the limit where there is none. */
const NO_LIMIT = 2_147_483_647;

/** Returns the state of a bucket that is always full. */
export function unlimited(nowMs: number): LimitState {
  return { allowed: true, limit: NO_LIMIT, remaining: NO_LIMIT, resetMs: nowMs, retryAfterMs: 0 };
}

/** The headers that tell callers how a limit stands. */
export function limitHeaders(state: LimitState): { [name: string]: string } {
  return {
    'X-RateLimit-Limit': String(state.limit),
    'X-RateLimit-Remaining': String(state.remaining),
    'X-RateLimit-Reset': new Date(state.resetMs).toISOString(),
  };
}

/** 429 for a bucket that is empty. */
export function rateLimited(state: LimitState, nowMs: number, reason?: ApiDetailCode): ApiError {
  const seconds = Math.max(1, Math.ceil(state.retryAfterMs / 1000));
  const retryAfter = new Date(nowMs + state.retryAfterMs).toISOString();
  return new ApiError(429, 'API rate limit exceeded', {
    details: reason === undefined ? { retryAfter } : { code: reason, retryAfter },
    headers: { 'Retry-After': String(seconds), ...limitHeaders(state) },
  });
}

/** Takes one for each subject, and gives the tighter state; throws 429 for one that is empty. */
export async function takeFrom(
  limiter: Limiter,
  kind: LimitKind,
  subjects: readonly string[],
  { nowMs, reason }: { nowMs: number; reason?: ApiDetailCode },
): Promise<LimitState | null> {
  let tightest: LimitState | null = null;
  for (const subject of subjects) {
    const state = await limiter.take(kind, subject);
    if (state && !state.allowed) throw rateLimited(state, nowMs, reason);
    if (state && (!tightest || state.remaining < tightest.remaining)) tightest = state;
  }
  return tightest;
}
