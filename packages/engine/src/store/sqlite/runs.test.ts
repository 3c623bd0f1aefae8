import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { dataFolder } from '../../../../../test/support/data-folder.ts';
import { entry, log, newRun, record, started } from '../../../../../test/support/run-data.ts';
import { openStores } from '../open.ts';
import type { StoreOptions } from '../open.ts';
import type { Stores } from '../stores.ts';
import { openDatabase } from './database.ts';

function open(options: StoreOptions): Stores {
  const stores = openStores(options);
  onTestFinished(() => stores.close());
  return stores;
}

/** A folder with run `r` of three entries, after `sql` was run on its file. */
async function damaged(sql: string): Promise<Stores> {
  const data = dataFolder();
  const first = openStores({ data });
  await first.runs.create(newRun('r'), started());
  await first.runs.append('r', [entry(2), entry(3)]);
  await first.runs.saveRecord(record('r'), [log('r', 1)]);
  first.close();
  const db = openDatabase(join(data, 'heddle.db'), { readOnly: false, durability: 'process' });
  db.exec(sql);
  db.close();
  return open({ data });
}

it.each([
  ['UPDATE journal SET entry = \'{"seq":2,\' WHERE seq = 2', /journal of run "r".*entry 2 is not JSON/],
  ["UPDATE journal SET entry = 'null' WHERE seq = 2", /entry 2 is not one of its entries/],
  ["UPDATE journal SET entry = '{}' WHERE seq = 3", /entry 3 is not one of its entries/],
  ['UPDATE journal SET seq = 9 WHERE seq = 3', /entry 3 is missing/],
  ['DELETE FROM journal WHERE seq = 2', /entry 2 is missing/],
  ['DELETE FROM journal WHERE seq = 1', /its first entry is "completed"/],
  ['DELETE FROM journal', /it has no entries/],
])('says JOURNAL_CORRUPT, naming the run, after %s', async (sql, message) => {
  const { runs } = await damaged(sql);
  const fault = expect.objectContaining({
    code: 'JOURNAL_CORRUPT',
    message: expect.stringMatching(message) as string,
  });
  expect(() => runs.journal('r')).toThrow(fault as Error);
  expect(() => runs.tail('r', -1)).toThrow(fault as Error);
});

it('says which record or log is damaged', async () => {
  const { runs } = await damaged(
    "UPDATE records SET record = '{'; UPDATE logs SET log = '{'; UPDATE runs SET header = ''",
  );
  expect(() => runs.record('r')).toThrow(/record of run "r" is damaged/);
  expect(() => runs.list({})).toThrow(/record of run "r" is damaged/);
  expect(() => runs.logs('r')).toThrow(/log of run "r" is damaged/);
  expect(() => runs.header('r')).toThrow(/header of run "r" is damaged/);
});

it('has everything again after it was closed and opened', async () => {
  const data = dataFolder();
  const first = open({ data });
  await first.definitions.putPlan('p', { blocks: [] });
  await first.definitions.deploy({ workflowId: 'w', name: 'W', planHash: 'p', atMs: 1 });
  await first.runs.create(newRun('r'), started());
  await first.runs.saveRecord(record('r', { status: 'paused' }), [log('r', 1)]);
  first.close();
  const { runs, definitions } = open({ data });
  expect(runs.open()).toEqual(['r']);
  expect(runs.journal('r')).toEqual([started()]);
  expect(runs.record('r')).toEqual(record('r', { status: 'paused' }));
  expect(runs.logs('r')).toEqual([log('r', 1)]);
  expect(definitions.find('w')).toMatchObject({ version: 1, planHash: 'p' });
  expect(definitions.plan('p')).toEqual({ blocks: [] });
});

it('follows a journal from any entry on', async () => {
  const { runs } = open({ data: dataFolder() });
  await runs.create(newRun('r'), started());
  await runs.append('r', [entry(2), entry(3)]);
  expect(runs.tail('r', -1)).toEqual([started(), entry(2), entry(3)]);
  expect(runs.tail('r', 0)).toHaveLength(3);
  expect(runs.tail('r', 2)).toEqual([entry(3)]);
  expect(runs.tail('r', 3)).toEqual([]);
  expect(runs.tail('nobody', 3)).toEqual([]);
});

it('says ENGINE_CLOSED for reads after it was closed', () => {
  const stores = openStores({ data: dataFolder() });
  stores.close();
  stores.close();
  expect(() => stores.runs.open()).toThrow(expect.objectContaining({ code: 'ENGINE_CLOSED' }));
  expect(() => stores.runs.list({})).toThrow(expect.objectContaining({ code: 'ENGINE_CLOSED' }));
});

it.each([
  ['process', 1],
  ['power', 2],
] as const)('writes ahead, and flushes as durability "%s" asks', (durability, synchronous) => {
  const db = openDatabase(join(dataFolder(), 'heddle.db'), { readOnly: false, durability });
  expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous });
  db.close();
});

it('reads journals, lists and open runs by their indexes, without sorting', async () => {
  const data = dataFolder();
  open({ data });
  const db = openDatabase(join(data, 'heddle.db'), { readOnly: true, durability: 'process' });
  onTestFinished(() => db.close());
  const plan = (sql: string): unknown[] =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((step) => step['detail']);
  const page = 'ORDER BY created_ms DESC, run_id DESC';
  expect(plan('SELECT entry FROM journal WHERE run = 1 AND seq > 2 ORDER BY seq')).toEqual([
    'SEARCH journal USING INDEX journal_run (run=? AND seq>?)',
  ]);
  expect(plan(`SELECT record FROM records WHERE status IN ('failed') ${page}`)).toEqual([
    'SCAN records USING INDEX records_newest',
  ]);
  expect(
    plan(`SELECT record FROM records WHERE workflow_id = 'w' AND (created_ms, run_id) < (1, 'r') ${page}`),
  ).toEqual([expect.stringMatching(/^SEARCH records USING INDEX records_workflow/)]);
  expect(plan('SELECT run_id FROM runs WHERE ended = 0 ORDER BY created_ms, run_id')).toEqual([
    'SCAN runs USING COVERING INDEX runs_open',
  ]);
});
