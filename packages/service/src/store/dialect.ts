import { PostgresAdapter } from 'kysely';
import type { Kysely } from 'kysely';

/** Returns whether the database or transaction is on PostgreSQL. */
export function isPostgres(db: Pick<Kysely<unknown>, 'getExecutor'>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}
