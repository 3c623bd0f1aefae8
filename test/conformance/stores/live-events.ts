import { describe, expect, it } from 'vitest';
import type { LiveEventStore } from '@heddle/engine/stores';

const event = (text: string, place = 'b') => ({ place, json: JSON.stringify(text) });
const MAX_EVENTS = 10_000;
const MAX_CHARS = 1_048_576;

/** Two stores on the same data. In memory they are the same object. */
export interface LiveEventStores {
  firstStore: LiveEventStore;
  secondStore: LiveEventStore;
}

/** Defines the tests of stores of live events. `makeStores` opens two stores on the same empty data. */
export function describeLiveEvents(
  name: string,
  makeStores: () => LiveEventStores | Promise<LiveEventStores>,
): void {
  describe(`${name}: live events`, () => {
    it('numbers the events of each run from 1, and returns the events after a number', async () => {
      const { firstStore, secondStore } = await makeStores();
      expect(await secondStore.lastNumber('r')).toBe(0);
      expect(await secondStore.read('r', 0, 10)).toEqual([]);
      expect(await firstStore.publish('r', [event('a'), event('b', 'c')])).toBe(2);
      expect(await firstStore.publish('q', [event('x')])).toBe(1);
      expect(await firstStore.publish('r', [event('c\u0000\ud800')])).toBe(3);
      expect(await secondStore.read('r', 0, 2)).toEqual([
        { number: 1, ...event('a') },
        { number: 2, ...event('b', 'c') },
      ]);
      expect(await secondStore.read('r', 2, 10)).toEqual([{ number: 3, ...event('c\u0000\ud800') }]);
      expect(await secondStore.read('r', 3, 10)).toEqual([]);
      expect([await secondStore.lastNumber('r'), await secondStore.lastNumber('q')]).toEqual([3, 1]);
      expect((await secondStore.places('r')).toSorted()).toEqual(['b', 'c']);
    });

    it('gives events of concurrent publishers consecutive numbers, and keeps the order of each publisher', async () => {
      const { firstStore, secondStore } = await makeStores();
      const publish = async (store: LiveEventStore, publisher: string): Promise<void> => {
        for (let index = 0; index < 40; index += 2)
          await store.publish('r', [event(`${publisher} ${index}`), event(`${publisher} ${index + 1}`)]);
      };
      const numbers: number[] = [];
      const read = async (): Promise<void> => {
        while (numbers.length < 160)
          for (const { number } of await secondStore.read('r', numbers.length, 30)) numbers.push(number);
      };
      await Promise.all([
        publish(firstStore, 'a'),
        publish(secondStore, 'b'),
        publish(firstStore, 'c'),
        publish(secondStore, 'd'),
        read(),
      ]);
      expect(numbers).toEqual(Array.from({ length: 160 }, (_, index) => index + 1));
      const texts = (await firstStore.read('r', 0, 1000)).map(({ json }) => JSON.parse(json) as string);
      for (const publisher of ['a', 'b', 'c', 'd'])
        expect(texts.filter((text) => text.startsWith(publisher))).toEqual(
          Array.from({ length: 40 }, (_, index) => `${publisher} ${index}`),
        );
    });

    it('notifies watchers of a run about events in either store, until the watchers stop', async () => {
      const { firstStore, secondStore } = await makeStores();
      await firstStore.publish('r', [event('a')]);
      const notification = Promise.withResolvers<void>();
      let callCount = 0;
      const stop = secondStore.watch('r', () => {
        callCount += 1;
        notification.resolve();
      });
      // A new watcher may miss the first events.
      const publishPromise = (async () => {
        for (let done = false; !done;) {
          await firstStore.publish('r', [event('b')]);
          done = await Promise.race([notification.promise.then(() => true), resolveFalseAfter(20)]);
        }
      })();
      await notification.promise;
      await publishPromise;
      stop();
      const countAtStop = callCount;
      await firstStore.publish('r', [event('c')]);
      await resolveFalseAfter(50);
      expect(callCount).toBe(countAtStop);
    });

    it('removes the oldest events of a run beyond the limits, and the numbers continue', async () => {
      const { firstStore } = await makeStores();
      const batch = Array.from({ length: 1000 }, (_, index) => event(String(index)));
      for (let round = 0; round < 12; round++) await firstStore.publish('r', batch);
      const storedEvents = await firstStore.read('r', 0, 20_000);
      expect(storedEvents.length).toBeLessThanOrEqual(MAX_EVENTS + 256);
      expect(storedEvents.length).toBeGreaterThan(MAX_EVENTS / 2);
      const firstNumber = 12_001 - storedEvents.length;
      expect(storedEvents.map(({ number }) => number)).toEqual(
        storedEvents.map((_, index) => firstNumber + index),
      );
      const largeEvents = Array.from({ length: 256 }, () => event('x'.repeat(16_000)));
      await firstStore.publish('q', largeEvents);
      const charCount = (await firstStore.read('q', 0, 1000)).reduce((sum, { json }) => sum + json.length, 0);
      // The oldest event may exceed the limit.
      expect(charCount).toBeLessThanOrEqual(MAX_CHARS + 16_002);
      expect(charCount).toBeGreaterThan(MAX_CHARS / 2);
      expect(await firstStore.lastNumber('q')).toBe(256);
    });

    it('removes the events of a run', async () => {
      const { firstStore, secondStore } = await makeStores();
      await firstStore.publish('r', [event('a')]);
      await firstStore.publish('q', [event('b')]);
      await firstStore.remove('r');
      expect(await secondStore.read('r', 0, 10)).toEqual([]);
      expect(await secondStore.read('q', 0, 10)).toHaveLength(1);
      expect(await firstStore.publish('r', [event('c')])).toBe(1);
    });
  });
}

/** Resolves to false after `ms` on the system clock, because the test waits for another connection. */
function resolveFalseAfter(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(() => resolve(false), ms));
}
