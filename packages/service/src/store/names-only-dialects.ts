import { PostgresDialect, sql, SqliteDialect } from 'kysely';
import type { DatabaseIntrospector, Kysely, TableMetadata } from 'kysely';

type Database = Kysely<unknown>;

/** Kysely's dialect for SQLite, whose introspector reads only the names of tables. */
export class NamesOnlySqliteDialect extends SqliteDialect {
  override createIntrospector(db: Database): DatabaseIntrospector {
    return createNamesOnlyIntrospector(super.createIntrospector(db), async () => {
      const query = sql<TableName>`select name from sqlite_master where type = 'table'`;
      return (await query.execute(db)).rows;
    });
  }
}

/** Kysely's dialect for PostgreSQL, whose introspector reads only the names of tables. */
export class NamesOnlyPostgresDialect extends PostgresDialect {
  override createIntrospector(db: Database): DatabaseIntrospector {
    return createNamesOnlyIntrospector(super.createIntrospector(db), async () => {
      const query = sql<TableName>`select tablename as name, schemaname as schema from pg_tables`;
      return (await query.execute(db)).rows;
    });
  }
}

type TableName = Pick<TableMetadata, 'name' | 'schema'>;

/**
 * Returns an introspector whose tables have no columns. Kysely's migrator lists the tables twice for each area, so
 * reading all their columns would be the slowest part of opening a database.
 */
function createNamesOnlyIntrospector(
  introspector: DatabaseIntrospector,
  readTableNames: () => Promise<readonly TableName[]>,
): DatabaseIntrospector {
  return {
    getSchemas: () => introspector.getSchemas(),
    getTables: async () =>
      (await readTableNames()).map((table) => ({ ...table, isView: false, isForeign: false, columns: [] })),
  };
}
