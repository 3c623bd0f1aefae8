import { CompiledQuery } from 'kysely';
import type { Compilable } from 'kysely';
import type { Db } from './database.ts';

/**
 * Returns a query whose SQL is compiled once. For the queries of every execution: compiling takes longer than running.
 * `build` fills its parameters with placeholders; each call passes the values, in the order of the SQL.
 */
export function compiled<Row>(
  db: Db,
  build: (db: Db) => Compilable<Row>,
): (...values: unknown[]) => Promise<Row[]> {
  let sql: string | undefined;
  return async (...values) => {
    sql ??= build(db).compile().sql;
    const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(sql, values));
    return rows;
  };
}
