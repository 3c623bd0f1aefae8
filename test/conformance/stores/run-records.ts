import type { RunStore } from '@heddle/core';
import { expect, it } from 'vitest';
import { entry, log, newRun, record, startedEntry } from '../../support/run-data.ts';
import { createStoreWithRun } from './store-with-run.ts';

/** Defines the tests of records and logs in run stores. */
export function describeRecords(makeStore: () => RunStore | Promise<RunStore>): void {
  it('returns the last saved record', async () => {
    const store = await createStoreWithRun(makeStore);
    await store.saveRecord(record('r'), []);
    const lastRecord = record('r', {
      status: 'failed',
      endedMs: 5,
      error: { code: 'X', message: 'ö', retryable: false },
    });
    await store.saveRecord(lastRecord, []);
    expect(await store.record('r')).toEqual(lastRecord);
  });

  it('lists a run from its creation on if it is created with a record', async () => {
    const store = await makeStore();
    const firstRecord = record('r', { seq: 0 });
    expect(await store.create(newRun('r'), startedEntry(), firstRecord)).toBe(true);
    expect(await store.create(newRun('r'), startedEntry(), record('r', { status: 'failed' }))).toBe(false);
    expect(await store.record('r')).toEqual(firstRecord);
    expect((await store.list({ workflowId: 'workflow', status: ['running'] })).runs).toEqual([firstRecord]);
    expect(await store.unfinishedRunIds()).toEqual(['r']);
  });

  it('saves a record and its journal entries together or not at all', async () => {
    const store = await makeStore();
    const firstRecord = record('r', { seq: 0 });
    await store.create(newRun('r'), startedEntry(), firstRecord);
    const recordWithLogs = {
      record: record('r', { seq: 3, status: 'completed' }),
      logs: [log('r', 1), log('r', 2)],
    };
    const appendTwice = async (): Promise<void> => store.append('r', [entry(2), entry(2)], recordWithLogs);
    await expect(appendTwice()).rejects.toThrow(/written twice/);
    expect(await store.record('r')).toEqual(firstRecord);
    expect(await store.logs('r')).toEqual([]);
    await store.append('r', [entry(2), entry(3)], recordWithLogs);
    expect(await store.journal('r')).toHaveLength(3);
    expect(await store.record('r')).toEqual(recordWithLogs.record);
    expect(await store.logs('r')).toEqual(recordWithLogs.logs);
    expect(await store.unfinishedRunIds()).toEqual([]);
  });

  it('keeps many logs in order when they are saved again', async () => {
    const store = await createStoreWithRun(makeStore);
    const logs = Array.from({ length: 250 }, (_, index) => log('r', index + 1));
    await store.saveRecord(record('r'), logs.toReversed());
    const completedLogs = [250, 100, 99].map((order) => log('r', order, { status: 'completed' }));
    await store.saveRecord(record('r'), completedLogs);
    const completedByOrder = new Map(
      completedLogs.map((completedLog) => [completedLog.executionOrder, completedLog]),
    );
    expect(await store.logs('r')).toEqual(
      logs.map((each) => completedByOrder.get(each.executionOrder) ?? each),
    );
  });

  it('has one log per execution of a block, in execution order, even when it is saved repeatedly', async () => {
    const store = await createStoreWithRun(makeStore);
    const runningLog = log('r', 1);
    await store.saveRecord(record('r'), [log('r', 2), runningLog]);
    runningLog.status = 'completed';
    const completedLog = log('r', 2, {
      status: 'completed',
      endedMs: 1500,
      durationMs: 500,
      output: { v: [1] },
    });
    await store.saveRecord(record('r', { seq: 2 }), [completedLog, log('r', 10)]);
    await store.saveRecord(record('r', { seq: 2 }), [completedLog]);
    expect(await store.logs('r')).toEqual([log('r', 1), completedLog, log('r', 10)]);
  });

  it('never replaces a newer record, or its logs, with an older one', async () => {
    const store = await createStoreWithRun(makeStore);
    const newerRecord = record('r', { seq: 5, status: 'completed', endedMs: 9 });
    const completedLog = log('r', 1, { status: 'completed', endedMs: 9 });
    expect(await store.saveRecord(newerRecord, [completedLog])).toBe(true);
    const olderRecord = record('r', { seq: 4, status: 'running' });
    expect(await store.saveRecord(olderRecord, [log('r', 1), log('r', 2)])).toBe(false);
    expect(await store.record('r')).toEqual(newerRecord);
    expect(await store.logs('r')).toEqual([completedLog]);
    expect(await store.unfinishedRunIds()).toEqual([]);
    expect((await store.list({ status: ['running'] })).runs).toEqual([]);
    const laterRecord = record('r', { seq: 5, status: 'failed' });
    expect(await store.saveRecord(laterRecord, [log('r', 2)])).toBe(true);
    expect(await store.record('r')).toEqual(laterRecord);
    expect(await store.logs('r')).toEqual([completedLog, log('r', 2)]);
  });

  it('stores the newest record and its logs if many are saved at the same time', async () => {
    const store = await createStoreWithRun(makeStore);
    const seqs = [3, 9, 1, 7, 10, 2, 8, 4, 6, 5];
    const savePromises = seqs.map(async (seq) =>
      store.saveRecord(record('r', { seq, startedMs: seq }), [log('r', 1, { startedMs: seq })]),
    );
    await Promise.all(savePromises);
    expect(await store.record('r')).toMatchObject({ seq: 10, startedMs: 10 });
    expect(await store.logs('r')).toMatchObject([{ startedMs: 10 }]);
  });

  it('refuses the record of an unknown run', async () => {
    const store = await makeStore();
    const save = async (): Promise<boolean> => store.saveRecord(record('r'), [log('r', 1)]);
    await expect(save()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    expect(await store.record('r')).toBeUndefined();
  });

  it('returns the open runs, oldest first, including those without a record', async () => {
    const store = await makeStore();
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
