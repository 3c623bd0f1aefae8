import { expect, it, vi } from 'vitest';
import { loadSqlite, withoutSqliteWarning } from './load.ts';

const SQLITE_WARNING = 'SQLite is an experimental feature and might change at any time';

it('suppresses the warning about SQLite while it is loaded, and no other warning', () => {
  const emit = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined);
  const result = withoutSqliteWarning(() => {
    process.emitWarning(SQLITE_WARNING, 'ExperimentalWarning');
    process.emitWarning('Something else is experimental', 'ExperimentalWarning');
    process.emitWarning('SQLite is old', { type: 'DeprecationWarning' });
    return 7;
  });
  expect(result).toBe(7);
  expect(emit.mock.calls).toEqual([
    ['Something else is experimental', 'ExperimentalWarning'],
    ['SQLite is old', { type: 'DeprecationWarning' }],
  ]);
});

it('restores warnings afterwards, even if loading fails', () => {
  const emit = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined);
  const fail = (): never => {
    throw new Error('no such module');
  };
  expect(() => withoutSqliteWarning(fail)).toThrow('no such module');
  process.emitWarning(SQLITE_WARNING, 'ExperimentalWarning');
  expect(emit.mock.calls).toEqual([[SQLITE_WARNING, 'ExperimentalWarning']]);
});

it('loads SQLite', () => {
  const db = new (loadSqlite().DatabaseSync)(':memory:');
  expect(db.prepare('SELECT 1 AS one').get()).toEqual({ one: 1 });
  db.close();
});
