import { describe, expect, it } from 'vitest';
import type { LiveEventStore } from '@heddle/engine/stores';

const event = (text: string, place = 'b') => ({ place, json: JSON.stringify(text) });
const MAX_EVENTS = 10_000;
const MAX_CHARS = 1_048_576;

/** Two stores on the same data. In memory they are the same object. */
export interface LiveEventStores {
  one: LiveEventStore;
  other: LiveEventStore;
}

/** Defines the tests of stores of live events. `make` opens two stores on the same empty data. */
export function describeLiveEvents(
  name: string,
  make: () => LiveEventStores | Promise<LiveEventStores>,
): void {
  describe(`${name}: live events`, () => {
    it('numbers the events of each run from 1, and returns the events after a number', async () => {
      const { one, other } = await make();
      expect(await other.lastNumber('r')).toBe(0);
      expect(await other.read('r', 0, 10)).toEqual([]);
      expect(await one.publish('r', [event('a'), event('b', 'c')])).toBe(2);
      expect(await one.publish('q', [event('x')])).toBe(1);
      expect(await one.publish('r', [event('c\u0000\ud800')])).toBe(3);
      expect(await other.read('r', 0, 2)).toEqual([
        { number: 1, ...event('a') },
        { number: 2, ...event('b', 'c') },
      ]);
      expect(await other.read('r', 2, 10)).toEqual([{ number: 3, ...event('c\u0000\ud800') }]);
      expect(await other.read('r', 3, 10)).toEqual([]);
      expect([await other.lastNumber('r'), await other.lastNumber('q')]).toEqual([3, 1]);
      expect((await other.places('r')).toSorted()).toEqual(['b', 'c']);
    });

    it('gives events of concurrent publishers consecutive numbers, and keeps the order of each publisher', async () => {
      const { one, other } = await make();
      const publish = async (store: LiveEventStore, publisher: string): Promise<void> => {
        for (let nth = 0; nth < 40; nth += 2)
          await store.publish('r', [event(`${publisher} ${nth}`), event(`${publisher} ${nth + 1}`)]);
      };
      const numbers: number[] = [];
      const read = async (): Promise<void> => {
        while (numbers.length < 160)
          for (const { number } of await other.read('r', numbers.length, 30)) numbers.push(number);
      };
      await Promise.all([
        publish(one, 'a'),
        publish(other, 'b'),
        publish(one, 'c'),
        publish(other, 'd'),
        read(),
      ]);
      expect(numbers).toEqual(Array.from({ length: 160 }, (_, index) => index + 1));
      const texts = (await one.read('r', 0, 1000)).map(({ json }) => JSON.parse(json) as string);
      for (const publisher of ['a', 'b', 'c', 'd'])
        expect(texts.filter((text) => text.startsWith(publisher))).toEqual(
          Array.from({ length: 40 }, (_, nth) => `${publisher} ${nth}`),
        );
    });

    it('notifies watchers of a run about events in either store, until the watchers stop', async () => {
      const { one, other } = await make();
      await one.publish('r', [event('a')]);
      const notified = Promise.withResolvers<void>();
      let callCount = 0;
      const stop = other.watch('r', () => {
        callCount += 1;
        notified.resolve();
      });
      // A new watcher may miss the first events.
      const publishing = (async () => {
        for (let done = false; !done;) {
          await one.publish('r', [event('b')]);
          done = await Promise.race([notified.promise.then(() => true), falseAfter(20)]);
        }
      })();
      await notified.promise;
      await publishing;
      stop();
      const countAtStop = callCount;
      await one.publish('r', [event('c')]);
      await falseAfter(50);
      expect(callCount).toBe(countAtStop);
    });

    it('removes the oldest events of a run beyond the limits, and the numbers continue', async () => {
      const { one } = await make();
      const batch = Array.from({ length: 1000 }, (_, nth) => event(String(nth)));
      for (let round = 0; round < 12; round++) await one.publish('r', batch);
      const stored = await one.read('r', 0, 20_000);
      expect(stored.length).toBeLessThanOrEqual(MAX_EVENTS + 256);
      expect(stored.length).toBeGreaterThan(MAX_EVENTS / 2);
      const first = 12_001 - stored.length;
      expect(stored.map(({ number }) => number)).toEqual(stored.map((_, index) => first + index));
      const large = Array.from({ length: 256 }, () => event('x'.repeat(16_000)));
      await one.publish('q', large);
      const charCount = (await one.read('q', 0, 1000)).reduce((sum, { json }) => sum + json.length, 0);
      // The oldest event may exceed the limit.
      expect(charCount).toBeLessThanOrEqual(MAX_CHARS + 16_002);
      expect(charCount).toBeGreaterThan(MAX_CHARS / 2);
      expect(await one.lastNumber('q')).toBe(256);
    });

    it('removes the events of a run', async () => {
      const { one, other } = await make();
      await one.publish('r', [event('a')]);
      await one.publish('q', [event('b')]);
      await one.remove('r');
      expect(await other.read('r', 0, 10)).toEqual([]);
      expect(await other.read('q', 0, 10)).toHaveLength(1);
      expect(await one.publish('r', [event('c')])).toBe(1);
    });
  });
}

/** Resolves to false after `ms` on the system clock, because the test waits for another connection. */
function falseAfter(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(() => resolve(false), ms));
}
