import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { dataFolder } from '../../../../../test/support/data-folder.ts';
import { openDatabase } from './database.ts';
import { expectNewest, formatOf, migrate, MIGRATIONS } from './migrations.ts';

const STEPS = ['CREATE TABLE a (x); INSERT INTO a VALUES (1)', 'ALTER TABLE a ADD y DEFAULT 2'];

function database(): { db: DatabaseSync; file: string } {
  const file = join(dataFolder(), 'heddle.db');
  const db = openDatabase(file, { readOnly: false, durability: 'process' });
  onTestFinished(() => db.close());
  return { db, file };
}

it('brings a new file to the newest format', () => {
  const { db, file } = database();
  migrate(db, file);
  expect(formatOf(db)).toBe(MIGRATIONS.length);
  expect(() => expectNewest(db, file)).not.toThrow();
});

it('takes an older file on from its format, keeping what it holds', () => {
  const { db, file } = database();
  migrate(db, file, STEPS.slice(0, 1));
  migrate(db, file, STEPS);
  migrate(db, file, STEPS);
  expect(formatOf(db)).toBe(2);
  expect(db.prepare('SELECT x, y FROM a').all()).toEqual([{ x: 1, y: 2 }]);
});

it('leaves the file in the format before a step that fails', () => {
  const { db, file } = database();
  expect(() => migrate(db, file, [...STEPS, 'CREATE TABLE b (x); INSERT INTO nowhere VALUES (1)'])).toThrow(
    /nowhere/,
  );
  if (db.isTransaction) db.exec('ROLLBACK');
  expect(formatOf(db)).toBe(2);
  expect(db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'b'").get()).toEqual({ n: 0 });
});

it('gives the records of format 1 their numbers', () => {
  const { db, file } = database();
  migrate(db, file, MIGRATIONS.slice(0, 1));
  db.exec("INSERT INTO runs (run_id, created_ms, header) VALUES ('r', 1, '{}')");
  db.exec("INSERT INTO records VALUES ('r', 'w', 'running', 1, '{\"seq\":7}')");
  migrate(db, file);
  expect(db.prepare('SELECT seq FROM records').all()).toEqual([{ seq: 7 }]);
});

it('refuses a newer format, naming both and what to do', () => {
  const { db, file } = database();
  migrate(db, file, STEPS);
  const newer = {
    code: 'DATA_FORMAT_UNSUPPORTED',
    message: expect.stringMatching(/heddle\.db".*format 2.*up to 1\. Use the newer version/) as string,
  };
  expect(() => migrate(db, file, STEPS.slice(0, 1))).toThrow(expect.objectContaining(newer));
  expect(() => expectNewest(db, file, 1)).toThrow(expect.objectContaining(newer));
});

it('refuses an older format where it may not convert it', () => {
  const { db, file } = database();
  expect(() => expectNewest(db, file)).toThrow(/older format 0.*Start an engine of this version/);
});

it("refuses somebody else's database", () => {
  const { db, file } = database();
  db.exec('CREATE TABLE theirs (x)');
  expect(() => migrate(db, file)).toThrow(expect.objectContaining({ code: 'DATA_FORMAT_UNSUPPORTED' }));
});
