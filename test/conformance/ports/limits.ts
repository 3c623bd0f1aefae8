import type { Buckets, Concurrency, ConcurrencyLimits, Limiter } from '@heddle/api';
import { describe, expect, it } from 'vitest';

/** A bucket that gets no new tokens during a test. */
const SLOW_BUCKET = { capacity: 2, perMinute: 0.001 };
const RUN = { workflowId: 'w', userId: null, mode: 'sync' } as const;

/** Tests an implementation of limits. `open` opens one without usage. */
export function describeLimits(
  name: string,
  open: (options: { buckets: Buckets; concurrency: ConcurrencyLimits }) => Promise<{
    limiter: Limiter;
    concurrency: Concurrency;
  }>,
): void {
  describe(`${name}: limits`, () => {
    const openWithBuckets = (buckets: Buckets) =>
      open({ buckets, concurrency: { runs: 2, calls: { slow: 1 } } });

    it('take a token from each subject, and return the result of the subject with the fewest tokens', async () => {
      const { limiter } = await openWithBuckets({ sync: SLOW_BUCKET });
      expect(await limiter.take('sync', ['ada'])).toMatchObject({ allowed: true, limit: 2, remaining: 1 });
      expect(await limiter.take('sync', ['ada', 'bob'])).toMatchObject({ allowed: true, remaining: 0 });
      const refusal = await limiter.take('sync', ['bob', 'ada']);
      expect(refusal).toMatchObject({ allowed: false, remaining: 0, perMinute: SLOW_BUCKET.perMinute });
      expect(refusal?.retryAfterMs).toBeGreaterThan(1000);
      expect(refusal?.resetAtMs).toBeGreaterThan(0);
    });

    it('count a repeated subject once, and take no token when they are read', async () => {
      const { limiter } = await openWithBuckets({ sync: SLOW_BUCKET });
      await limiter.take('sync', ['ada', 'ada']);
      for (let i = 0; i < 3; i++)
        expect(await limiter.peek?.('sync', 'ada')).toMatchObject({ allowed: true, remaining: 1 });
      expect(await limiter.peek?.('sync', 'new')).toMatchObject({ remaining: 2 });
    });

    it('have a bucket for each kind of request that has a limit', async () => {
      const { limiter } = await openWithBuckets({ sync: SLOW_BUCKET, async: SLOW_BUCKET });
      await limiter.take('sync', ['ada']);
      expect(await limiter.peek?.('async', 'ada')).toMatchObject({ remaining: 2 });
      expect(await limiter.take('operation', ['ada'])).toBeUndefined();
      expect(await limiter.peek?.('operation', 'ada')).toBeUndefined();
    });

    it('use the limit of an operation, or none, instead of the default limit', async () => {
      const operations = { slow: { ...SLOW_BUCKET, capacity: 1 }, free: null };
      const { limiter } = await openWithBuckets({ operation: SLOW_BUCKET, operations });
      const take = (operation: string) => limiter.take('operation', [`${operation}:ada`], operation);
      expect(await take('slow')).toMatchObject({ allowed: true, limit: 1 });
      expect(await take('slow')).toMatchObject({ allowed: false, limit: 1 });
      expect(await take('free')).toBeUndefined();
      expect(await take('other')).toMatchObject({ allowed: true, limit: 2 });
    });

    it('allow a maximum number of concurrent runs in each workspace', async () => {
      const { concurrency } = await openWithBuckets({});
      const acquire = async (runId: string, workspaceId = 'looms') =>
        concurrency.acquire({ ...RUN, runId, workspaceId });
      const releaseFirst = await acquire('r1');
      expect(await acquire('r2')).toBeDefined();
      expect(await acquire('r3')).toBeUndefined();
      expect(await acquire('r4', 'dyers')).toBeDefined();
      releaseFirst?.();
      await expect.poll(() => acquire('r5')).toBeDefined();
    });

    it('allow a maximum number of concurrent calls of an operation by one caller', async () => {
      const { concurrency } = await openWithBuckets({});
      const acquire = async (operation: string, caller: string) =>
        concurrency.acquireCall?.(operation, caller);
      const releaseFirst = await acquire('slow', 'ada');
      expect(releaseFirst).toBeDefined();
      expect(await acquire('slow', 'ada')).toBeUndefined();
      expect(await acquire('slow', 'bob')).toBeDefined();
      for (let calls = 0; calls < 3; calls += 1) expect(await acquire('constructor', 'ada')).toBeDefined();
      releaseFirst?.();
      await expect.poll(() => acquire('slow', 'ada')).toBeDefined();
    });
  });
}
