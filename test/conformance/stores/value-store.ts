import type { RunStore, ValueStore } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { createEntry, createRunHeader, createRunRecord, createStartedEntry } from '../../support/run-data.ts';

/** Defines the tests of value stores. `makeStore` returns a new, empty store. */
export function describeValueStore(name: string, makeStore: () => ValueStore | Promise<ValueStore>): void {
  describe(`${name}: value store`, () => {
    it.each([2, 10_000, 262_144, 262_145, 3_000_000])('returns a value of %i bytes', async (bytes) => {
      const store = await makeStore();
      const json = JSON.stringify('x'.repeat(bytes - 2));
      const key = await store.put(json);
      expect(await store.get(key)).toBe(json);
    });

    it('returns a large value with non-ASCII characters, NULs and lone surrogates unchanged', async () => {
      const store = await makeStore();
      const json = JSON.stringify({ text: 'ä\u0000\ud83d\ude00\ud800'.repeat(60_000) });
      expect(await store.get(await store.put(json))).toBe(json);
    });

    it('has one key per content', async () => {
      const store = await makeStore();
      const largeJson = JSON.stringify('y'.repeat(300_000));
      const keys = await Promise.all(
        ['1', '1', '2', largeJson, largeJson].map(async (json) => store.put(json)),
      );
      expect(new Set(keys).size).toBe(3);
      expect(keys[0]).toBe('sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b');
      expect(await store.put('1')).toBe(keys[0]);
      expect(await store.get(keys[3] as string)).toBe(largeJson);
    });

    it.each(['sha256:00', '', '../../etc/passwd', 'sha256:../../../etc/passwd'])(
      'has no value for the key "%s"',
      async (key) => {
        expect(await (await makeStore()).get(key)).toBeUndefined();
      },
    );
  });
}

/** Defines the tests of pruning in value stores. `runs` contains the runs that may use the values. */
export function describePruning(
  name: string,
  makeStores: () => { runs: RunStore; values: ValueStore } | Promise<{ runs: RunStore; values: ValueStore }>,
): void {
  describe(`${name}: values that no run uses`, () => {
    it.each([10_000, 300_000])(
      'are removed at a size of %i bytes, and values that a run uses are kept',
      async (bytes) => {
        const { runs, values } = await makeStores();
        const [unusedJson, usedJson] = [JSON.stringify('u'.repeat(bytes)), JSON.stringify('v'.repeat(bytes))];
        const keys = [await values.put(unusedJson), await values.put(usedJson)];
        for (const id of ['removed', 'kept']) {
          await runs.create(createRunHeader(id), createStartedEntry());
          await runs.append(id, [createEntry(2, keys[1])]);
        }
        await runs.append('removed', [createEntry(3, keys[0])]);
        await values.prune(keys, 0);
        expect([await values.get(keys[0] ?? ''), await values.get(keys[1] ?? '')]).toEqual([
          unusedJson,
          usedJson,
        ]);
        await runs.saveRecord(createRunRecord('removed', { seq: 3, status: 'failed' }), []);
        await values.prune((await runs.remove('removed')) ?? [], 0);
        expect([await values.get(keys[0] ?? ''), await values.get(keys[1] ?? '')]).toEqual([
          undefined,
          usedJson,
        ]);
        await values.put(unusedJson);
        expect(await values.get(keys[0] ?? '')).toBe(unusedJson);
      },
    );

    it('are kept for some time after they are stored, because a run may be about to use them', async () => {
      const { values } = await makeStores();
      const key = await values.put('"x"');
      await values.prune([key, `sha256:${'0'.repeat(64)}`], 3_600_000);
      expect(await values.get(key)).toBe('"x"');
    });
  });
}
