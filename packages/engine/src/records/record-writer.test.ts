import type { BlockLog, RunRecord } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { entry, log, record } from '../../../../test/support/run-data.ts';
import { TestClock } from '../../../../test/support/test-clock.ts';
import type { AppliedEntry } from './fold.ts';
import { RecordWriter } from './record-writer.ts';

function createSaver(): {
  saver: RecordWriter;
  clock: TestClock;
  run: { seq: number; writing: boolean; idle: boolean; saveError?: Error };
  saved: { seq: number; logs: number[] }[];
} {
  const clock = new TestClock();
  const saved: { seq: number; logs: number[] }[] = [];
  const run: ReturnType<typeof createSaver>['run'] = { seq: 1, writing: false, idle: false };
  const saver = new RecordWriter({
    clock,
    record: () => record('r', { seq: run.seq }),
    save: async ({ seq }: RunRecord, logs: readonly BlockLog[]) => {
      if (run.saveError) throw run.saveError;
      saved.push({ seq, logs: logs.map(({ executionOrder }) => executionOrder) });
    },
    isWriting: () => run.writing,
    isIdle: () => run.idle,
    report: () => undefined,
  });
  return { saver, clock, run, saved };
}

describe('RecordSaver', () => {
  it('saves half a second after the first change, and each log once', async () => {
    const { saver, clock, saved } = createSaver();
    saver.markChanged([log('r', 1)]);
    saver.saveSoon();
    clock.advance(400);
    saver.markChanged([log('r', 1), log('r', 2)]);
    saver.saveSoon();
    expect(saved).toEqual([]);
    clock.advance(100);
    await saver.save();
    expect(saved).toEqual([{ seq: 1, logs: [1, 2] }]);
    expect(clock.pendingTimerCount).toBe(0);
  });

  it('waits for the entry that is being written', async () => {
    const { saver, run, saved } = createSaver();
    run.writing = true;
    const done = saver.save();
    expect(saved).toEqual([]);
    run.writing = false;
    run.seq = 2;
    saver.entryWritten();
    await done;
    expect(saved).toEqual([{ seq: 2, logs: [] }]);
  });

  it('saves logs again if their first write failed', async () => {
    const { saver, run, saved } = createSaver();
    saver.markChanged([log('r', 1)]);
    run.saveError = new Error('full');
    await expect(saver.save()).rejects.toBe(run.saveError);
    delete run.saveError;
    await saver.save();
    expect(saved).toEqual([{ seq: 1, logs: [1] }]);
  });

  it('returns record and logs for the commit of an entry that makes the run idle, and does not save them again', async () => {
    const { saver, clock, run, saved } = createSaver();
    const appliedEntry = (order: number): AppliedEntry => ({
      entry: entry(order),
      applied: { changed: true, commands: [], notices: [], logs: [log('r', order)] },
    });
    expect(saver.takeForCommit([appliedEntry(1)])).toBeUndefined();
    saver.saveSoon();
    run.idle = true;
    expect(saver.takeForCommit([appliedEntry(2), appliedEntry(3)])).toMatchObject({
      record: { seq: 1 },
      logs: [{ executionOrder: 1 }, { executionOrder: 2 }, { executionOrder: 3 }],
    });
    saver.saveSoon();
    expect(clock.pendingTimerCount).toBe(0);
    await saver.save();
    expect(saved).toEqual([]);
  });

  it('does not save an unchanged record again', async () => {
    const { saver, saved } = createSaver();
    await saver.save();
    await saver.save();
    expect(saved).toHaveLength(1);
  });

  it('saves nothing once an entry will never be written', async () => {
    const { saver, run, saved } = createSaver();
    run.writing = true;
    const waiting = saver.save();
    const error = new Error('full');
    saver.abort(error);
    await expect(waiting).rejects.toBe(error);
    await expect(saver.save()).rejects.toBe(error);
    expect(saved).toEqual([]);
  });
});
