import { CompiledQuery } from 'kysely';
import type { Compilable } from 'kysely';
import type { Db } from './database.ts';

/**
 * A query whose text is made once, for those that every execution asks: making it takes longer than asking it.
 * `build` shows its form; each call gives the values, in the order in which they stand in the text.
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
