import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../../../../../test/support/data-folder.ts';
import {
  createEntry,
  createBlockLog,
  createRunHeader,
  createRunRecord,
  createStartedEntry,
} from '../../../../../test/support/run-data.ts';
import { GroupCommit } from './commit.ts';
import { openDatabase } from './database.ts';
import { migrate } from './migrations.ts';
import { SqliteRunStore } from './runs.ts';

function openRunStore(): { db: DatabaseSync; file: string; commit: GroupCommit; runs: SqliteRunStore } {
  const file = join(createDataFolder(), 'heddle.db');
  const db = openDatabase(file, { readOnly: false, durability: 'process' });
  onTestFinished(() => db.close());
  migrate(db, file);
  const commit = new GroupCommit(db, file);
  return { db, file, commit, runs: new SqliteRunStore(db, file, commit) };
}

/** Returns a connection that records its statements; the statement `failure.sql` fails with an SQLite error. */
function scriptedConnection(failure: { sql: string; errcode: number } | undefined): {
  db: DatabaseSync;
  statements: string[];
} {
  const statements: string[] = [];
  const db = { isTransaction: false };
  const prepare = (sql: string): { run: () => void } => ({
    run() {
      statements.push(sql);
      if (failure?.sql === sql)
        throw Object.assign(new Error('disk I/O error'), { errcode: failure.errcode });
      db.isTransaction = sql.startsWith('BEGIN');
    },
  });
  return { db: Object.assign(db, { prepare }) as unknown as DatabaseSync, statements };
}

it('commits the writes of one event loop turn in one transaction, in order, and settles them after it', async () => {
  const { db, statements } = scriptedConnection(undefined);
  const commit = new GroupCommit(db, 'file');
  const write = (name: string): Promise<number> => commit.run(() => statements.push(name));
  const firstWrite = write('a').then(() => statements.push('a is settled'));
  const secondWrite = Promise.resolve().then(() => write('b'));
  await Promise.all([firstWrite, secondWrite]);
  await write('c');
  expect(statements).toEqual([
    'BEGIN IMMEDIATE',
    'a',
    'b',
    'COMMIT',
    'a is settled',
    'BEGIN IMMEDIATE',
    'c',
    'COMMIT',
  ]);
});

it('rejects the whole group and rolls back if the commit fails, and commits the next group', async () => {
  const failure = { sql: 'COMMIT', errcode: 10 };
  const { db, statements } = scriptedConnection(failure);
  const commit = new GroupCommit(db, '/data/heddle.db');
  const results = await Promise.allSettled([commit.run(() => 1), commit.run(() => 2)]);
  for (const result of results) {
    expect(result).toMatchObject({
      status: 'rejected',
      reason: {
        code: 'DATA_UNWRITABLE',
        message: expect.stringMatching(/"\/data\/heddle.db".*disk reports an error/) as string,
      },
    });
  }
  expect(statements).toEqual(['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK']);
  failure.sql = '';
  expect(await commit.run(() => 3)).toBe(3);
});

it('reports that another process has locked the file', async () => {
  const { db } = scriptedConnection({ sql: 'BEGIN IMMEDIATE', errcode: 5 });
  const commit = new GroupCommit(db, 'file');
  await expect(commit.run(() => 1)).rejects.toThrow(/another process has locked it/);
});

it('rejects only the write whose statements fail', async () => {
  const { runs } = openRunStore();
  await runs.create(createRunHeader('a'), createStartedEntry());
  const results = await Promise.allSettled([
    runs.append('a', [createEntry(2)]),
    runs.append('missing', [createEntry(2)]),
    runs.append('a', [createEntry(3)]),
    runs.append('a', [createEntry(4), createEntry(3)]),
    runs.saveRecord(createRunRecord('a'), [createBlockLog('a', 1)]),
  ]);
  expect(results.map((result) => result.status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
  expect(runs.journal('a').map(({ seq }) => seq)).toEqual([1, 2, 3]);
});

it('rejects all waiting writes while the disk is full, keeps committed data, and works again afterwards', async () => {
  const { db, file, runs } = openRunStore();
  const ids = ['a', 'b', 'c'];
  await Promise.all(ids.map((id) => runs.create(createRunHeader(id), createStartedEntry())));
  const { page_count: pageCount } = db.prepare('PRAGMA page_count').get() as { page_count: number };
  db.exec(`PRAGMA max_page_count = ${pageCount}`);

  const largeText = 'x'.repeat(8000);
  const results = await Promise.allSettled([
    runs.append('a', [createEntry(2)]),
    ...ids.map((id) =>
      runs.append(id, [
        createEntry(id === 'a' ? 3 : 2, largeText),
        createEntry(id === 'a' ? 4 : 3, largeText),
      ]),
    ),
  ]);
  for (const result of results) {
    expect(result).toMatchObject({
      status: 'rejected',
      reason: { code: 'DATA_UNWRITABLE', details: { file } },
    });
    expect((result as PromiseRejectedResult).reason.message).toMatch(
      /heddle\.db.*disk is full\. Free some space/,
    );
  }
  for (const id of ids) expect(runs.journal(id)).toEqual([createStartedEntry()]);

  db.exec(`PRAGMA max_page_count = ${pageCount + 1000}`);
  await Promise.all(ids.map((id) => runs.append(id, [createEntry(2, largeText)])));
  for (const id of ids) expect(runs.journal(id)).toEqual([createStartedEntry(), createEntry(2, largeText)]);
});

it('commits all waiting writes when it is closed, and refuses later ones', async () => {
  const { commit, runs } = openRunStore();
  const pendingCreate = runs.create(createRunHeader('a'), createStartedEntry());
  commit.close();
  expect(runs.journal('a')).toHaveLength(1);
  expect(await pendingCreate).toBe(true);
  await expect(runs.append('a', [createEntry(2)])).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
});
