import { CompiledQuery } from 'kysely';
import type { Compilable, Kysely } from 'kysely';
import type { Db } from './database.ts';

/**
 * Returns a function that runs a query whose SQL is compiled once, for queries that each request or run sends:
 * compiling takes longer than running. `build` returns the query with placeholders as parameters. Each call passes the
 * values of the parameters, in the order of the SQL.
 */
export function compiledQuery<Row>(
  db: Db,
  build: (db: Db) => Compilable<Row>,
): (...values: unknown[]) => Promise<Row[]> {
  const run = compiledQueryIn(build);
  return (...values) => run(db, values);
}

/**
 * Like `compiledQueryIn`, for a query on several items. Its SQL is compiled once for each number of items; `values` are
 * those of all items, in the order of the SQL.
 */
export function compiledQueryForMany<Tables, Row>(
  build: (db: Kysely<Tables>, items: number) => Compilable<Row>,
): (db: Kysely<Tables>, items: number, values: readonly unknown[]) => Promise<Row[]> {
  const queries = new Map<number, ReturnType<typeof compiledQueryIn<Tables, Row>>>();
  return (db, items, values) => {
    const query = queries.get(items) ?? compiledQueryIn<Tables, Row>((builder) => build(builder, items));
    queries.set(items, query);
    return query(db, values);
  };
}

/** Like `compiledQuery`, for a query that runs in transactions: each call passes its transaction. */
export function compiledQueryIn<Tables, Row>(
  build: (db: Kysely<Tables>) => Compilable<Row>,
): (db: Kysely<Tables>, values: readonly unknown[]) => Promise<Row[]> {
  // A transaction has the adapter of its database.
  const sqlByAdapter = new WeakMap<object, string>();
  return async (db, values) => {
    const { adapter } = db.getExecutor();
    const sql = sqlByAdapter.get(adapter) ?? build(db).compile().sql;
    sqlByAdapter.set(adapter, sql);
    const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(sql, [...values]));
    return rows;
  };
}
