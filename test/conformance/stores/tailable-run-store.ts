import { describe, expect, it } from 'vitest';
import type { TailableRunStore } from '../../../packages/engine/src/store/stores.ts';
import {
  createEntry,
  createBlockLog,
  createRunHeader,
  createRunRecord,
  createStartedEntry,
} from '../../support/run-data.ts';

const SAVE_COUNT = 30;

type Keys = [first: string, second: string, third: string];

/**
 * Tests what the engine's own run stores do beyond `RunStore`. `makeStores` opens two stores on the same empty data.
 */
export function describeTailableRunStore(
  name: string,
  makeStores: () =>
    | Promise<Record<'firstStore' | 'secondStore', TailableRunStore>>
    | Record<'firstStore' | 'secondStore', TailableRunStore>,
): void {
  describe(`${name}: run store for several processes`, () => {
    it('reads a record together with its logs while another process saves newer ones', async () => {
      const { firstStore, secondStore } = await makeStores();
      await firstStore.create(createRunHeader('r'), createStartedEntry());
      const save = async (): Promise<void> => {
        for (let seq = 1; seq <= SAVE_COUNT; seq++)
          await firstStore.saveRecord(createRunRecord('r', { seq }), [createBlockLog('r', seq)]);
      };
      let isSaving = true;
      const savePromise = save().finally(() => (isSaving = false));
      const states: [seq: number, logCount: number][] = [];
      while (isSaving) {
        const state = await secondStore.recordWithLogs('r');
        if (state) states.push([state.record.seq, state.logs.length]);
        await new Promise(setImmediate);
      }
      await savePromise;
      expect(states.filter(([seq, logCount]) => seq !== logCount)).toEqual([]);
      const logs = Array.from({ length: SAVE_COUNT }, (_, index) => createBlockLog('r', index + 1));
      expect(await secondStore.recordWithLogs('r')).toEqual({
        record: createRunRecord('r', { seq: SAVE_COUNT }),
        logs,
      });
    });

    it('truncates a run: its record and logs are replaced, and later entries removed', async () => {
      const { firstStore, secondStore } = await makeStores();
      for (const runId of ['r', 'unrelated']) {
        await firstStore.create(createRunHeader(runId), createStartedEntry());
        await firstStore.upsert(runId, [createEntry(2), createEntry(3), createEntry(4)]);
        await firstStore.saveRecord(createRunRecord(runId, { seq: 4, status: 'completed' }), [
          createBlockLog(runId, 1),
          createBlockLog(runId, 2),
        ]);
      }
      const lastRecord = createRunRecord('r', { seq: 2, status: 'cancelled' });
      const cancelledLog = createBlockLog('r', 1, { status: 'cancelled' });
      await secondStore.truncate(lastRecord, [cancelledLog]);
      expect(await firstStore.recordWithLogs('r')).toEqual({ record: lastRecord, logs: [cancelledLog] });
      expect(await firstStore.journal('r')).toEqual([createStartedEntry(), createEntry(2)]);
      expect(await firstStore.journal('unrelated')).toHaveLength(4);
      expect(await firstStore.logs('unrelated')).toHaveLength(2);
      await firstStore.upsert('r', [createEntry(4, 'new'), createEntry(3, 'new')]);
      expect(await secondStore.tail('r', 2)).toEqual([createEntry(3, 'new'), createEntry(4, 'new')]);
      await secondStore.truncate(createRunRecord('r', { seq: 1 }), []);
      await secondStore.append('r', [createEntry(2, 'last')]);
      expect(await firstStore.journal('r')).toEqual([createStartedEntry(), createEntry(2, 'last')]);
      expect(await firstStore.recordWithLogs('r')).toEqual({
        record: createRunRecord('r', { seq: 1 }),
        logs: [],
      });
    });

    it('returns the highest execution order of the logs', async () => {
      const { firstStore, secondStore } = await makeStores();
      await firstStore.create(createRunHeader('r'), createStartedEntry());
      expect(await firstStore.lastLogOrder('r')).toBe(0);
      // The logs of a run may be in several rows.
      const logs = Array.from({ length: 250 }, (_, index) => createBlockLog('r', index + 1));
      await firstStore.saveRecord(createRunRecord('r'), [...logs.toReversed()]);
      expect(await secondStore.lastLogOrder('r')).toBe(250);
      expect(await secondStore.lastLogOrder('unknown \u0000')).toBe(0);
      await firstStore.truncate(createRunRecord('r'), logs.slice(0, 120));
      expect(await secondStore.lastLogOrder('r')).toBe(120);
    });

    it('returns the keys of all values that a removed run used, even if no entry contains them', async () => {
      const { firstStore, secondStore } = await makeStores();
      await firstStore.create(createRunHeader('r'), createStartedEntry());
      const [firstKey, secondKey, thirdKey] = ['a', 'b', 'c'].map(
        (digit) => `sha256:${digit.repeat(64)}`,
      ) as Keys;
      await firstStore.upsert('r', [createEntry(2, firstKey)]);
      await secondStore.addValueUses('r', [firstKey, secondKey]);
      await secondStore.addValueUses('r', [secondKey, thirdKey]);
      await firstStore.saveRecord(createRunRecord('r', { seq: 2, status: 'completed' }), []);
      expect(new Set(await secondStore.remove('r'))).toEqual(new Set([firstKey, secondKey, thirdKey]));
    });

    it('refuses to truncate an unknown run, and to record its values', async () => {
      const { firstStore } = await makeStores();
      const truncate = async (): Promise<void> => firstStore.truncate(createRunRecord('r'), []);
      await expect(truncate()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
      const addUses = async (): Promise<void> => firstStore.addValueUses('r', ['sha256:a']);
      await expect(addUses()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    });

    it('returns a record without logs, and nothing for a run without a record', async () => {
      const { firstStore, secondStore } = await makeStores();
      await firstStore.create(createRunHeader('r'), createStartedEntry());
      expect(await secondStore.recordWithLogs('r')).toBeUndefined();
      expect(await secondStore.recordWithLogs('unknown \u0000')).toBeUndefined();
      await firstStore.saveRecord(createRunRecord('r'), []);
      expect(await secondStore.recordWithLogs('r')).toEqual({ record: createRunRecord('r'), logs: [] });
    });
  });
}
