import { describe, expect, it } from 'vitest';
import type { TailableRunStore } from '../../../packages/engine/src/store/stores.ts';
import { entry, log, newRun, record, startedEntry } from '../../support/run-data.ts';

const SAVES = 30;

type Keys = [first: string, second: string, third: string];

/** Tests what the engine's own run stores do beyond `RunStore`. `make` opens two stores on the same empty data. */
export function describeTailableRunStore(
  name: string,
  make: () => Promise<Record<'one' | 'other', TailableRunStore>> | Record<'one' | 'other', TailableRunStore>,
): void {
  describe(`${name}: run store for several processes`, () => {
    it('reads a record together with its logs while another process saves newer ones', async () => {
      const { one, other } = await make();
      await one.create(newRun('r'), startedEntry());
      const save = async (): Promise<void> => {
        for (let seq = 1; seq <= SAVES; seq++) await one.saveRecord(record('r', { seq }), [log('r', seq)]);
      };
      let isSaving = true;
      const saved = save().finally(() => (isSaving = false));
      const states: [seq: number, logs: number][] = [];
      while (isSaving) {
        const state = await other.recordWithLogs('r');
        if (state) states.push([state.record.seq, state.logs.length]);
        await new Promise(setImmediate);
      }
      await saved;
      expect(states.filter(([seq, logs]) => seq !== logs)).toEqual([]);
      const logs = Array.from({ length: SAVES }, (_, index) => log('r', index + 1));
      expect(await other.recordWithLogs('r')).toEqual({ record: record('r', { seq: SAVES }), logs });
    });

    it('truncates a run: its record and logs are replaced, and later entries removed', async () => {
      const { one, other } = await make();
      for (const runId of ['r', 'apart']) {
        await one.create(newRun(runId), startedEntry());
        await one.upsert(runId, [entry(2), entry(3), entry(4)]);
        await one.saveRecord(record(runId, { seq: 4, status: 'completed' }), [log(runId, 1), log(runId, 2)]);
      }
      const last = record('r', { seq: 2, status: 'cancelled' });
      const cancelled = log('r', 1, { status: 'cancelled' });
      await other.truncate(last, [cancelled]);
      expect(await one.recordWithLogs('r')).toEqual({ record: last, logs: [cancelled] });
      expect(await one.journal('r')).toEqual([startedEntry(), entry(2)]);
      expect(await one.journal('apart')).toHaveLength(4);
      expect(await one.logs('apart')).toHaveLength(2);
      await one.upsert('r', [entry(4, 'new'), entry(3, 'new')]);
      expect(await other.tail('r', 2)).toEqual([entry(3, 'new'), entry(4, 'new')]);
      await other.truncate(record('r', { seq: 1 }), []);
      await other.append('r', [entry(2, 'last')]);
      expect(await one.journal('r')).toEqual([startedEntry(), entry(2, 'last')]);
      expect(await one.recordWithLogs('r')).toEqual({ record: record('r', { seq: 1 }), logs: [] });
    });

    it('returns the highest execution order of the logs', async () => {
      const { one, other } = await make();
      await one.create(newRun('r'), startedEntry());
      expect(await one.lastLogOrder('r')).toBe(0);
      // The logs of a run may be in several rows.
      const logs = Array.from({ length: 250 }, (_, index) => log('r', index + 1));
      await one.saveRecord(record('r'), [...logs.toReversed()]);
      expect(await other.lastLogOrder('r')).toBe(250);
      expect(await other.lastLogOrder('unknown \u0000')).toBe(0);
      await one.truncate(record('r'), logs.slice(0, 120));
      expect(await other.lastLogOrder('r')).toBe(120);
    });

    it('returns the keys of all values that a removed run used, even if no entry contains them', async () => {
      const { one, other } = await make();
      await one.create(newRun('r'), startedEntry());
      const [first, second, third] = ['a', 'b', 'c'].map((digit) => `sha256:${digit.repeat(64)}`) as Keys;
      await one.upsert('r', [entry(2, first)]);
      await other.addValueUses('r', [first, second]);
      await other.addValueUses('r', [second, third]);
      await one.saveRecord(record('r', { seq: 2, status: 'completed' }), []);
      expect(new Set(await other.remove('r'))).toEqual(new Set([first, second, third]));
    });

    it('refuses to truncate an unknown run, and to record its values', async () => {
      const { one } = await make();
      const truncate = async (): Promise<void> => one.truncate(record('r'), []);
      await expect(truncate()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
      const addUses = async (): Promise<void> => one.addValueUses('r', ['sha256:a']);
      await expect(addUses()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    });

    it('returns a record without logs, and nothing for a run without a record', async () => {
      const { one, other } = await make();
      await one.create(newRun('r'), startedEntry());
      expect(await other.recordWithLogs('r')).toBeUndefined();
      expect(await other.recordWithLogs('unknown \u0000')).toBeUndefined();
      await one.saveRecord(record('r'), []);
      expect(await other.recordWithLogs('r')).toEqual({ record: record('r'), logs: [] });
    });
  });
}
