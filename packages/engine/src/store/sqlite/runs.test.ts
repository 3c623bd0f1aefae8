import { join } from 'node:path';
import type { Entry } from '@heddle/core';
import { expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../../../../../test/support/data-folder.ts';
import {
  createEntry,
  createBlockLog,
  createRunHeader,
  createRunRecord,
  createStartedEntry,
} from '../../../../../test/support/run-data.ts';
import { openStores } from '../open.ts';
import type { StoreOptions } from '../open.ts';
import type { Stores } from '../stores.ts';
import { openDatabase } from './database.ts';

function open(options: StoreOptions): Stores {
  const stores = openStores(options);
  onTestFinished(() => stores.close());
  return stores;
}

/** Returns the stores of a data folder with run `r`, which has three entries, after executing `sql` on its file. */
async function openCorruptStores(sql: string): Promise<Stores> {
  const dataFolder = createDataFolder();
  const firstStores = openStores({ data: dataFolder });
  await firstStores.runs.create(createRunHeader('r'), createStartedEntry());
  await firstStores.runs.append('r', [createEntry(2), createEntry(3)]);
  await firstStores.runs.saveRecord(createRunRecord('r'), [createBlockLog('r', 1)]);
  firstStores.close();
  const db = openDatabase(join(dataFolder, 'heddle.db'), { readOnly: false, durability: 'process' });
  db.exec(sql);
  db.close();
  return open({ data: dataFolder });
}

it.each([
  ['UPDATE journal SET entry = \'{"seq":2,\' WHERE seq = 2', /journal of run "r".*entry 2 is not JSON/],
  ["UPDATE journal SET entry = 'null' WHERE seq = 2", /row 2 is not an entry with this number/],
  ["UPDATE journal SET entry = '{}' WHERE seq = 3", /row 3 is not an entry with this number/],
  ['UPDATE journal SET seq = 9 WHERE seq = 3', /entry 3 is missing/],
  ['DELETE FROM journal WHERE seq = 2', /entry 2 is missing/],
  ['DELETE FROM journal WHERE seq = 1', /its first entry is "completed"/],
  ['DELETE FROM journal', /it has no entries/],
])('throws JOURNAL_CORRUPT with the run in the message after %s', async (sql, message) => {
  const { runs } = await openCorruptStores(sql);
  const corruptError = expect.objectContaining({
    code: 'JOURNAL_CORRUPT',
    message: expect.stringMatching(message) as string,
  });
  expect(() => runs.journal('r')).toThrow(corruptError as Error);
  expect(() => runs.tail('r', -1)).toThrow(corruptError as Error);
});

it('names the corrupt record or log', async () => {
  const { runs } = await openCorruptStores(
    "UPDATE runs SET record = '{', header = ''; UPDATE logs SET logs = '{'",
  );
  expect(() => runs.record('r')).toThrow(/record of run "r" is corrupt/);
  expect(() => runs.list({})).toThrow(/record of run "r" is corrupt/);
  expect(() => runs.logs('r')).toThrow(/log of run "r" is corrupt/);
  expect(() => runs.header('r')).toThrow(/header of run "r" is corrupt/);
});

it('returns all data after it was closed and opened again', async () => {
  const dataFolder = createDataFolder();
  const firstStores = open({ data: dataFolder });
  await firstStores.definitions.putPlan('p', { blocks: [] });
  await firstStores.definitions.deploy({ workflowId: 'w', name: 'W', planHash: 'p', atMs: 1 });
  await firstStores.runs.create(createRunHeader('r'), createStartedEntry());
  await firstStores.runs.saveRecord(createRunRecord('r', { status: 'paused' }), [createBlockLog('r', 1)]);
  firstStores.close();
  const { runs, definitions } = open({ data: dataFolder });
  expect(runs.unfinishedRunIds()).toEqual(['r']);
  expect(runs.journal('r')).toEqual([createStartedEntry()]);
  expect(runs.record('r')).toEqual(createRunRecord('r', { status: 'paused' }));
  expect(runs.logs('r')).toEqual([createBlockLog('r', 1)]);
  expect(definitions.find('w')).toMatchObject({ version: 1, planHash: 'p' });
  expect(definitions.plan('p')).toEqual({ blocks: [] });
});

it('reads the remaining journal after any entry', async () => {
  const { runs } = open({ data: createDataFolder() });
  await runs.create(createRunHeader('r'), createStartedEntry());
  await runs.append('r', [createEntry(2), createEntry(3)]);
  expect(runs.tail('r', -1)).toEqual([createStartedEntry(), createEntry(2), createEntry(3)]);
  expect(runs.tail('r', 0)).toHaveLength(3);
  expect(runs.tail('r', 2)).toEqual([createEntry(3)]);
  expect(runs.tail('r', 3)).toEqual([]);
  expect(runs.tail('missing', 3)).toEqual([]);
});

it('throws ENGINE_CLOSED for reads after it was closed', () => {
  const stores = openStores({ data: createDataFolder() });
  stores.close();
  stores.close();
  expect(() => stores.runs.unfinishedRunIds()).toThrow(expect.objectContaining({ code: 'ENGINE_CLOSED' }));
  expect(() => stores.runs.list({})).toThrow(expect.objectContaining({ code: 'ENGINE_CLOSED' }));
});

it.each([
  ['process', 1],
  ['power', 2],
] as const)('uses a write-ahead log, and flushes as durability "%s" requires', (durability, synchronous) => {
  const db = openDatabase(join(createDataFolder(), 'heddle.db'), { readOnly: false, durability });
  expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous });
  db.close();
});

it('reads lists and open runs by index, without sorting', async () => {
  const dataFolder = createDataFolder();
  open({ data: dataFolder });
  const db = openDatabase(join(dataFolder, 'heddle.db'), { readOnly: true, durability: 'process' });
  onTestFinished(() => db.close());
  const queryPlan = (sql: string): unknown[] =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((step) => step['detail']);
  const orderBy = 'ORDER BY created_ms DESC, run_id DESC';
  expect(
    queryPlan(`SELECT record FROM runs WHERE record IS NOT NULL AND status IN ('failed') ${orderBy}`),
  ).toEqual(['SCAN runs USING INDEX runs_newest']);
  expect(
    queryPlan(
      `SELECT record FROM runs WHERE record IS NOT NULL AND workflow_id = 'w' AND (created_ms, run_id) < (1, 'r') ${orderBy}`,
    ),
  ).toEqual([expect.stringMatching(/^SEARCH runs USING INDEX runs_workflow/)]);
  expect(queryPlan('SELECT run_id FROM runs WHERE ended = 0 ORDER BY created_ms, run_id')).toEqual([
    'SCAN runs USING COVERING INDEX runs_open',
  ]);
});

it('finds the entries of one of many runs, after any entry, even if the store was closed and opened again', async () => {
  const dataFolder = createDataFolder();
  const ids = ['a', 'b', 'c', 'd'];
  const seqsOf = (entries: readonly Entry[]): number[] => entries.map(({ seq }) => seq);
  const firstStores = openStores({ data: dataFolder });
  for (const id of ids) await firstStores.runs.create(createRunHeader(id), createStartedEntry());
  // Far more entries than one row of `journal_marks` covers; `d` is written rarely.
  for (let seq = 2; seq <= 400; seq++)
    await Promise.all(
      ids
        .filter((id) => id !== 'd' || seq <= 5)
        .map(async (id) => firstStores.runs.append(id, [createEntry(seq, id)])),
    );
  await firstStores.runs.append('d', [createEntry(6), createEntry(7)]);
  firstStores.close();
  const { runs } = open({ data: dataFolder });
  await runs.append('a', [createEntry(401)]);
  await runs.upsert('a', [createEntry(403), createEntry(400, 'again'), createEntry(402)]);
  await runs.append('a', [createEntry(404)]);
  await runs.append('d', [createEntry(8)]);
  expect(seqsOf(await runs.journal('a'))).toEqual(Array.from({ length: 404 }, (_, index) => index + 1));
  expect((await runs.journal('b')).slice(1)).toEqual(
    Array.from({ length: 399 }, (_, index) => createEntry(index + 2, 'b')),
  );
  expect(seqsOf(await runs.journal('d'))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  for (const afterSeq of [0, 1, 31, 32, 33, 128, 399, 400, 401, 402, 403, 404])
    expect(seqsOf(await runs.tail('a', afterSeq))).toEqual(
      Array.from({ length: 404 - afterSeq }, (_, index) => afterSeq + index + 1),
    );
  expect(seqsOf(await runs.tail('d', 5))).toEqual([6, 7, 8]);
  await expect(runs.append('a', [createEntry(403)])).rejects.toThrow(/written twice/);
});
