import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hasPostgres, createPostgresDatabase } from '../../../../test/support/postgres.ts';
import { openSharedLimits } from './shared.ts';
import type { SharedLimitOptions } from './shared.ts';

const SLOW_REFILL_BUCKET = { capacity: 5, perMinute: 0.001 };

/**
 * Opens instances of the limits, as several processes that share one database would. `query` reads the rows of the
 * database.
 */
async function openLimitInstances(count: number, options: Partial<SharedLimitOptions>) {
  const url = await createPostgresDatabase();
  const errors: unknown[] = [];
  const timerCallbacks: (() => void)[] = [];
  const repeat = (_ms: number, tick: () => void) => {
    timerCallbacks.push(tick);
    return () => undefined;
  };
  // A process has four connections: on a busy machine, some of many concurrent checks wait longer than two seconds
  // for one.
  const timeoutMs = 60_000;
  const onError = (error: unknown) => errors.push(error);
  const limitOptions = { url, buckets: {}, repeat, timeoutMs, onError, ...options };
  const instances = await Promise.all(Array.from({ length: count }, () => openSharedLimits(limitOptions)));
  onTestFinished(async () => {
    for (const instance of instances) await instance.close();
    expect(errors).toEqual([]);
  });
  const client = new Client({ connectionString: url, options: '-c search_path=heddle_api' });
  await client.connect();
  onTestFinished(() => client.end());
  const query = async (text: string) => (await client.query<{ [name: string]: unknown }>(text)).rows;
  return { instances, query, tick: () => timerCallbacks.forEach((tick) => tick()) };
}

const RUN = { runId: 'r', workflowId: 'w', workspaceId: 'looms', userId: null, mode: 'sync' as const };

describe.skipIf(!hasPostgres)('limits of several processes on PostgreSQL', () => {
  it('together admit as many requests as one process, in whatever order they lock keys', async () => {
    const { instances } = await openLimitInstances(3, { buckets: { operation: SLOW_REFILL_BUCKET } });
    const orders = [
      ['key', 'account'],
      ['account', 'key'],
      ['account', 'account'],
    ];
    const pendingStates = Array.from({ length: 60 }, async (_, n) =>
      instances[n % 3]?.limiter.take('operation', orders[Math.floor(n / 3) % 3] ?? []),
    );
    const states = await Promise.all(pendingStates);
    expect(states.filter((state) => state?.allowed)).toHaveLength(5);
    const refusedState = states.find((state) => state?.allowed === false);
    expect(refusedState).toMatchObject({ limit: 5, remaining: 0, perMinute: 0.001 });
    expect(refusedState?.retryAfterMs).toBeGreaterThan(59_000_000);
  });

  it('have separate buckets for each kind and subject, and none without a limit', async () => {
    const buckets = { sync: { ...SLOW_REFILL_BUCKET, capacity: 1 }, async: SLOW_REFILL_BUCKET };
    const { instances } = await openLimitInstances(1, { buckets });
    const limiter = instances[0]?.limiter;
    expect(await limiter?.take('sync', ['ada'])).toMatchObject({ allowed: true, remaining: 0 });
    expect(await limiter?.take('sync', ['ada'])).toMatchObject({ allowed: false });
    expect(await limiter?.take('sync', ['bob'])).toMatchObject({ allowed: true });
    expect(await limiter?.take('async', ['ada'])).toMatchObject({ allowed: true, remaining: 4 });
    expect(await limiter?.take('operation', ['ada'])).toBeUndefined();
    expect(await limiter?.peek?.('sync', 'ada')).toMatchObject({ allowed: false, remaining: 0 });
    expect(await limiter?.peek?.('sync', 'eve')).toMatchObject({ allowed: true, remaining: 1 });
  });

  it('replace the common limit by that of the operation, which may be none', async () => {
    const operations = { slow: { ...SLOW_REFILL_BUCKET, capacity: 1 }, free: null };
    const { instances } = await openLimitInstances(2, {
      buckets: { operation: SLOW_REFILL_BUCKET, operations },
    });
    const take = (instanceIndex: number, operation: string) =>
      instances[instanceIndex]?.limiter.take('operation', [`${operation}:ada`], operation);
    expect(await take(0, 'slow')).toMatchObject({ allowed: true, limit: 1 });
    expect(await take(1, 'slow')).toMatchObject({ allowed: false, limit: 1 });
    expect(await take(0, 'free')).toBeUndefined();
    expect(await take(0, 'other')).toMatchObject({ allowed: true, limit: 5 });
  });

  it('refill by the clock of the database, and full buckets are deleted', async () => {
    const buckets = { sync: { capacity: 2, perMinute: 2 } };
    const { instances, query, tick } = await openLimitInstances(1, { buckets });
    const limiter = instances[0]?.limiter;
    for (let n = 0; n < 3; n += 1) await limiter?.take('sync', ['ada']);
    await query('UPDATE rate_buckets SET at_ms = at_ms - 45000');
    expect(await limiter?.take('sync', ['ada'])).toMatchObject({ allowed: true, remaining: 0 });
    expect(await limiter?.take('sync', ['ada'])).toMatchObject({ allowed: false });
    tick();
    await query('UPDATE rate_buckets SET at_ms = at_ms - 3600000');
    await expect
      .poll(async () => {
        tick();
        return query('SELECT key FROM rate_buckets');
      })
      .toEqual([]);
  });

  it('limit the number of runs of each workspace in flight', async () => {
    const { instances, query } = await openLimitInstances(2, { concurrency: { runs: 3 } });
    const [firstInstance, secondInstance] = instances;
    const acquireResults = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => instances[n % 2]?.concurrency.acquire(RUN)),
    );
    const releases = acquireResults.filter((release) => release !== undefined);
    expect(releases).toHaveLength(3);
    expect(await secondInstance?.concurrency.acquire({ ...RUN, workspaceId: 'other' })).toBeDefined();
    releases[0]?.();
    await expect.poll(() => query(`SELECT slot FROM run_slots WHERE workspace_id = 'looms'`)).toHaveLength(2);
    expect(await firstInstance?.concurrency.acquire(RUN)).toBeDefined();
    expect(await secondInstance?.concurrency.acquire(RUN)).toBeUndefined();
  });

  it('release the slots of a process that has ended, but not those of a process that renews them', async () => {
    const { instances, query, tick } = await openLimitInstances(1, { concurrency: { runs: 1 } });
    const concurrency = instances[0]?.concurrency;
    const release = await concurrency?.acquire(RUN);
    await query('UPDATE run_slots SET expires_ms = 0');
    tick();
    await expect.poll(() => query('SELECT slot FROM run_slots WHERE expires_ms > 0')).toHaveLength(1);
    expect(await concurrency?.acquire(RUN)).toBeUndefined();
    release?.();
    await query(`INSERT INTO run_slots VALUES ('of another process', 'looms', 0)`);
    await expect.poll(() => concurrency?.acquire(RUN)).toBeDefined();
  });

  it('free a slot that is released while it is being renewed', async () => {
    const { instances, query, tick } = await openLimitInstances(1, { concurrency: { runs: 1 } });
    const release = await instances[0]?.concurrency.acquire(RUN);
    const otherSessions = async (condition: string) => {
      // Otherwise, a transaction sees the activity as of its first query.
      await query('SELECT pg_stat_clear_snapshot()');
      const otherSessionCondition = 'datname = current_database() AND pid <> pg_backend_pid()';
      return query(`SELECT pid FROM pg_stat_activity WHERE ${otherSessionCondition} AND ${condition}`);
    };
    await query('BEGIN');
    await query('DELETE FROM run_slots');
    tick();
    await expect.poll(() => otherSessions(`wait_event_type = 'Lock'`)).toHaveLength(1);
    release?.();
    await expect.poll(() => otherSessions(`wait_event_type = 'Lock'`)).toHaveLength(2);
    await query('COMMIT');
    await expect.poll(() => otherSessions(`state = 'active'`)).toEqual([]);
    await expect.poll(() => query('SELECT slot FROM run_slots')).toEqual([]);
  });

  it('release their slots when they are closed', async () => {
    const { query, instances } = await openLimitInstances(2, { concurrency: { runs: 1 } });
    await instances[0]?.concurrency.acquire(RUN);
    await instances[0]?.close();
    instances.shift();
    expect(await query('SELECT slot FROM run_slots')).toEqual([]);
  });
});
