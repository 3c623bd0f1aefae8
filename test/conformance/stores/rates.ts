import { describe, expect, it } from 'vitest';
import type { RateStore } from '@heddle/engine/stores';

/**
 * Returns a request with `tokens`. The limits of its key are one request per 100 ms (burst: two) and one token per
 * millisecond (burst: 50).
 */
const request = (nowMs: number, tokens = 0) => ({
  nowMs,
  requestMs: 100,
  requestBurstMs: 200,
  tokensMs: tokens,
  tokenBurstMs: 50,
});

/** Defines the tests of rate limits in stores. `make` opens two stores on the same empty data. */
export function describeRates(
  name: string,
  make: () => Promise<Record<'one' | 'other', RateStore>> | Record<'one' | 'other', RateStore>,
): void {
  describe(`${name}: rate limits of keys`, () => {
    it('allows the burst, then the rate, for two processes together', async () => {
      const { one, other } = await make();
      expect(await one.take('k', request(1000))).toBe(0);
      expect(await other.take('k', request(1000))).toBe(0);
      expect(await one.take('k', request(1000))).toBe(100);
      expect(await other.take('k', request(1060))).toBe(40);
      expect(await one.take('other key', request(1060))).toBe(0);
      expect(await other.take('k', request(1100))).toBe(0);
      expect(await one.take('k', request(1100))).toBe(100);
    });

    it('allows a request with more tokens than the burst if the burst is unused, and corrects its tokens', async () => {
      const { one, other } = await make();
      expect(await one.take('k', request(1000, 300))).toBe(0);
      expect(await other.take('k', request(1200, 10))).toBe(60);
      await one.correct('k', -240);
      await one.correct('never used', -240);
      expect(await other.take('k', request(1200, 10))).toBe(0);
    });

    it('allows no request for a blocked key until the later of two blocks has ended', async () => {
      const { one, other } = await make();
      await one.block('k', 5000);
      await other.block('k', 4000);
      expect(await other.take('k', request(1000))).toBe(4000);
      expect(await one.take('k', request(5000))).toBe(0);
    });

    it('allows only the burst of many concurrent requests', async () => {
      const stores = await make();
      const waits = await Promise.all(
        Array.from({ length: 20 }, async (_, index) =>
          (index % 2 === 0 ? stores.one : stores.other).take('k', request(1000)),
        ),
      );
      expect(waits.filter((wait) => wait === 0)).toHaveLength(2);
    });

    it('prunes only keys whose limits have had no effect since the given time', async () => {
      const { one } = await make();
      await one.take('k', request(1000));
      await one.block('k', 1500);
      await one.prune(1500);
      expect(await one.take('k', request(1000))).toBe(500);
      await one.prune(1501);
      expect(await one.take('k', request(1000))).toBe(0);
    });
  });
}
