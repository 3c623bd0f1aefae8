import { CompiledQuery } from 'kysely';
import type { Compilable, Kysely } from 'kysely';
import type { Db } from './database.ts';

/**
 * Returns a function that executes a query whose SQL is compiled once. Use it for queries of every request or run,
 * because compiling takes longer than executing. `build` returns the query with dummy values as parameters. Each call
 * passes the values of the parameters, in the order of the SQL.
 */
export function compiledQuery<Row>(
  db: Db,
  build: (db: Db) => Compilable<Row>,
): (...values: unknown[]) => Promise<Row[]> {
  const execute = compiledTransactionQuery(build);
  return (...values) => execute(db, values);
}

/**
 * Like `compiledTransactionQuery`, for a query on several items. Its SQL is compiled once for each number of items;
 * `values` are those of all items, in the order of the SQL.
 */
export function compiledQueryForMany<Tables, Row>(
  build: (db: Kysely<Tables>, itemCount: number) => Compilable<Row>,
): (db: Kysely<Tables>, itemCount: number, values: readonly unknown[]) => Promise<Row[]> {
  const queries = new Map<number, ReturnType<typeof compiledTransactionQuery<Tables, Row>>>();
  return (db, itemCount, values) => {
    const query =
      queries.get(itemCount) ?? compiledTransactionQuery<Tables, Row>((builder) => build(builder, itemCount));
    queries.set(itemCount, query);
    return query(db, values);
  };
}

/** Like `compiledQuery`, for a query that runs in transactions: each call passes its transaction. */
export function compiledTransactionQuery<Tables, Row>(
  build: (db: Kysely<Tables>) => Compilable<Row>,
): (db: Kysely<Tables>, values: readonly unknown[]) => Promise<Row[]> {
  // A transaction shares the adapter of its database, so the SQL is compiled once for all transactions.
  const sqlByAdapter = new WeakMap<object, string>();
  return async (db, values) => {
    const { adapter } = db.getExecutor();
    const sql = sqlByAdapter.get(adapter) ?? build(db).compile().sql;
    sqlByAdapter.set(adapter, sql);
    const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(sql, [...values]));
    return rows;
  };
}
