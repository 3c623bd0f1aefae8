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
import { requireNewestFormat, formatOf, migrate, MIGRATIONS } from './migrations.ts';
import { SqliteRunStore } from './runs.ts';
import { ValueFiles } from './value-files.ts';
import { SqliteValueStore } from './values.ts';

const TEST_MIGRATIONS = ['CREATE TABLE a (x); INSERT INTO a VALUES (1)', 'ALTER TABLE a ADD y DEFAULT 2'];

interface DataFile {
  db: DatabaseSync;
  file: string;
}

function createDatabase(): DataFile {
  const file = join(createDataFolder(), 'heddle.db');
  const db = openDatabase(file, { readOnly: false, durability: 'process' });
  onTestFinished(() => db.close());
  return { db, file };
}

it('creates a new file in the newest format', () => {
  const { db, file } = createDatabase();
  migrate(db, file);
  expect(formatOf(db)).toBe(MIGRATIONS.length);
  expect(() => requireNewestFormat(db, file)).not.toThrow();
});

it('migrates an older file from its format, and keeps its data', () => {
  const { db, file } = createDatabase();
  migrate(db, file, { migrations: TEST_MIGRATIONS.slice(0, 1) });
  migrate(db, file, { migrations: TEST_MIGRATIONS });
  migrate(db, file, { migrations: TEST_MIGRATIONS });
  expect(formatOf(db)).toBe(2);
  expect(db.prepare('SELECT x, y FROM a').all()).toEqual([{ x: 1, y: 2 }]);
});

it('leaves the file in the previous format if a step fails', () => {
  const { db, file } = createDatabase();
  expect(() =>
    migrate(db, file, {
      migrations: [...TEST_MIGRATIONS, 'CREATE TABLE b (x); INSERT INTO nowhere VALUES (1)'],
    }),
  ).toThrow(/nowhere/);
  if (db.isTransaction) db.exec('ROLLBACK');
  expect(formatOf(db)).toBe(2);
  expect(db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'b'").get()).toEqual({ n: 0 });
});

/** Creates a file of format 1 with a run that has this many entries and logs, mixed with those of another run. */
function createFormat1File(db: DatabaseSync, file: string, size: number): void {
  migrate(db, file, { migrations: MIGRATIONS.slice(0, 1) });
  const insertRun = db.prepare('INSERT INTO runs (run_id, created_ms, ended, header) VALUES (?, ?, ?, ?)');
  insertRun.run('fresh', 2000, 0, JSON.stringify(createRunHeader('fresh', { createdMs: 2000 })));
  insertRun.run('r', 1000, 1, JSON.stringify(createRunHeader('r')));
  const endedRecord = createRunRecord('r', { seq: size, status: 'completed' });
  db.prepare('INSERT INTO records VALUES (?, ?, ?, ?, ?)').run(
    'r',
    'workflow',
    'completed',
    1000,
    JSON.stringify(endedRecord),
  );
  const append = db.prepare('INSERT INTO journal (run, seq, entry) VALUES (?, ?, ?)');
  const save = db.prepare('INSERT INTO logs VALUES (2, ?, ?)');
  for (let seq = 1; seq <= size; seq++) {
    for (const number of [2, 1])
      append.run(number, seq, JSON.stringify(seq === 1 ? createStartedEntry() : createEntry(seq)));
    save.run(seq, JSON.stringify(createBlockLog('r', seq)));
  }
}

it('creates the same tables in a new file as the migrations do', () => {
  const files = [createDatabase(), createDatabase()];
  migrate((files[0] as DataFile).db, 'new');
  migrate((files[1] as DataFile).db, 'converted', { migrations: MIGRATIONS });
  const [createdSchema, migratedSchema] = files.map(({ db }) =>
    db.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name').all(),
  );
  expect(createdSchema).toEqual(migratedSchema);
});

it('migrates a file of format 1 without loss', async () => {
  const { db, file } = createDatabase();
  createFormat1File(db, file, 300);
  migrate(db, file);
  const runs = new SqliteRunStore(db, file, new GroupCommit(db, file));
  const entries = [
    createStartedEntry(),
    ...Array.from({ length: 299 }, (_, index) => createEntry(index + 2)),
  ];
  for (const id of ['r', 'fresh']) expect(runs.journal(id)).toEqual(entries);
  expect(runs.tail('r', 150)).toEqual(entries.slice(150));
  expect(runs.logs('r')).toEqual(Array.from({ length: 300 }, (_, index) => createBlockLog('r', index + 1)));
  expect(runs.header('fresh')).toEqual(createRunHeader('fresh', { createdMs: 2000 }));
  expect(runs.record('fresh')).toBeUndefined();
  expect(runs.list({}).runs).toEqual([createRunRecord('r', { seq: 300, status: 'completed' })]);
  expect(runs.unfinishedRunIds()).toEqual(['fresh']);
  await runs.append('fresh', [createEntry(301)]);
  await runs.saveRecord(createRunRecord('fresh', { seq: 301 }), [createBlockLog('fresh', 1)]);
  await runs.saveRecord(createRunRecord('r', { seq: 299 }), []);
  expect(runs.journal('fresh')).toEqual([...entries, createEntry(301)]);
  expect(runs.list({ status: ['completed'] }).runs).toMatchObject([{ runId: 'r', seq: 300 }]);
});

it('migrates a file of format 2: runs get their parents, and old values are never pruned', async () => {
  const { db, file } = createDatabase();
  migrate(db, file, { migrations: MIGRATIONS.slice(0, 2) });
  const parent = { runId: 'p', block: 'b', scope: [], depth: 1 };
  const insert = db.prepare(`
    INSERT INTO runs (run_id, workflow_id, created_ms, status, ended, seq, header) VALUES (?, 'w', 1, 'failed', 1, 1, ?)`);
  insert.run('r', JSON.stringify(createRunHeader('r', { parent })));
  insert.run('corrupt', '{');
  db.exec(`INSERT INTO stored_values VALUES ('k', 5, '"old"')`);
  migrate(db, file);
  const commit = new GroupCommit(db, file);
  expect(new SqliteRunStore(db, file, commit).childRunIds('p')).toEqual(['r']);
  const files = new ValueFiles(join(createDataFolder(), 'values'), 'process');
  const values = new SqliteValueStore(db, { file, files, clock: { now: () => 1e15 } }, commit);
  await values.prune(['k'], 0);
  expect(await values.get('k')).toBe('"old"');
});

it('refuses a newer format; the error names both formats and says what to do', () => {
  const { db, file } = createDatabase();
  migrate(db, file, { migrations: TEST_MIGRATIONS });
  const newerFormatError = {
    code: 'DATA_FORMAT_UNSUPPORTED',
    message: expect.stringMatching(/heddle\.db".*format 2.*up to 1\. Use the newer version/) as string,
  };
  const migrations = TEST_MIGRATIONS.slice(0, 1);
  expect(() => migrate(db, file, { migrations })).toThrow(expect.objectContaining(newerFormatError));
  expect(() => requireNewestFormat(db, file, 1)).toThrow(expect.objectContaining(newerFormatError));
});

it('refuses an older format for readers, which may not migrate it', () => {
  const { db, file } = createDatabase();
  expect(() => requireNewestFormat(db, file)).toThrow(/older format 0.*Start an engine of this version/);
});

it('refuses a database of another program', () => {
  const { db, file } = createDatabase();
  db.exec('CREATE TABLE other_table (x)');
  expect(() => migrate(db, file)).toThrow(expect.objectContaining({ code: 'DATA_FORMAT_UNSUPPORTED' }));
});
