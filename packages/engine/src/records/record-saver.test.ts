import type { BlockLog, RunRecord } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { entry, log, record } from '../../../../test/support/run-data.ts';
import { TestClock } from '../../../../test/support/test-clock.ts';
import type { AppliedEntry } from './fold.ts';
import { Saver } from './record-saver.ts';

function saving(): {
  saver: Saver;
  clock: TestClock;
  run: { seq: number; writing: boolean; resting: boolean; refuses?: Error };
  saved: { seq: number; logs: number[] }[];
} {
  const clock = new TestClock();
  const saved: { seq: number; logs: number[] }[] = [];
  const run: ReturnType<typeof saving>['run'] = { seq: 1, writing: false, resting: false };
  const saver = new Saver({
    clock,
    record: () => record('r', { seq: run.seq }),
    save: async ({ seq }: RunRecord, logs: readonly BlockLog[]) => {
      if (run.refuses) throw run.refuses;
      saved.push({ seq, logs: logs.map(({ executionOrder }) => executionOrder) });
    },
    writing: () => run.writing,
    resting: () => run.resting,
    report: () => undefined,
  });
  return { saver, clock, run, saved };
}

describe('a saver', () => {
  it('saves half a second after the first change, each log once', async () => {
    const { saver, clock, saved } = saving();
    saver.changed([log('r', 1)]);
    saver.soon();
    clock.advance(400);
    saver.changed([log('r', 1), log('r', 2)]);
    saver.soon();
    expect(saved).toEqual([]);
    clock.advance(100);
    await saver.save();
    expect(saved).toEqual([{ seq: 1, logs: [1, 2] }]);
    expect(clock.waiting).toBe(0);
  });

  it('waits for the entry that is being written', async () => {
    const { saver, run, saved } = saving();
    run.writing = true;
    const done = saver.save();
    expect(saved).toEqual([]);
    run.writing = false;
    run.seq = 2;
    saver.written();
    await done;
    expect(saved).toEqual([{ seq: 2, logs: [] }]);
  });

  it('keeps the logs that could not be saved for the next time', async () => {
    const { saver, run, saved } = saving();
    saver.changed([log('r', 1)]);
    run.refuses = new Error('full');
    await expect(saver.save()).rejects.toBe(run.refuses);
    delete run.refuses;
    await saver.save();
    expect(saved).toEqual([{ seq: 1, logs: [1] }]);
  });

  it('gives what an entry leads to along with it, where it brings the run to rest, and saves that no more', async () => {
    const { saver, clock, run, saved } = saving();
    const fed = (order: number): AppliedEntry => ({
      entry: entry(order),
      applied: { changed: true, commands: [], notices: [], logs: [log('r', order)] },
    });
    expect(saver.along([fed(1)])).toBeUndefined();
    saver.soon();
    run.resting = true;
    expect(saver.along([fed(2), fed(3)])).toMatchObject({
      record: { seq: 1 },
      logs: [{ executionOrder: 1 }, { executionOrder: 2 }, { executionOrder: 3 }],
    });
    saver.soon();
    expect(clock.waiting).toBe(0);
    await saver.save();
    expect(saved).toEqual([]);
  });

  it('writes nothing twice', async () => {
    const { saver, saved } = saving();
    await saver.save();
    await saver.save();
    expect(saved).toHaveLength(1);
  });

  it('saves nothing of a run that is ahead of its journal for good', async () => {
    const { saver, run, saved } = saving();
    run.writing = true;
    const waiting = saver.save();
    const error = new Error('full');
    saver.abandon(error);
    await expect(waiting).rejects.toBe(error);
    await expect(saver.save()).rejects.toBe(error);
    expect(saved).toEqual([]);
  });
});
