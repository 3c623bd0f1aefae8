import type { Migrations } from '@heddle/api';
import { Kysely } from 'kysely';
import type { Dialect, SelectQueryBuilder } from 'kysely';
import { Migrator } from 'kysely/migration';
import { Pool } from 'pg';
import { MIGRATIONS } from './migrations.ts';
import { createNodeSqliteDialect } from './node-sqlite.ts';
import type { Tables } from './schema.ts';
import { NamesOnlyPostgresDialect } from './names-only-dialects.ts';

export type Db = Kysely<Tables>;

/** A SQLite file (`:memory:` for a database in memory), or a PostgreSQL database. */
export type DatabaseLocation = { file: string } | { url: string; schema?: string; maxConnections?: number };

const DEFAULT_SCHEMA = 'heddle_api';
const DEFAULT_MAX_CONNECTIONS = 10;

/** An open database. */
export interface OpenDatabase {
  db: Db;
  /** Runs the migrations of an area (a module of API operations with its own tables) that have not run yet. */
  migrate: (area: string, migrations: Migrations) => Promise<void>;
}

/** Opens the database. Migrates the tables that all areas share to the newest version. */
export async function openDatabase(
  location: DatabaseLocation,
  migrations: Migrations = MIGRATIONS,
): Promise<OpenDatabase> {
  const isPostgres = 'url' in location;
  const schema = isPostgres ? (location.schema ?? DEFAULT_SCHEMA) : undefined;
  const dialect = isPostgres
    ? createPostgresDialect(location, schema ?? DEFAULT_SCHEMA)
    : createNodeSqliteDialect(location.file);
  const db = new Kysely<Tables>({ dialect });
  try {
    await migrate(db, schema, { migrations });
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return { db, migrate: (area, areaMigrations) => migrate(db, schema, { area, migrations: areaMigrations }) };
}

/** Returns the number of rows that the query selects. */
export async function countOf<DB, TB extends keyof DB>(
  query: SelectQueryBuilder<DB, TB, object>,
): Promise<number> {
  const row: unknown = await query.select((eb) => eb.fn.countAll().as('count')).executeTakeFirstOrThrow();
  return Number((row as { count: number | string | bigint }).count);
}

/**
 * Runs new migrations. Each area records its migrations in a separate table, so a process with fewer areas can open
 * the database.
 */
async function migrate(
  db: Db,
  schema: string | undefined,
  { area, migrations }: { area?: string; migrations: Migrations },
): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve({ ...migrations }) },
    ...(schema !== undefined && { migrationTableSchema: schema }),
    ...(area !== undefined && {
      migrationTableName: `${area}_migration`,
      migrationLockTableName: `${area}_migration_lock`,
    }),
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw toError(error);
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error('The tables could not be created.', { cause: error });
}

/**
 * Returns the dialect for PostgreSQL. Sets the search path to the schema, so that both databases run the same queries
 * with unqualified names.
 */
function createPostgresDialect(location: { url: string; maxConnections?: number }, schema: string): Dialect {
  const pool = new Pool({
    connectionString: location.url,
    max: location.maxConnections ?? DEFAULT_MAX_CONNECTIONS,
    fallback_application_name: 'heddle-api',
    options: `-c search_path=${schema.replaceAll(/[\\ ]/g, '\\$&')}`,
  });
  // An idle connection was lost. The pool has dropped it and opens another one when needed.
  pool.on('error', () => undefined);
  return new NamesOnlyPostgresDialect({ pool });
}

// Codes of violated unique constraints: SQLite's extended result codes, and PostgreSQL's SQLSTATE.
const SQLITE_UNIQUE = 2067;
const SQLITE_PRIMARY_KEY = 1555;
const POSTGRES_UNIQUE = '23505';

/** Returns whether the error is a violation of a unique constraint. */
export function isUniqueViolation(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  return code === POSTGRES_UNIQUE || errcode === SQLITE_UNIQUE || errcode === SQLITE_PRIMARY_KEY;
}
