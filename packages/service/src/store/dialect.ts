import { PostgresAdapter } from 'kysely';
import type { Kysely } from 'kysely';

/** Returns true for a database on PostgreSQL, and for its transactions. */
export function isPostgres(db: Pick<Kysely<unknown>, 'getExecutor'>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}
