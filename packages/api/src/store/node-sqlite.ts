import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { SqliteDialect } from 'kysely';

/** How long a connection waits for another process before it gives up. */
const BUSY_TIMEOUT_MS = 5000;

/** kysely's dialect of SQLite over node:sqlite; `file` is a path, or `:memory:`. */
export function nodeSqlite(file: string): SqliteDialect {
  // Loaded by who opens a file: whoever keeps the records in PostgreSQL does not.
  const { DatabaseSync: Database } = process.getBuiltinModule('node:sqlite');
  if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true });
  const db = new Database(file, { timeout: BUSY_TIMEOUT_MS });
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON');
  return new SqliteDialect({ database: adapter(db) });
}

type Parameters = readonly unknown[];

/** The interface that kysely knows. Statements are kept by their text: there are few, and each takes long to prepare. */
function adapter(db: DatabaseSync) {
  const prepared = new Map<string, ReturnType<typeof statementOf>>();
  return {
    close: () => db.close(),
    prepare(sql: string) {
      // Who reads first and then writes would else be refused when another process has written in between.
      const text = sql === 'begin' ? 'begin immediate' : sql;
      const statement = prepared.get(text) ?? statementOf(db.prepare(text));
      // Schema statements are run once.
      if (/^(select|insert|update|delete|with)/i.test(text)) prepared.set(text, statement);
      return statement;
    },
  };
}

function statementOf(statement: ReturnType<DatabaseSync['prepare']>) {
  return {
    reader: statement.columns().length > 0,
    all: (parameters: Parameters) => statement.all(...(parameters as SQLInputValue[])),
    run: (parameters: Parameters) => statement.run(...(parameters as SQLInputValue[])),
    iterate: (parameters: Parameters) =>
      statement.iterate(...(parameters as SQLInputValue[])) as IterableIterator<unknown>,
  };
}
