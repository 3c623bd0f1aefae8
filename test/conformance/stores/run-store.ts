import type { RunRecord, RunStore } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import {
  createEntry,
  createBlockLog,
  createRunHeader,
  createRunRecord,
  createStartedEntry,
} from '../../support/run-data.ts';
import { describeRecords } from './run-records.ts';
import { createStoreWithRun } from './store-with-run.ts';

/** Defines the tests of run stores. `makeStore` returns a new, empty store. */
export function describeRunStore(name: string, makeStore: () => RunStore | Promise<RunStore>): void {
  describe(`${name}: run store`, () => {
    describeJournals(makeStore);
    describeUpserts(makeStore);
    describeRecords(makeStore);
    describeLists(makeStore);
    describeRemovals(makeStore);
    describeSteps(makeStore);
  });
}

async function listIdsByPage(store: RunStore, query: Parameters<RunStore['list']>[0]): Promise<string[][]> {
  const idsByPage: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ ...query, ...(cursor !== undefined && { cursor }) });
    idsByPage.push(page.runs.map((run) => run.runId));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return idsByPage;
}

function describeJournals(makeStore: () => RunStore | Promise<RunStore>): void {
  it('creates a run with its header and its first entry', async () => {
    const store = await makeStore();
    const header = createRunHeader('r', { version: 3, mocks: { types: { agent: ['ä'] } }, env: ['KEY'] });
    expect(await store.create(header, createStartedEntry())).toBe(true);
    expect(await store.header('r')).toEqual(header);
    expect(await store.journal('r')).toEqual([createStartedEntry()]);
  });

  it('refuses an existing id, and does not change its run', async () => {
    const store = await createStoreWithRun(makeStore);
    expect(await store.create(createRunHeader('r', { workflowId: 'other' }), createStartedEntry(9))).toBe(
      false,
    );
    expect((await store.header('r'))?.workflowId).toBe('workflow');
    expect(await store.journal('r')).toEqual([createStartedEntry()]);
  });

  it('creates one run for two calls with the same id in the same event loop turn', async () => {
    const store = await makeStore();
    const create = async (): Promise<boolean> => store.create(createRunHeader('r'), createStartedEntry());
    // Either call may win if a store has several connections.
    expect((await Promise.all([create(), create()])).toSorted()).toEqual([false, true]);
  });

  it('appends one or several entries per call, and returns them in order', async () => {
    const store = await createStoreWithRun(makeStore);
    await store.append('r', [createEntry(2), createEntry(3, '"quotes" \u0000 \ud83d\ude00 ')]);
    await store.append('r', []);
    await Promise.all([
      store.append('r', [createEntry(4)]),
      store.append('r', [createEntry(5), createEntry(6)]),
    ]);
    const expected = [
      createStartedEntry(),
      createEntry(2),
      createEntry(3, '"quotes" \u0000 \ud83d\ude00 '),
      createEntry(4),
      createEntry(5),
      createEntry(6),
    ];
    expect(await store.journal('r')).toEqual(expected);
  });

  it('keeps the journals of many runs apart if all are written at the same time', async () => {
    const store = await makeStore();
    const ids = Array.from({ length: 40 }, (_, index) => `run-${index}`);
    await Promise.all(ids.map(async (id) => store.create(createRunHeader(id), createStartedEntry())));
    await Promise.all(
      ids.map(async (id) => {
        for (let seq = 2; seq <= 6; seq += 1) await store.append(id, [createEntry(seq, id)]);
      }),
    );
    for (const id of ids) {
      expect(await store.journal(id)).toEqual([
        createStartedEntry(),
        ...[2, 3, 4, 5, 6].map((seq) => createEntry(seq, id)),
      ]);
    }
  });

  it('returns copies that a caller may change', async () => {
    const store = await createStoreWithRun(makeStore);
    await store.append('r', [createEntry(2)]);
    ((await store.journal('r'))[1] as { scope: number[] }).scope.push(77);
    expect((await store.journal('r'))[1]).toEqual(createEntry(2));
    await store.saveRecord(createRunRecord('r'), [createBlockLog('r', 1)]);
    Object.assign((await store.record('r')) ?? {}, { status: 'failed' });
    expect(await store.record('r')).toEqual(createRunRecord('r'));
  });

  it('refuses entries of an unknown run, and executes the other writes of the same event loop turn', async () => {
    const store = await createStoreWithRun(makeStore);
    const write = async (id: string): Promise<void> => store.append(id, [createEntry(2)]);
    const results = await Promise.allSettled([write('r'), write('unknown'), write('other')]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(results[1]).toMatchObject({ reason: { code: 'RUN_NOT_FOUND' } });
    expect(await store.journal('r')).toHaveLength(2);
  });

  it('refuses an entry whose number exists, together with the other entries of the call', async () => {
    const store = await createStoreWithRun(makeStore);
    await store.append('r', [createEntry(2)]);
    await expect(
      (async () => store.append('r', [createEntry(3), createEntry(2, 'again')]))(),
    ).rejects.toThrow(/written twice/);
    expect(await store.journal('r')).toEqual([createStartedEntry(), createEntry(2)]);
  });

  it('has no data for an unknown run', async () => {
    const store = await makeStore();
    for (const unknownId of ['r', 'r\0', '\uD800', '']) {
      expect(await store.header(unknownId)).toBeUndefined();
      expect(await store.record(unknownId)).toBeUndefined();
    }
    expect(await store.journal('r')).toEqual([]);
    expect(await store.logs('r')).toEqual([]);
  });
}

function describeUpserts(makeStore: () => RunStore | Promise<RunStore>): void {
  it('writes entries by their numbers, and replaces existing ones', async () => {
    const store = await createStoreWithRun(makeStore);
    await store.append('r', [createEntry(2)]);
    await store.upsert('r', [createEntry(2), createEntry(3), createEntry(4)]);
    await store.upsert('r', [createEntry(2, 'again'), createEntry(4, 'again'), createEntry(5)]);
    await store.upsert('r', []);
    const expected = [
      createStartedEntry(),
      createEntry(2, 'again'),
      createEntry(3),
      createEntry(4, 'again'),
      createEntry(5),
    ];
    expect(await store.journal('r')).toEqual(expected);
    await store.append('r', [createEntry(6)]);
    expect(await store.journal('r')).toHaveLength(6);
  });

  it('returns the journal in the order of the numbers, even if the entries were written in another order', async () => {
    const store = await createStoreWithRun(makeStore);
    await store.upsert('r', [createEntry(5), createEntry(4)]);
    await store.upsert('r', [createEntry(3, 'first'), createEntry(2), createEntry(3)]);
    expect(await store.journal('r')).toEqual([
      createStartedEntry(),
      ...[2, 3, 4, 5].map((seq) => createEntry(seq)),
    ]);
  });

  it('has each entry once if many writers write the same entries at the same time', async () => {
    const store = await createStoreWithRun(makeStore);
    const expected = Array.from({ length: 60 }, (_, index) => createEntry(index + 2));
    const write = async (firstIndex: number): Promise<void> => {
      for (let start = firstIndex; start < 60; start += 7)
        await store.upsert('r', expected.slice(start - firstIndex, start + 7));
    };
    await Promise.all([0, 1, 2, 3, 4, 5, 6].map(write));
    expect(await store.journal('r')).toEqual([createStartedEntry(), ...expected]);
  });

  it('refuses entries of an unknown run', async () => {
    const store = await createStoreWithRun(makeStore);
    const write = async (): Promise<void> => store.upsert('unknown', [createEntry(2)]);
    await expect(write()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    expect(await store.journal('unknown')).toEqual([]);
  });
}

async function createStoreWithRecords(
  makeStore: () => RunStore | Promise<RunStore>,
  records: RunRecord[],
): Promise<RunStore> {
  const store = await makeStore();
  for (const runRecord of records) {
    await store.create(
      createRunHeader(runRecord.runId, { createdMs: runRecord.createdMs, workflowId: runRecord.workflowId }),
      createStartedEntry(),
    );
    await store.saveRecord(runRecord, []);
  }
  return store;
}

function describeLists(makeStore: () => RunStore | Promise<RunStore>): void {
  it('lists the newest runs first, page by page, each once, even if several are created in one millisecond', async () => {
    const creationTimes = [5, 1, 3, 3, 3, 2, 4];
    const store = await createStoreWithRecords(
      makeStore,
      creationTimes.map((createdMs, index) => createRunRecord(`r${index}`, { createdMs })),
    );
    const expected = [['r0', 'r6', 'r4'], ['r3', 'r2', 'r5'], ['r1']];
    expect(await listIdsByPage(store, { limit: 3 })).toEqual(expected);
    expect(await listIdsByPage(store, {})).toEqual([expected.flat()]);
  });

  it('has no cursor after the last page, even if that page is full', async () => {
    const store = await createStoreWithRecords(makeStore, [
      createRunRecord('a', { createdMs: 1 }),
      createRunRecord('b', { createdMs: 2 }),
    ]);
    expect(await listIdsByPage(store, { limit: 2 })).toEqual([['b', 'a']]);
    expect(await listIdsByPage(store, { limit: 1 })).toEqual([['b'], ['a']]);
  });

  it('continues after the previous page even if runs are added and changed in between', async () => {
    const store = await createStoreWithRecords(
      makeStore,
      [1, 2, 3, 4].map((createdMs) => createRunRecord(`r${createdMs}`, { createdMs })),
    );
    const firstPage = await store.list({ limit: 2 });
    await store.create(createRunHeader('new', { createdMs: 9 }), createStartedEntry());
    await store.saveRecord(createRunRecord('new', { createdMs: 9 }), []);
    await store.saveRecord(createRunRecord('r2', { createdMs: 2, status: 'completed' }), []);
    const secondPage = await store.list({ limit: 2, cursor: firstPage.cursor as string });
    expect(secondPage.runs.map((run) => run.runId)).toEqual(['r2', 'r1']);
  });

  it('filters by workflow and by any of several statuses, across pages', async () => {
    const store = await createStoreWithRecords(makeStore, [
      createRunRecord('a', { createdMs: 1, workflowId: 'w1', status: 'completed' }),
      createRunRecord('b', { createdMs: 2, workflowId: 'w2', status: 'completed' }),
      createRunRecord('c', { createdMs: 3, workflowId: 'w1', status: 'paused' }),
      createRunRecord('d', { createdMs: 4, workflowId: 'w1', status: 'failed' }),
    ]);
    expect(await listIdsByPage(store, { workflowId: 'w1', limit: 1 })).toEqual([['d'], ['c'], ['a']]);
    expect(await listIdsByPage(store, { status: ['completed', 'paused'] })).toEqual([['c', 'b', 'a']]);
    expect(await listIdsByPage(store, { workflowId: 'w1', status: ['completed'] })).toEqual([['a']]);
    expect(await listIdsByPage(store, { workflowId: 'unknown' })).toEqual([[]]);
    expect(await listIdsByPage(store, { status: [] })).toEqual([[]]);
  });

  it('lists the oldest runs first on request, page by page', async () => {
    const creationTimes = [5, 1, 3, 3, 2];
    const runs = creationTimes.map((createdMs, index) => createRunRecord(`r${index}`, { createdMs }));
    const store = await createStoreWithRecords(makeStore, runs);
    expect(await listIdsByPage(store, { order: 'asc', limit: 2 })).toEqual([
      ['r1', 'r4'],
      ['r2', 'r3'],
      ['r0'],
    ]);
  });

  it('lists the runs of a period, including both ends', async () => {
    const runs = [1, 2, 3, 4].map((createdMs) => createRunRecord(`r${createdMs}`, { createdMs }));
    const store = await createStoreWithRecords(makeStore, runs);
    expect(await listIdsByPage(store, { fromMs: 2, toMs: 3, limit: 1 })).toEqual([['r3'], ['r2']]);
    expect(await listIdsByPage(store, { fromMs: 4 })).toEqual([['r4']]);
    expect(await listIdsByPage(store, { toMs: 1, order: 'asc' })).toEqual([['r1']]);
  });

  it.each([{ cursor: 'nonsense' }, { cursor: '' }, { limit: 0 }, { limit: 1.5 }, { limit: 1001 }])(
    'rejects %o with OPTIONS_INVALID',
    async (query) => {
      const store = await makeStore();
      await expect((async () => store.list(query))()).rejects.toMatchObject({ code: 'OPTIONS_INVALID' });
    },
  );
}

function describeRemovals(makeStore: () => RunStore | Promise<RunStore>): void {
  const valueKey = (digit: string): string => `sha256:${digit.repeat(64)}`;

  it('removes an ended run with all its data, and returns the value keys in its entries', async () => {
    const store = await createStoreWithRun(makeStore);
    await store.append('r', [
      createEntry(2, valueKey('a')),
      createEntry(3, `"${valueKey('b')}" and ${valueKey('a')}`),
    ]);
    await store.upsert('r', [createEntry(3, valueKey('c')), createEntry(4)]);
    await store.saveRecord(createRunRecord('r', { seq: 4, status: 'completed' }), [createBlockLog('r', 1)]);
    await store.create(createRunHeader('other'), createStartedEntry());
    await store.append('other', [createEntry(2, valueKey('a'))]);
    expect((await store.remove('r'))?.toSorted()).toEqual(
      expect.arrayContaining([valueKey('a'), valueKey('c')]),
    );
    expect([await store.header('r'), await store.record('r')]).toEqual([undefined, undefined]);
    expect([await store.journal('r'), await store.logs('r')]).toEqual([[], []]);
    expect((await store.list({})).runs).toEqual([]);
    expect(await store.journal('other')).toEqual([createStartedEntry(), createEntry(2, valueKey('a'))]);
    expect(await store.remove('r')).toBeUndefined();
    expect(await store.create(createRunHeader('r'), createStartedEntry())).toBe(true);
    expect(await store.journal('r')).toEqual([createStartedEntry()]);
  });

  it('does not remove an open run', async () => {
    const store = await createStoreWithRun(makeStore);
    expect(await store.remove('r')).toBeUndefined();
    await store.saveRecord(createRunRecord('r', { seq: 1, status: 'paused' }), []);
    expect(await store.remove('r')).toBeUndefined();
    expect(await store.journal('r')).toEqual([createStartedEntry()]);
  });

  it('returns the child runs of a run', async () => {
    const store = await createStoreWithRun(makeStore);
    const parent = { runId: 'r', block: 'b', scope: [], depth: 1 };
    for (const id of ['one', 'two'])
      await store.create(createRunHeader(id, { parent }), createStartedEntry());
    await store.create(createRunHeader('unrelated'), createStartedEntry());
    expect((await store.childRunIds('r')).toSorted()).toEqual(['one', 'two']);
    expect(await store.childRunIds('unrelated')).toEqual([]);
  });
}

const PLACE = { block: 'b', scope: [2, 0] };

function describeSteps(makeStore: () => RunStore | Promise<RunStore>): void {
  const valueKey = (digit: string): string => `sha256:${digit.repeat(64)}`;

  it('returns the steps of one execution of a block, with the results of ended steps', async () => {
    const store = await createStoreWithRun(makeStore);
    expect(await store.steps('r', PLACE)).toEqual([]);
    expect(await store.beginStep('r', PLACE, 'a')).toBeUndefined();
    expect(await store.endStep('r', PLACE, 'b', { v: { text: '"\ud83d\ude00' } })).toEqual({
      v: { text: '"\ud83d\ude00' },
    });
    await store.endStep('r', { ...PLACE, scope: [2] }, 'other', { v: 1 });
    expect((await store.steps('r', PLACE)).toSorted((one, two) => (one.key < two.key ? -1 : 1))).toEqual([
      { key: 'a', result: undefined },
      { key: 'b', result: { v: { text: '"\ud83d\ude00' } } },
    ]);
  });

  it('begins a step once, and returns the recorded step', async () => {
    const store = await createStoreWithRun(makeStore);
    const begin = async () => store.beginStep('r', PLACE, 'a');
    const results = await Promise.all([begin(), begin()]);
    expect(results).toEqual([undefined, { key: 'a', result: undefined }]);
    await store.endStep('r', PLACE, 'a', { v: null });
    expect(await begin()).toEqual({ key: 'a', result: { v: null } });
  });

  it('keeps the first result of a step', async () => {
    const store = await createStoreWithRun(makeStore);
    const end = async (v: number) => store.endStep('r', PLACE, 'a', { v });
    expect(await Promise.all([end(1), end(2)])).toEqual([{ v: 1 }, { v: 1 }]);
    expect(await store.steps('r', PLACE)).toEqual([{ key: 'a', result: { v: 1 } }]);
  });

  it('removes only steps without a result', async () => {
    const store = await createStoreWithRun(makeStore);
    await store.beginStep('r', PLACE, 'a');
    await store.endStep('r', PLACE, 'b', { v: 1 });
    for (const step of ['a', 'b', 'c']) await store.forgetStep('r', PLACE, step);
    expect(await store.steps('r', PLACE)).toEqual([{ key: 'b', result: { v: 1 } }]);
    expect(await store.beginStep('r', PLACE, 'a')).toBeUndefined();
  });

  it('accepts block ids of any length', async () => {
    const store = await createStoreWithRun(makeStore);
    const place = { block: 'b'.repeat(10_000), scope: [1] };
    await store.endStep('r', place, 'a', { v: 1 });
    expect(await store.steps('r', place)).toEqual([{ key: 'a', result: { v: 1 } }]);
    expect(await store.steps('r', { ...place, scope: [2] })).toEqual([]);
  });

  it('refuses steps of an unknown run', async () => {
    const store = await createStoreWithRun(makeStore);
    await expect((async () => store.beginStep('unknown', PLACE, 'a'))()).rejects.toMatchObject({
      code: 'RUN_NOT_FOUND',
    });
    await expect((async () => store.endStep('unknown', PLACE, 'a', { v: 1 }))()).rejects.toMatchObject({
      code: 'RUN_NOT_FOUND',
    });
    expect(await store.steps('unknown', PLACE)).toEqual([]);
  });

  it('removes the steps together with their run, and returns the value keys in their results', async () => {
    const store = await createStoreWithRun(makeStore);
    await store.endStep('r', PLACE, 'a', { ref: { key: valueKey('d'), bytes: 9000 } });
    await store.saveRecord(createRunRecord('r', { seq: 1, status: 'completed' }), []);
    expect(await store.remove('r')).toEqual([valueKey('d')]);
    expect(await store.steps('r', PLACE)).toEqual([]);
    await store.create(createRunHeader('r'), createStartedEntry());
    expect(await store.steps('r', PLACE)).toEqual([]);
  });
}
