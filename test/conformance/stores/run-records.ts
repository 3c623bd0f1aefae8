import type { RunStore } from '@heddle/core';
import { expect, it } from 'vitest';
import { entry, log, newRun, record, startedEntry } from '../../support/run-data.ts';
import { createStoreWithRun } from './store-with-run.ts';

/** Defines the tests of records and logs in run stores. */
export function describeRecords(make: () => RunStore | Promise<RunStore>): void {
  it('returns the last saved record', async () => {
    const store = await createStoreWithRun(make);
    await store.saveRecord(record('r'), []);
    const last = record('r', {
      status: 'failed',
      endedMs: 5,
      error: { code: 'X', message: 'ö', retryable: false },
    });
    await store.saveRecord(last, []);
    expect(await store.record('r')).toEqual(last);
  });

  it('lists a run from its creation on if it is created with a record', async () => {
    const store = await make();
    const first = record('r', { seq: 0 });
    expect(await store.create(newRun('r'), startedEntry(), first)).toBe(true);
    expect(await store.create(newRun('r'), startedEntry(), record('r', { status: 'failed' }))).toBe(false);
    expect(await store.record('r')).toEqual(first);
    expect((await store.list({ workflowId: 'workflow', status: ['running'] })).runs).toEqual([first]);
    expect(await store.unfinishedRunIds()).toEqual(['r']);
  });

  it('saves a record and its journal entries together or not at all', async () => {
    const store = await make();
    const first = record('r', { seq: 0 });
    await store.create(newRun('r'), startedEntry(), first);
    const saved = { record: record('r', { seq: 3, status: 'completed' }), logs: [log('r', 1), log('r', 2)] };
    const appendTwice = async (): Promise<void> => store.append('r', [entry(2), entry(2)], saved);
    await expect(appendTwice()).rejects.toThrow(/written twice/);
    expect(await store.record('r')).toEqual(first);
    expect(await store.logs('r')).toEqual([]);
    await store.append('r', [entry(2), entry(3)], saved);
    expect(await store.journal('r')).toHaveLength(3);
    expect(await store.record('r')).toEqual(saved.record);
    expect(await store.logs('r')).toEqual(saved.logs);
    expect(await store.unfinishedRunIds()).toEqual([]);
  });

  it('keeps many logs in order when they are saved again', async () => {
    const store = await createStoreWithRun(make);
    const logs = Array.from({ length: 250 }, (_, index) => log('r', index + 1));
    await store.saveRecord(record('r'), logs.toReversed());
    const completed = [250, 100, 99].map((order) => log('r', order, { status: 'completed' }));
    await store.saveRecord(record('r'), completed);
    const completedByOrder = new Map(completed.map((each) => [each.executionOrder, each]));
    expect(await store.logs('r')).toEqual(
      logs.map((each) => completedByOrder.get(each.executionOrder) ?? each),
    );
  });

  it('has one log per execution of a block, in execution order, even when it is saved repeatedly', async () => {
    const store = await createStoreWithRun(make);
    const running = log('r', 1);
    await store.saveRecord(record('r'), [log('r', 2), running]);
    running.status = 'completed';
    const done = log('r', 2, { status: 'completed', endedMs: 1500, durationMs: 500, output: { v: [1] } });
    await store.saveRecord(record('r', { seq: 2 }), [done, log('r', 10)]);
    await store.saveRecord(record('r', { seq: 2 }), [done]);
    expect(await store.logs('r')).toEqual([log('r', 1), done, log('r', 10)]);
  });

  it('never replaces a newer record, or its logs, with an older one', async () => {
    const store = await createStoreWithRun(make);
    const newer = record('r', { seq: 5, status: 'completed', endedMs: 9 });
    const done = log('r', 1, { status: 'completed', endedMs: 9 });
    expect(await store.saveRecord(newer, [done])).toBe(true);
    const older = record('r', { seq: 4, status: 'running' });
    expect(await store.saveRecord(older, [log('r', 1), log('r', 2)])).toBe(false);
    expect(await store.record('r')).toEqual(newer);
    expect(await store.logs('r')).toEqual([done]);
    expect(await store.unfinishedRunIds()).toEqual([]);
    expect((await store.list({ status: ['running'] })).runs).toEqual([]);
    const later = record('r', { seq: 5, status: 'failed' });
    expect(await store.saveRecord(later, [log('r', 2)])).toBe(true);
    expect(await store.record('r')).toEqual(later);
    expect(await store.logs('r')).toEqual([done, log('r', 2)]);
  });

  it('stores the newest record and its logs if many are saved at the same time', async () => {
    const store = await createStoreWithRun(make);
    const seqs = [3, 9, 1, 7, 10, 2, 8, 4, 6, 5];
    const saved = seqs.map(async (seq) =>
      store.saveRecord(record('r', { seq, startedMs: seq }), [log('r', 1, { startedMs: seq })]),
    );
    await Promise.all(saved);
    expect(await store.record('r')).toMatchObject({ seq: 10, startedMs: 10 });
    expect(await store.logs('r')).toMatchObject([{ startedMs: 10 }]);
  });

  it('refuses the record of an unknown run', async () => {
    const store = await make();
    const save = async (): Promise<boolean> => store.saveRecord(record('r'), [log('r', 1)]);
    await expect(save()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    expect(await store.record('r')).toBeUndefined();
  });

  it('returns the open runs, oldest first, including those without a record', async () => {
    const store = await make();
    const statuses = ['queued', 'running', 'paused', 'completed', 'failed', 'cancelled'] as const;
    for (const [index, status] of statuses.entries()) {
      await store.create(newRun(status, { createdMs: 9000 - index }), startedEntry());
      await store.saveRecord(record(status, { status, createdMs: 9000 - index }), []);
    }
    await store.create(newRun('fresh', { createdMs: 10_000 }), startedEntry());
    expect(await store.unfinishedRunIds()).toEqual(['paused', 'running', 'queued', 'fresh']);
    await store.saveRecord(record('running', { status: 'completed' }), []);
    expect(await store.unfinishedRunIds()).toEqual(['paused', 'queued', 'fresh']);
  });
}
