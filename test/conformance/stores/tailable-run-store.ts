import { describe, expect, it } from 'vitest';
import type { TailableRunStore } from '../../../packages/engine/src/store/stores.ts';
import { log, newRun, record, startedEntry } from '../../support/run-data.ts';

const SAVES = 30;

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
