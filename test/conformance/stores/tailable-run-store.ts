import { describe, expect, it } from 'vitest';
import type { TailableRunStore } from '../../../packages/engine/src/store/stores.ts';
import { entry, log, newRun, record, startedEntry } from '../../support/run-data.ts';

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
      await firstStore.create(newRun('r'), startedEntry());
      const save = async (): Promise<void> => {
        for (let seq = 1; seq <= SAVE_COUNT; seq++)
          await firstStore.saveRecord(record('r', { seq }), [log('r', seq)]);
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
      const logs = Array.from({ length: SAVE_COUNT }, (_, index) => log('r', index + 1));
      expect(await secondStore.recordWithLogs('r')).toEqual({
        record: record('r', { seq: SAVE_COUNT }),
        logs,
      });
    });

    it('truncates a run: its record and logs are replaced, and later entries removed', async () => {
      const { firstStore, secondStore } = await makeStores();
      for (const runId of ['r', 'apart']) {
        await firstStore.create(newRun(runId), startedEntry());
        await firstStore.upsert(runId, [entry(2), entry(3), entry(4)]);
        await firstStore.saveRecord(record(runId, { seq: 4, status: 'completed' }), [
          log(runId, 1),
          log(runId, 2),
        ]);
      }
      const lastRecord = record('r', { seq: 2, status: 'cancelled' });
      const cancelledLog = log('r', 1, { status: 'cancelled' });
      await secondStore.truncate(lastRecord, [cancelledLog]);
      expect(await firstStore.recordWithLogs('r')).toEqual({ record: lastRecord, logs: [cancelledLog] });
      expect(await firstStore.journal('r')).toEqual([startedEntry(), entry(2)]);
      expect(await firstStore.journal('apart')).toHaveLength(4);
      expect(await firstStore.logs('apart')).toHaveLength(2);
      await firstStore.upsert('r', [entry(4, 'new'), entry(3, 'new')]);
      expect(await secondStore.tail('r', 2)).toEqual([entry(3, 'new'), entry(4, 'new')]);
      await secondStore.truncate(record('r', { seq: 1 }), []);
      await secondStore.append('r', [entry(2, 'last')]);
      expect(await firstStore.journal('r')).toEqual([startedEntry(), entry(2, 'last')]);
      expect(await firstStore.recordWithLogs('r')).toEqual({ record: record('r', { seq: 1 }), logs: [] });
    });

    it('returns the highest execution order of the logs', async () => {
      const { firstStore, secondStore } = await makeStores();
      await firstStore.create(newRun('r'), startedEntry());
      expect(await firstStore.lastLogOrder('r')).toBe(0);
      // The logs of a run may be in several rows.
      const logs = Array.from({ length: 250 }, (_, index) => log('r', index + 1));
      await firstStore.saveRecord(record('r'), [...logs.toReversed()]);
      expect(await secondStore.lastLogOrder('r')).toBe(250);
      expect(await secondStore.lastLogOrder('unknown \u0000')).toBe(0);
      await firstStore.truncate(record('r'), logs.slice(0, 120));
      expect(await secondStore.lastLogOrder('r')).toBe(120);
    });

    it('returns the keys of all values that a removed run used, even if no entry contains them', async () => {
      const { firstStore, secondStore } = await makeStores();
      await firstStore.create(newRun('r'), startedEntry());
      const [firstKey, secondKey, thirdKey] = ['a', 'b', 'c'].map(
        (digit) => `sha256:${digit.repeat(64)}`,
      ) as Keys;
      await firstStore.upsert('r', [entry(2, firstKey)]);
      await secondStore.addValueUses('r', [firstKey, secondKey]);
      await secondStore.addValueUses('r', [secondKey, thirdKey]);
      await firstStore.saveRecord(record('r', { seq: 2, status: 'completed' }), []);
      expect(new Set(await secondStore.remove('r'))).toEqual(new Set([firstKey, secondKey, thirdKey]));
    });

    it('refuses to truncate an unknown run, and to record its values', async () => {
      const { firstStore } = await makeStores();
      const truncate = async (): Promise<void> => firstStore.truncate(record('r'), []);
      await expect(truncate()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
      const addUses = async (): Promise<void> => firstStore.addValueUses('r', ['sha256:a']);
      await expect(addUses()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    });

    it('returns a record without logs, and nothing for a run without a record', async () => {
      const { firstStore, secondStore } = await makeStores();
      await firstStore.create(newRun('r'), startedEntry());
      expect(await secondStore.recordWithLogs('r')).toBeUndefined();
      expect(await secondStore.recordWithLogs('unknown \u0000')).toBeUndefined();
      await firstStore.saveRecord(record('r'), []);
      expect(await secondStore.recordWithLogs('r')).toEqual({ record: record('r'), logs: [] });
    });
  });
}
