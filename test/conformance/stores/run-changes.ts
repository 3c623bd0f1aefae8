import { describe, expect, it } from 'vitest';
import type { Json } from '@heddle/core';
import type { SharedStores } from '@heddle/engine/stores';
import { createRunHeader, createRunRecord, createStartedEntry } from '../../support/run-data.ts';

type ChangeStore = SharedStores['changes'];

async function readRunIds(changes: ChangeStore): Promise<string[]> {
  return (await changes.read(100)).map(({ runId }) => runId);
}

async function acknowledgeAll(changes: ChangeStore): Promise<void> {
  await changes.acknowledge((await changes.read(100)).map(({ position }) => position));
}

/** Defines the tests of recorded changes to runs. `makeStores` opens empty stores. */
export function describeRunChanges(
  name: string,
  makeStores: () => SharedStores | Promise<SharedStores>,
): void {
  describe(`${name}: changes to runs`, () => {
    it('records no changes before a consumer begins; then every stored run counts as changed', async () => {
      const { runs, changes } = await makeStores();
      await runs.create(createRunHeader('a'), createStartedEntry());
      expect(await changes.read(10)).toEqual([]);
      await changes.begin();
      await changes.begin();
      expect(await readRunIds(changes)).toEqual(['a']);
    });

    it('records only the creation of a run, changes of its status and its removal', async () => {
      const { runs, changes } = await makeStores();
      await changes.begin();
      await runs.create(createRunHeader('a'), createStartedEntry());
      expect(await changes.read(10)).toMatchObject([{ runId: 'a', header: { workflowId: 'workflow' } }]);
      await runs.saveRecord(createRunRecord('a', { status: 'running', seq: 1 }), []);
      await acknowledgeAll(changes);
      await runs.saveRecord(createRunRecord('a', { status: 'running', seq: 2 }), []);
      expect(await changes.read(10)).toEqual([]);
      await runs.saveRecord(createRunRecord('a', { status: 'completed', seq: 3 }), []);
      expect(await changes.read(10)).toMatchObject([{ runId: 'a', record: { status: 'completed' } }]);
      await acknowledgeAll(changes);
      await runs.remove('a');
      const [removal] = await changes.read(10);
      expect(removal?.runId).toBe('a');
      expect(removal).not.toHaveProperty('header');
    });

    it('removes only acknowledged changes, and never uses a position twice', async () => {
      const { runs, changes } = await makeStores();
      await changes.begin();
      for (const id of ['a', 'b', 'c']) await runs.create(createRunHeader(id), createStartedEntry());
      const firstChanges = await changes.read(2);
      expect(firstChanges.map(({ runId }) => runId)).toEqual(['a', 'b']);
      await changes.acknowledge(firstChanges.map(({ position }) => position));
      expect(await readRunIds(changes)).toEqual(['c']);
      await acknowledgeAll(changes);
      await runs.create(createRunHeader('d'), createStartedEntry());
      await changes.acknowledge(firstChanges.map(({ position }) => position));
      expect(await readRunIds(changes)).toEqual(['d']);
    });

    it('measures a run with its journal, logs and stored values; an unknown run has no size', async () => {
      const { runs, values, changes } = await makeStores();
      await runs.create(createRunHeader('small'), createStartedEntry());
      await runs.create(createRunHeader('large'), createStartedEntry());
      const key = await values.put(JSON.stringify('x'.repeat(50_000)));
      const input: Json = { ref: { key, bytes: 50_002 } };
      await runs.upsert('large', [{ ...createStartedEntry(1), input } as never]);
      const bytesByRun = await changes.bytesOf(['small', 'large', 'unknown']);
      const { small = 0, large = 0 } = Object.fromEntries(bytesByRun);
      expect(small).toBeGreaterThan(100);
      expect(large).toBeGreaterThan(50_000);
      expect(bytesByRun.has('unknown')).toBe(false);
    });
  });
}
