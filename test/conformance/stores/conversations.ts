import { describe, expect, it } from 'vitest';
import type { ConversationStore } from '@heddle/engine/stores';

const CONVERSATION = { tenant: 'a', id: 'talk' };

/** Defines the tests of conversations in stores. `makeStore` opens an empty store. */
export function describeConversations(
  name: string,
  makeStore: () => ConversationStore | Promise<ConversationStore>,
): void {
  describe(`${name}: conversations`, () => {
    it('returns the exchanges in order, and keeps only the first exchange with a key', async () => {
      const store = await makeStore();
      await store.add(CONVERSATION, { key: '1', json: '"one"' });
      await store.add(CONVERSATION, { key: '2', json: '"two"' });
      await store.add(CONVERSATION, { key: '1', json: '"again"' });
      expect(await store.newestExchanges(CONVERSATION, 1000)).toEqual(['"one"', '"two"']);
    });

    it('returns the newest exchanges up to the first that does not fit, even if an older one would fit', async () => {
      const store = await makeStore();
      for (const [index, json] of ['"a"', '"bbbbbbbb"', '"c"', '"d"'].entries())
        await store.add(CONVERSATION, { key: String(index), json });
      expect(await store.newestExchanges(CONVERSATION, 6)).toEqual(['"c"', '"d"']);
      expect(await store.newestExchanges(CONVERSATION, 15)).toEqual(['"c"', '"d"']);
      expect(await store.newestExchanges(CONVERSATION, 16)).toEqual(['"bbbbbbbb"', '"c"', '"d"']);
      expect(await store.newestExchanges(CONVERSATION, 2)).toEqual([]);
    });

    it('keeps conversations of different tenants and ids apart', async () => {
      const store = await makeStore();
      await store.add(CONVERSATION, { key: '1', json: '1' });
      await store.add({ tenant: 'b', id: 'talk' }, { key: '1', json: '2' });
      await store.add({ tenant: 'a', id: 'other' }, { key: '1', json: '3' });
      expect(await store.newestExchanges(CONVERSATION, 1000)).toEqual(['1']);
      expect(await store.newestExchanges({ tenant: 'b', id: 'talk' }, 1000)).toEqual(['2']);
      expect(await store.newestExchanges({ tenant: '', id: 'talk' }, 1000)).toEqual([]);
    });

    it('removes a conversation, whose id can then be used again', async () => {
      const store = await makeStore();
      await store.add(CONVERSATION, { key: '1', json: '1' });
      await store.add({ ...CONVERSATION, tenant: 'b' }, { key: '1', json: '2' });
      await store.remove(CONVERSATION);
      await store.remove({ tenant: 'a', id: 'never' });
      expect(await store.newestExchanges(CONVERSATION, 1000)).toEqual([]);
      expect(await store.ids('a', 10)).toEqual([]);
      expect(await store.newestExchanges({ ...CONVERSATION, tenant: 'b' }, 1000)).toEqual(['2']);
      await store.add(CONVERSATION, { key: '1', json: '3' });
      expect(await store.newestExchanges(CONVERSATION, 1000)).toEqual(['3']);
    });

    it('lists the ids of a tenant in the order of their code points', async () => {
      const store = await makeStore();
      const ids = ['\u{1F9F6}', '\uFF01', 'b', 'a', 'B'];
      for (const id of ids)
        for (const key of ['1', '2']) await store.add({ tenant: 'a', id }, { key, json: '1' });
      await store.add({ tenant: 'b', id: 'c' }, { key: '1', json: '1' });
      expect(await store.ids('a', 10)).toEqual(['B', 'a', 'b', '\uFF01', '\u{1F9F6}']);
      expect(await store.ids('a', 2)).toEqual(['B', 'a']);
      expect(await store.ids('none', 10)).toEqual([]);
    });

    it('loses no exchange of concurrent writers, and keeps the newest 500', async () => {
      const store = await makeStore();
      const numbers = Array.from({ length: 505 }, (_, index) => index);
      for (const number of numbers.slice(0, 300))
        await store.add(CONVERSATION, { key: String(number), json: String(number) });
      await Promise.all(
        numbers
          .slice(300)
          .map(async (number) => store.add(CONVERSATION, { key: String(number), json: String(number) })),
      );
      const storedNumbers = (await store.newestExchanges(CONVERSATION, 1_000_000)).map(Number);
      expect(storedNumbers.toSorted((a, b) => a - b)).toEqual(numbers.slice(5));
    });
  });
}
