import { CompiledQuery } from 'kysely';
import type { Compilable, Kysely } from 'kysely';
import type { Db } from './database.ts';

/**
 * Returns a query whose SQL is compiled once. For the queries of every execution: compiling takes longer than running.
 * `build` fills its parameters with placeholders; each call passes the values, in the order of the SQL.
 */
export function compiled<Row>(
  db: Db,
  build: (db: Db) => Compilable<Row>,
): (...values: unknown[]) => Promise<Row[]> {
  const run = compiledIn(build);
  return (...values) => run(db, values);
}

/** The same for a query that runs in transactions of one database. */
export function compiledIn<Tables, Row>(
  build: (db: Kysely<Tables>) => Compilable<Row>,
): (db: Kysely<Tables>, values: readonly unknown[]) => Promise<Row[]> {
  let sql: string | undefined;
  return async (db, values) => {
    sql ??= build(db).compile().sql;
    const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(sql, [...values]));
    return rows;
  };
}
