import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { SqliteDialect } from 'kysely';
import { NamesOnlySqliteDialect } from './names-only-dialects.ts';

/** Maximum time that a connection waits for a lock of another process. */
const BUSY_TIMEOUT_MS = 5000;

/** Returns kysely's SQLite dialect over node:sqlite. `file` is a path, or `:memory:`. */
export function createNodeSqliteDialect(file: string): SqliteDialect {
  // Loaded here, because processes that use PostgreSQL do not need it.
  const { DatabaseSync: Database } = process.getBuiltinModule('node:sqlite');
  if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true });
  const db = new Database(file, { timeout: BUSY_TIMEOUT_MS });
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON');
  return new NamesOnlySqliteDialect({ database: adaptConnection(db) });
}

type Parameters = readonly unknown[];

/** Adapts the connection to kysely's interface. Caches statements: they are few, and slow to prepare. */
function adaptConnection(db: DatabaseSync) {
  const statements = new Map<string, ReturnType<typeof adaptStatement>>();
  return {
    close: () => db.close(),
    prepare(sql: string) {
      // `begin immediate` locks the database for writing. With `begin`, a transaction that reads first fails to write
      // if another process has written in between.
      const text = sql === 'begin' ? 'begin immediate' : sql;
      const statement = statements.get(text) ?? adaptStatement(db.prepare(text));
      // Statements that change the schema are not cached, because they run once.
      if (/^(select|insert|update|delete|with)/i.test(text)) statements.set(text, statement);
      return statement;
    },
  };
}

function adaptStatement(statement: ReturnType<DatabaseSync['prepare']>) {
  return {
    reader: statement.columns().length > 0,
    all: (parameters: Parameters) => statement.all(...(parameters as SQLInputValue[])),
    run: (parameters: Parameters) => statement.run(...(parameters as SQLInputValue[])),
    iterate: (parameters: Parameters) =>
      statement.iterate(...(parameters as SQLInputValue[])) as IterableIterator<unknown>,
  };
}
