import type { RunStore } from '@heddle/core';
import { expect, it } from 'vitest';
import {
  createEntry,
  createBlockLog,
  createRunHeader,
  createRunRecord,
  createStartedEntry,
} from '../../support/run-data.ts';
import { createStoreWithRun } from './store-with-run.ts';

/** Defines the tests of records and logs in run stores. */
export function describeRecords(makeStore: () => RunStore | Promise<RunStore>): void {
  it('returns the last saved record', async () => {
    const store = await createStoreWithRun(makeStore);
    await store.saveRecord(createRunRecord('r'), []);
    const lastRecord = createRunRecord('r', {
      status: 'failed',
      endedMs: 5,
      error: { code: 'X', message: 'ö', retryable: false },
    });
    await store.saveRecord(lastRecord, []);
    expect(await store.record('r')).toEqual(lastRecord);
  });

  it('lists a run from its creation on if it is created with a record', async () => {
    const store = await makeStore();
    const firstRecord = createRunRecord('r', { seq: 0 });
    expect(await store.create(createRunHeader('r'), createStartedEntry(), firstRecord)).toBe(true);
    expect(
      await store.create(
        createRunHeader('r'),
        createStartedEntry(),
        createRunRecord('r', { status: 'failed' }),
      ),
    ).toBe(false);
    expect(await store.record('r')).toEqual(firstRecord);
    expect((await store.list({ workflowId: 'workflow', status: ['running'] })).runs).toEqual([firstRecord]);
    expect(await store.unfinishedRunIds()).toEqual(['r']);
  });

  it('saves a record and its journal entries together or not at all', async () => {
    const store = await makeStore();
    const firstRecord = createRunRecord('r', { seq: 0 });
    await store.create(createRunHeader('r'), createStartedEntry(), firstRecord);
    const recordWithLogs = {
      record: createRunRecord('r', { seq: 3, status: 'completed' }),
      logs: [createBlockLog('r', 1), createBlockLog('r', 2)],
    };
    const appendTwice = async (): Promise<void> =>
      store.append('r', [createEntry(2), createEntry(2)], recordWithLogs);
    await expect(appendTwice()).rejects.toThrow(/written twice/);
    expect(await store.record('r')).toEqual(firstRecord);
    expect(await store.logs('r')).toEqual([]);
    await store.append('r', [createEntry(2), createEntry(3)], recordWithLogs);
    expect(await store.journal('r')).toHaveLength(3);
    expect(await store.record('r')).toEqual(recordWithLogs.record);
    expect(await store.logs('r')).toEqual(recordWithLogs.logs);
    expect(await store.unfinishedRunIds()).toEqual([]);
  });

  it('keeps many logs in order when they are saved again', async () => {
    const store = await createStoreWithRun(makeStore);
    const logs = Array.from({ length: 250 }, (_, index) => createBlockLog('r', index + 1));
    await store.saveRecord(createRunRecord('r'), logs.toReversed());
    const completedLogs = [250, 100, 99].map((order) => createBlockLog('r', order, { status: 'completed' }));
    await store.saveRecord(createRunRecord('r'), completedLogs);
    const completedByOrder = new Map(
      completedLogs.map((completedLog) => [completedLog.executionOrder, completedLog]),
    );
    expect(await store.logs('r')).toEqual(
      logs.map((blockLog) => completedByOrder.get(blockLog.executionOrder) ?? blockLog),
    );
  });

  it('has one log per execution of a block, in execution order, even when it is saved repeatedly', async () => {
    const store = await createStoreWithRun(makeStore);
    const runningLog = createBlockLog('r', 1);
    await store.saveRecord(createRunRecord('r'), [createBlockLog('r', 2), runningLog]);
    runningLog.status = 'completed';
    const completedLog = createBlockLog('r', 2, {
      status: 'completed',
      endedMs: 1500,
      durationMs: 500,
      output: { v: [1] },
    });
    await store.saveRecord(createRunRecord('r', { seq: 2 }), [completedLog, createBlockLog('r', 10)]);
    await store.saveRecord(createRunRecord('r', { seq: 2 }), [completedLog]);
    expect(await store.logs('r')).toEqual([createBlockLog('r', 1), completedLog, createBlockLog('r', 10)]);
  });

  it('never replaces a newer record, or its logs, with an older one', async () => {
    const store = await createStoreWithRun(makeStore);
    const newerRecord = createRunRecord('r', { seq: 5, status: 'completed', endedMs: 9 });
    const completedLog = createBlockLog('r', 1, { status: 'completed', endedMs: 9 });
    expect(await store.saveRecord(newerRecord, [completedLog])).toBe(true);
    const olderRecord = createRunRecord('r', { seq: 4, status: 'running' });
    expect(await store.saveRecord(olderRecord, [createBlockLog('r', 1), createBlockLog('r', 2)])).toBe(false);
    expect(await store.record('r')).toEqual(newerRecord);
    expect(await store.logs('r')).toEqual([completedLog]);
    expect(await store.unfinishedRunIds()).toEqual([]);
    expect((await store.list({ status: ['running'] })).runs).toEqual([]);
    const laterRecord = createRunRecord('r', { seq: 5, status: 'failed' });
    expect(await store.saveRecord(laterRecord, [createBlockLog('r', 2)])).toBe(true);
    expect(await store.record('r')).toEqual(laterRecord);
    expect(await store.logs('r')).toEqual([completedLog, createBlockLog('r', 2)]);
  });

  it('stores the newest record and its logs if many are saved at the same time', async () => {
    const store = await createStoreWithRun(makeStore);
    const seqs = [3, 9, 1, 7, 10, 2, 8, 4, 6, 5];
    const savePromises = seqs.map(async (seq) =>
      store.saveRecord(createRunRecord('r', { seq, startedMs: seq }), [
        createBlockLog('r', 1, { startedMs: seq }),
      ]),
    );
    await Promise.all(savePromises);
    expect(await store.record('r')).toMatchObject({ seq: 10, startedMs: 10 });
    expect(await store.logs('r')).toMatchObject([{ startedMs: 10 }]);
  });

  it('refuses the record of an unknown run', async () => {
    const store = await makeStore();
    const save = async (): Promise<boolean> =>
      store.saveRecord(createRunRecord('r'), [createBlockLog('r', 1)]);
    await expect(save()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    expect(await store.record('r')).toBeUndefined();
  });

  it('returns the unfinished runs, oldest first, including those without a record', async () => {
    const store = await makeStore();
    const statuses = ['queued', 'running', 'paused', 'completed', 'failed', 'cancelled'] as const;
    for (const [index, status] of statuses.entries()) {
      await store.create(createRunHeader(status, { createdMs: 9000 - index }), createStartedEntry());
      await store.saveRecord(createRunRecord(status, { status, createdMs: 9000 - index }), []);
    }
    await store.create(createRunHeader('fresh', { createdMs: 10_000 }), createStartedEntry());
    expect(await store.unfinishedRunIds()).toEqual(['paused', 'running', 'queued', 'fresh']);
    await store.saveRecord(createRunRecord('running', { status: 'completed' }), []);
    expect(await store.unfinishedRunIds()).toEqual(['paused', 'queued', 'fresh']);
  });
}
