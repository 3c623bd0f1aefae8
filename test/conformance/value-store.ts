import type { ValueStore } from '@heddle/core';
import { describe, expect, it } from 'vitest';

/** What every value store does; `make` gives a new, empty one. */
export function describeValueStore(name: string, make: () => ValueStore | Promise<ValueStore>): void {
  describe(`${name}: value store`, () => {
    it.each([2, 10_000, 262_144, 262_145, 3_000_000])('gives a value of %i bytes back', async (bytes) => {
      const store = await make();
      const json = JSON.stringify('x'.repeat(bytes - 2));
      const key = await store.put(json);
      expect(await store.get(key)).toBe(json);
    });

    it('keeps every character, counting bytes and not characters', async () => {
      const store = await make();
      const json = JSON.stringify({ text: 'ä\u0000\ud83d\ude00\ud800'.repeat(60_000) });
      expect(await store.get(await store.put(json))).toBe(json);
    });

    it('has one key per content', async () => {
      const store = await make();
      const large = JSON.stringify('y'.repeat(300_000));
      const keys = await Promise.all(['1', '1', '2', large, large].map(async (json) => store.put(json)));
      expect(new Set(keys).size).toBe(3);
      expect(keys[0]).toBe('sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b');
      expect(await store.put('1')).toBe(keys[0]);
      expect(await store.get(keys[3] as string)).toBe(large);
    });

    it.each(['sha256:00', '', '../../etc/passwd', 'sha256:../../../etc/passwd'])(
      'knows nothing of the key "%s"',
      async (key) => {
        expect(await (await make()).get(key)).toBeUndefined();
      },
    );
  });
}
