import { describe, expect, it } from 'vitest';
import type { SpendingStore } from '@heddle/engine/stores';

const LATER = 1_000_000;

/** A reservation in the accounts, which all have this cap. */
const call = (id: string, most: number, { cap = 100, accounts = ['a'], nowMs = 0, least = 1 } = {}) => ({
  id,
  accounts: accounts.map((account) => ({ id: account, cap, untilMs: LATER })),
  most,
  least,
  nowMs,
  expiresMs: nowMs + 60,
});

/** Tests the sums of spending of a store. `make` opens two of the same, empty ones. */
export function describeSpending(
  name: string,
  make: () => Promise<Record<'one' | 'other', SpendingStore>> | Record<'one' | 'other', SpendingStore>,
): void {
  describe(`${name}: sums of spending`, () => {
    it('refuses what would pass the cap of any account, with its sum, and reserves nothing then', async () => {
      const { one } = await make();
      expect(await one.reserve(call('1', 60))).toBeUndefined();
      expect(await one.reserve(call('2', 41, { accounts: ['b', 'a'] }))).toEqual({
        account: 'a',
        micros: 60,
      });
      expect(await one.sum('b')).toBe(0);
      expect(await one.reserve(call('3', 40, { accounts: ['b', 'a'] }))).toBeUndefined();
      expect([await one.sum('a'), await one.sum('b')]).toEqual([100, 40]);
    });

    it('counts what a call has cost once it is settled, and once only', async () => {
      const { one, other } = await make();
      await one.reserve(call('1', 60, { accounts: ['a', 'b'] }));
      await other.settle('1', 7);
      await one.settle('1', 9);
      await one.settle('never', 9);
      expect([await one.sum('a'), await other.sum('b')]).toEqual([7, 7]);
    });

    it('counts the last known cost of a call whose reservation has expired, and its cost if it is settled later', async () => {
      const { one, other } = await make();
      await one.reserve(call('1', 60));
      await one.renew('1', { least: 12, expiresMs: 90 });
      expect(await other.reserve(call('2', 50, { nowMs: 89 }))).toEqual({ account: 'a', micros: 60 });
      expect(await other.reserve(call('2', 50, { nowMs: 90 }))).toBeUndefined();
      expect(await one.sum('a')).toBe(62);
      await one.renew('1', { least: 60, expiresMs: 999 });
      await other.reserve(call('3', 0, { nowMs: 1000 }));
      expect(await one.sum('a')).toBe(13);
      await one.settle('1', 20);
      expect(await one.sum('a')).toBe(21);
    });

    it('never passes a cap, and counts the cost of every call, when many reserve and settle at once', async () => {
      const stores = await make();
      const one = async (index: number): Promise<number> => {
        const store = index % 2 === 0 ? stores.one : stores.other;
        const accounts = index % 3 === 0 ? ['b', 'a'] : ['a', 'b'];
        const most = 10 + (index % 7);
        if (await store.reserve(call(String(index), most, { cap: 200, accounts }))) return 0;
        expect(await store.sum('a')).toBeLessThanOrEqual(200);
        const cost = index % most;
        await store.settle(String(index), cost);
        return cost;
      };
      const costs = await Promise.all(Array.from({ length: 60 }, (_, index) => one(index)));
      const sum = costs.reduce((total, cost) => total + cost, 0);
      expect(sum).toBeGreaterThan(0);
      expect([await stores.one.sum('a'), await stores.other.sum('b')]).toEqual([sum, sum]);
    });

    it('removes accounts that are no longer needed', async () => {
      const { one } = await make();
      await one.reserve(call('1', 5));
      await one.prune(LATER - 1);
      expect(await one.sum('a')).toBe(5);
      await one.prune(LATER);
      expect(await one.sum('a')).toBe(0);
      await one.settle('1', 5);
      expect(await one.sum('a')).toBe(0);
    });
  });
}
