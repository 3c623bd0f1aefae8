import { randomUUID } from 'node:crypto';
import type { AreaContext, Buckets, Concurrency, ConcurrencyLimits, LimitKind, Limiter } from '@heddle/api';
import { bucketFor, callLimit, tightestState } from '@heddle/api';
import { Pool } from 'pg';
import {
  createTablesSql,
  PEEK_TOKENS,
  RELEASE_SLOTS,
  RENEW_SLOTS,
  SWEEP,
  TAKE_TOKENS,
  TAKE_SLOT,
} from './statements.ts';

/** Limits that all processes of one PostgreSQL database share. */
export interface SharedLimitOptions {
  url: string;
  /** Default: the schema of the API's store. */
  schema?: string;
  buckets: Buckets;
  /** Limits on runs and calls in flight. Default: no limit. */
  concurrency?: ConcurrencyLimits;
  /** Calls `action` every `ms` milliseconds. Returns a function that stops the calls. */
  repeat?: AreaContext['repeat'];
  /** Milliseconds that a check may wait for a connection, and then for its statement; default 2000. */
  timeoutMs?: number;
  /** Receives errors that reach no caller. */
  onError: (error: unknown) => void;
}

export interface SharedLimits {
  limiter: Limiter;
  concurrency: Concurrency;
  close(): Promise<void>;
}

const DEFAULT_SCHEMA = 'heddle_api';
/** A separate pool: a limit is checked even while the store has no free connection. */
const MAX_CONNECTIONS = 4;
/** Default time limit of a check. When it is exceeded, the request is refused with 503. */
const DEFAULT_TIMEOUT_MS = 2000;
/** Duration of the lease of a slot: for this long, the slots of a dead process remain in use. */
const SLOT_LEASE_MS = 60_000;
const RENEW_INTERVAL_MS = 20_000;
const SWEEP_INTERVAL_MS = 60_000;
const MINUTE_MS = 60_000;

/**
 * Opens the shared limits and creates their tables. All times are those of the database, so the clocks of processes do
 * not matter. Each check is one statement.
 */
export async function openSharedLimits(options: SharedLimitOptions): Promise<SharedLimits> {
  const {
    url,
    schema = DEFAULT_SCHEMA,
    buckets,
    concurrency = {},
    onError,
    repeat = startUnrefInterval,
  } = options;
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const pool = new Pool({
    connectionString: url,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: timeoutMs,
    fallback_application_name: 'heddle-limits',
    options: `-c search_path=${schema.replaceAll(/[\\ ]/g, String.raw`\$&`)} -c statement_timeout=${timeoutMs}`,
  });
  // An idle connection was lost. The pool has dropped it and opens another one when needed.
  pool.on('error', () => undefined);
  try {
    await pool.query(createTablesSql(schema));
  } catch (error) {
    await pool.end();
    throw error;
  }
  const subjectsBySlot = new Map<string, string>();
  const stopTimers = [
    repeat(SWEEP_INTERVAL_MS, () => void pool.query(SWEEP, [maxRefillMs(buckets)]).catch(onError)),
    repeat(RENEW_INTERVAL_MS, () => void renewSlots(pool, subjectsBySlot).catch(onError)),
  ];
  return {
    limiter: createSharedLimiter(pool, buckets),
    concurrency: createConcurrency({ pool, subjectsBySlot, onError }, concurrency),
    async close() {
      for (const stop of stopTimers) stop();
      await pool.query(RELEASE_SLOTS, [[...subjectsBySlot.keys()]]).catch(onError);
      await pool.end();
    },
  };
}

function startUnrefInterval(ms: number, action: () => void): () => void {
  const timer = setInterval(action, ms);
  timer.unref();
  return () => clearInterval(timer);
}

/** Returns the time after which every unused bucket is full, so that its row is not needed. */
function maxRefillMs(buckets: Buckets): number {
  const { operations = {}, ...kindBuckets } = buckets;
  const allBuckets = [...Object.values(kindBuckets), ...Object.values(operations)].filter(
    (bucket) => bucket !== null,
  );
  const refillTimesMs = allBuckets.map(({ capacity, perMinute }) => (capacity / perMinute) * MINUTE_MS);
  return Math.max(MINUTE_MS, ...refillTimesMs);
}

interface BucketRow {
  allowed: boolean;
  tokens: number;
  at_ms: number;
}

function createSharedLimiter(pool: Pool, buckets: Buckets): Limiter {
  const query = async (
    statement: { name: string; text: string },
    kind: LimitKind,
    { subjects, operation }: { subjects: readonly string[]; operation?: string | undefined },
  ) => {
    const bucket = bucketFor(buckets, kind, operation);
    if (!bucket) return undefined;
    const { capacity, perMinute } = bucket;
    // Sorted, so that two requests lock the same buckets in the same order. A statement cannot update a key twice.
    const keys = [...new Set(subjects.map((subject) => `${kind} ${subject}`))].toSorted();
    const { rows } = await pool.query<BucketRow>({
      ...statement,
      values: [keys, capacity, perMinute / MINUTE_MS],
    });
    const states = rows.map(({ allowed, tokens, at_ms: atMs }) => ({ allowed, tokensLeft: tokens, atMs }));
    return tightestState(bucket, states);
  };
  return {
    take: (kind, subjects, operation) => query(TAKE_TOKENS, kind, { subjects, operation }),
    peek: (kind, subject) => query(PEEK_TOKENS, kind, { subjects: [subject] }),
  };
}

interface SlotContext {
  pool: Pool;
  /** By id of each slot of this process: the workspace, or the operation and its caller, that the slot counts for. */
  subjectsBySlot: Map<string, string>;
  onError: (error: unknown) => void;
}

const releaseNothing = () => undefined;

function createConcurrency(
  { pool, subjectsBySlot, onError }: SlotContext,
  { runs = Infinity, calls = {} }: ConcurrencyLimits,
): Concurrency {
  async function takeSlot(subject: string, limit: number) {
    if (limit === Infinity) return releaseNothing;
    const slot = randomUUID();
    const { rows } = await pool.query<{ taken: boolean }>({
      ...TAKE_SLOT,
      values: [subject, slot, limit, SLOT_LEASE_MS],
    });
    if (rows[0]?.taken !== true) return undefined;
    subjectsBySlot.set(slot, subject);
    return () => {
      subjectsBySlot.delete(slot);
      // A slot that could not be released is not renewed, so its lease expires.
      void pool.query(RELEASE_SLOTS, [[slot]]).catch(onError);
    };
  }
  return {
    acquire: ({ workspaceId }) => takeSlot(workspaceId, runs),
    acquireCall: (operation, caller) => takeSlot(`call ${operation} ${caller}`, callLimit(calls, operation)),
  };
}

async function renewSlots(pool: Pool, subjectsBySlot: Map<string, string>): Promise<void> {
  const sortedSlots = [...subjectsBySlot].toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (sortedSlots.length === 0) return;
  await pool.query(RENEW_SLOTS, [
    sortedSlots.map(([slot]) => slot),
    sortedSlots.map(([, subject]) => subject),
    SLOT_LEASE_MS,
  ]);
  // The renewal may have inserted slots again that were released while it ran.
  const releasedSlots = sortedSlots.map(([slot]) => slot).filter((slot) => !subjectsBySlot.has(slot));
  if (releasedSlots.length > 0) await pool.query(RELEASE_SLOTS, [releasedSlots]);
}
