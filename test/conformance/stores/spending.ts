import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SpendingStore } from '@heddle/engine/stores';
import { pickByScale } from '../../support/scale.ts';

const PERIOD_END_MS = 1_000_000;

/** Returns a reservation of at most `maxMicros` in accounts with the cap `cap`. */
const reservation = (
  id: string,
  maxMicros: number,
  { cap = 100, accounts = ['a'] as readonly string[], nowMs = 0, expiredMicros = 1 } = {},
) => ({
  id,
  accounts: accounts.map((account) => ({ id: account, capMicros: cap, retainUntilMs: PERIOD_END_MS })),
  maxMicros,
  expiredMicros,
  nowMs,
  expiresMs: nowMs + 60,
});

/** Defines the tests of spending totals in stores. `makeStores` opens two stores on the same empty data. */
export function describeSpending(
  name: string,
  makeStores: () =>
    | Promise<Record<'firstStore' | 'secondStore', SpendingStore>>
    | Record<'firstStore' | 'secondStore', SpendingStore>,
): void {
  describe(`${name}: spending totals`, () => {
    it('refuses a reservation that exceeds the cap of any account, and returns that account with its total', async () => {
      const { firstStore } = await makeStores();
      expect(await firstStore.reserve(reservation('1', 60))).toBeUndefined();
      expect(await firstStore.reserve(reservation('2', 41, { accounts: ['b', 'a'] }))).toEqual({
        account: 'a',
        micros: 60,
      });
      expect(await firstStore.totalOf('b')).toBe(0);
      expect(await firstStore.reserve(reservation('3', 40, { accounts: ['b', 'a'] }))).toBeUndefined();
      expect([await firstStore.totalOf('a'), await firstStore.totalOf('b')]).toEqual([100, 40]);
    });

    it('counts the cost of a call when it is settled, and only once', async () => {
      const { firstStore, secondStore } = await makeStores();
      await firstStore.reserve(reservation('1', 60, { accounts: ['a', 'b'] }));
      await secondStore.settle('1', 7);
      await firstStore.settle('1', 9);
      await firstStore.settle('never', 9);
      expect([await firstStore.totalOf('a'), await secondStore.totalOf('b')]).toEqual([7, 7]);
    });

    it('counts the last known cost of a call whose reservation has expired, until the call is settled', async () => {
      const { firstStore, secondStore } = await makeStores();
      await firstStore.reserve(reservation('1', 60));
      await firstStore.renew('1', { expiredMicros: 12, expiresMs: 90 });
      expect(await secondStore.reserve(reservation('2', 50, { nowMs: 89 }))).toEqual({
        account: 'a',
        micros: 60,
      });
      expect(await secondStore.reserve(reservation('2', 50, { nowMs: 90 }))).toBeUndefined();
      expect(await firstStore.totalOf('a')).toBe(62);
      await firstStore.renew('1', { expiredMicros: 60, expiresMs: 999 });
      await secondStore.reserve(reservation('3', 0, { nowMs: 1000 }));
      expect(await firstStore.totalOf('a')).toBe(13);
      await firstStore.settle('1', 20);
      expect(await firstStore.totalOf('a')).toBe(21);
    });

    it('never exceeds a cap, and counts the cost of every call, when calls reserve and settle concurrently', async () => {
      const callArbitrary = fc.record({
        maxMicros: fc.integer({ min: 0, max: 60 }),
        // The cost of the call as a share of `maxMicros`.
        share: fc.double({ min: 0, max: 1, noNaN: true }),
        usesOtherStore: fc.boolean(),
        accounts: fc.constantFrom(['a'], ['b'], ['a', 'b'], ['b', 'a']),
        // Iterations of the event loop between the reservation and its settlement.
        turns: fc.nat({ max: 3 }),
      });
      const stores = await makeStores();
      let caseCount = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(callArbitrary, { maxLength: 25 }),
          fc.integer({ min: 0, max: 200 }),
          async (calls, cap) => {
            // Each case has its own accounts and calls, because new stores for each case would exhaust the connections
            // of a server.
            const prefix = `case ${(caseCount += 1)} `;
            const expectedTotals = { a: 0, b: 0 };
            const makeCall = async (
              { usesOtherStore, maxMicros, share, accounts, turns }: (typeof calls)[number],
              index: number,
            ) => {
              const store = usesOtherStore ? stores.secondStore : stores.firstStore;
              const ids = accounts.map((account) => prefix + account);
              if (await store.reserve(reservation(prefix + index, maxMicros, { cap, accounts: ids }))) return;
              for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
              for (const id of ids) expect(await store.totalOf(id)).toBeLessThanOrEqual(cap);
              const cost = Math.floor(maxMicros * share);
              await store.settle(prefix + index, cost);
              for (const account of accounts) expectedTotals[account as 'a' | 'b'] += cost;
            };
            await Promise.all(calls.map(makeCall));
            const totals = {
              a: await stores.firstStore.totalOf(`${prefix}a`),
              b: await stores.secondStore.totalOf(`${prefix}b`),
            };
            expect(totals).toEqual(expectedTotals);
          },
        ),
        { numRuns: pickByScale(8, 200) },
      );
    });

    it('removes accounts whose period has ended', async () => {
      const { firstStore } = await makeStores();
      await firstStore.reserve(reservation('1', 5));
      await firstStore.prune(PERIOD_END_MS - 1);
      expect(await firstStore.totalOf('a')).toBe(5);
      await firstStore.prune(PERIOD_END_MS);
      expect(await firstStore.totalOf('a')).toBe(0);
      await firstStore.settle('1', 5);
      expect(await firstStore.totalOf('a')).toBe(0);
    });
  });
}
