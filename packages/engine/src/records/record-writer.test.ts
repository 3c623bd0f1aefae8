import type { BlockLog, RunRecord } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { createEntry, createBlockLog, createRunRecord } from '../../../../test/support/run-data.ts';
import { TestClock } from '../../../../test/support/test-clock.ts';
import type { AppliedEntry } from './fold.ts';
import { RecordWriter } from './record-writer.ts';

function createWriter(): {
  writer: RecordWriter;
  clock: TestClock;
  run: { seq: number; isWriting: boolean; isIdle: boolean; saveError?: Error };
  savedRecords: { seq: number; logs: number[] }[];
} {
  const clock = new TestClock();
  const savedRecords: { seq: number; logs: number[] }[] = [];
  const run: ReturnType<typeof createWriter>['run'] = { seq: 1, isWriting: false, isIdle: false };
  const writer = new RecordWriter({
    clock,
    record: () => createRunRecord('r', { seq: run.seq }),
    save: async ({ seq }: RunRecord, logs: readonly BlockLog[]) => {
      if (run.saveError) throw run.saveError;
      savedRecords.push({ seq, logs: logs.map(({ executionOrder }) => executionOrder) });
    },
    isWriting: () => run.isWriting,
    isIdle: () => run.isIdle,
    onError: () => undefined,
  });
  return { writer, clock, run, savedRecords };
}

describe('RecordWriter', () => {
  it('saves half a second after the first change, and each log once', async () => {
    const { writer, clock, savedRecords } = createWriter();
    writer.markChanged([createBlockLog('r', 1)]);
    writer.saveSoon();
    clock.advance(400);
    writer.markChanged([createBlockLog('r', 1), createBlockLog('r', 2)]);
    writer.saveSoon();
    expect(savedRecords).toEqual([]);
    clock.advance(100);
    await writer.save();
    expect(savedRecords).toEqual([{ seq: 1, logs: [1, 2] }]);
    expect(clock.pendingTimerCount).toBe(0);
  });

  it('waits for the entry that is being written', async () => {
    const { writer, run, savedRecords } = createWriter();
    run.isWriting = true;
    const saving = writer.save();
    expect(savedRecords).toEqual([]);
    run.isWriting = false;
    run.seq = 2;
    writer.onEntryWritten();
    await saving;
    expect(savedRecords).toEqual([{ seq: 2, logs: [] }]);
  });

  it('saves logs again if their first write failed', async () => {
    const { writer, run, savedRecords } = createWriter();
    writer.markChanged([createBlockLog('r', 1)]);
    run.saveError = new Error('full');
    await expect(writer.save()).rejects.toBe(run.saveError);
    delete run.saveError;
    await writer.save();
    expect(savedRecords).toEqual([{ seq: 1, logs: [1] }]);
  });

  it('returns record and logs for the commit of an entry that makes the run idle, and does not save them again', async () => {
    const { writer, clock, run, savedRecords } = createWriter();
    const appliedEntry = (order: number): AppliedEntry => ({
      entry: createEntry(order),
      applyResult: { changed: true, commands: [], transitions: [], logs: [createBlockLog('r', order)] },
    });
    expect(writer.takeForCommit([appliedEntry(1)])).toBeUndefined();
    writer.saveSoon();
    run.isIdle = true;
    expect(writer.takeForCommit([appliedEntry(2), appliedEntry(3)])).toMatchObject({
      record: { seq: 1 },
      logs: [{ executionOrder: 1 }, { executionOrder: 2 }, { executionOrder: 3 }],
    });
    writer.saveSoon();
    expect(clock.pendingTimerCount).toBe(0);
    await writer.save();
    expect(savedRecords).toEqual([]);
  });

  it('does not save an unchanged record again', async () => {
    const { writer, savedRecords } = createWriter();
    await writer.save();
    await writer.save();
    expect(savedRecords).toHaveLength(1);
  });

  it('saves nothing once an entry will never be written', async () => {
    const { writer, run, savedRecords } = createWriter();
    run.isWriting = true;
    const saving = writer.save();
    const error = new Error('full');
    writer.abort(error);
    await expect(saving).rejects.toBe(error);
    await expect(writer.save()).rejects.toBe(error);
    expect(savedRecords).toEqual([]);
  });
});
