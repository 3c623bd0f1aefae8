import { describe, expect, it } from 'vitest';
import type { Json } from '@heddle/core';
import type { SharedStores } from '@heddle/engine/stores';
import { newRun, record, startedEntry } from '../../support/run-data.ts';

type Changes = SharedStores['changes'];

async function readRunIds(changes: Changes): Promise<string[]> {
  return (await changes.read(100)).map(({ runId }) => runId);
}

async function acknowledgeAll(changes: Changes): Promise<void> {
  await changes.acknowledge((await changes.read(100)).map(({ position }) => position));
}

/** Defines the tests of recorded changes to runs. `make` opens empty stores. */
export function describeRunChanges(name: string, make: () => SharedStores | Promise<SharedStores>): void {
  describe(`${name}: changes to runs`, () => {
    it('records no changes before a consumer begins; then every stored run counts as changed', async () => {
      const { runs, changes } = await make();
      await runs.create(newRun('a'), startedEntry());
      expect(await changes.read(10)).toEqual([]);
      await changes.begin();
      await changes.begin();
      expect(await readRunIds(changes)).toEqual(['a']);
    });

    it('records only the creation of a run, changes of its status and its removal', async () => {
      const { runs, changes } = await make();
      await changes.begin();
      await runs.create(newRun('a'), startedEntry());
      expect(await changes.read(10)).toMatchObject([{ runId: 'a', header: { workflowId: 'workflow' } }]);
      await runs.saveRecord(record('a', { status: 'running', seq: 1 }), []);
      await acknowledgeAll(changes);
      await runs.saveRecord(record('a', { status: 'running', seq: 2 }), []);
      expect(await changes.read(10)).toEqual([]);
      await runs.saveRecord(record('a', { status: 'completed', seq: 3 }), []);
      expect(await changes.read(10)).toMatchObject([{ runId: 'a', record: { status: 'completed' } }]);
      await acknowledgeAll(changes);
      await runs.remove('a');
      const [removed] = await changes.read(10);
      expect(removed?.runId).toBe('a');
      expect(removed).not.toHaveProperty('header');
    });

    it('removes only acknowledged changes, and never uses a position twice', async () => {
      const { runs, changes } = await make();
      await changes.begin();
      for (const id of ['a', 'b', 'c']) await runs.create(newRun(id), startedEntry());
      const first = await changes.read(2);
      expect(first.map(({ runId }) => runId)).toEqual(['a', 'b']);
      await changes.acknowledge(first.map(({ position }) => position));
      expect(await readRunIds(changes)).toEqual(['c']);
      await acknowledgeAll(changes);
      await runs.create(newRun('d'), startedEntry());
      await changes.acknowledge(first.map(({ position }) => position));
      expect(await readRunIds(changes)).toEqual(['d']);
    });

    it('measures a run with its journal, logs and stored values; an unknown run has no size', async () => {
      const { runs, values, changes } = await make();
      await runs.create(newRun('small'), startedEntry());
      await runs.create(newRun('large'), startedEntry());
      const key = await values.put(JSON.stringify('x'.repeat(50_000)));
      const input: Json = { ref: { key, bytes: 50_002 } };
      await runs.upsert('large', [{ ...startedEntry(1), input } as never]);
      const bytes = await changes.bytesOf(['small', 'large', 'unknown']);
      const { small = 0, large = 0 } = Object.fromEntries(bytes);
      expect(small).toBeGreaterThan(100);
      expect(large).toBeGreaterThan(50_000);
      expect(bytes.has('unknown')).toBe(false);
    });
  });
}
