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

/** Defines the tests of rate limits in stores. `makeStores` opens two stores on the same empty data. */
export function describeRates(
  name: string,
  makeStores: () =>
    | Promise<Record<'firstStore' | 'secondStore', RateStore>>
    | Record<'firstStore' | 'secondStore', RateStore>,
): void {
  describe(`${name}: rate limits of keys`, () => {
    it('allows the burst, then the rate, for two processes together', async () => {
      const { firstStore, secondStore } = await makeStores();
      expect(await firstStore.take('k', request(1000))).toBe(0);
      expect(await secondStore.take('k', request(1000))).toBe(0);
      expect(await firstStore.take('k', request(1000))).toBe(100);
      expect(await secondStore.take('k', request(1060))).toBe(40);
      expect(await firstStore.take('other key', request(1060))).toBe(0);
      expect(await secondStore.take('k', request(1100))).toBe(0);
      expect(await firstStore.take('k', request(1100))).toBe(100);
    });

    it('allows a request with more tokens than the burst if the burst is unused, and corrects its tokens', async () => {
      const { firstStore, secondStore } = await makeStores();
      expect(await firstStore.take('k', request(1000, 300))).toBe(0);
      expect(await secondStore.take('k', request(1200, 10))).toBe(60);
      await firstStore.correctTokens('k', -240);
      await firstStore.correctTokens('never used', -240);
      expect(await secondStore.take('k', request(1200, 10))).toBe(0);
    });

    it('allows no request for a blocked key until the later of its two blocking periods has ended', async () => {
      const { firstStore, secondStore } = await makeStores();
      await firstStore.pauseKey('k', 5000);
      await secondStore.pauseKey('k', 4000);
      expect(await secondStore.take('k', request(1000))).toBe(4000);
      expect(await firstStore.take('k', request(5000))).toBe(0);
    });

    it('allows only the burst of many concurrent requests', async () => {
      const stores = await makeStores();
      const waitTimesMs = await Promise.all(
        Array.from({ length: 20 }, async (_, index) =>
          (index % 2 === 0 ? stores.firstStore : stores.secondStore).take('k', request(1000)),
        ),
      );
      expect(waitTimesMs.filter((waitMs) => waitMs === 0)).toHaveLength(2);
    });

    it('prunes only keys whose limits have had no effect since the given time', async () => {
      const { firstStore } = await makeStores();
      await firstStore.take('k', request(1000));
      await firstStore.pauseKey('k', 1500);
      await firstStore.prune(1500);
      expect(await firstStore.take('k', request(1000))).toBe(500);
      await firstStore.prune(1501);
      expect(await firstStore.take('k', request(1000))).toBe(0);
    });
  });
}
