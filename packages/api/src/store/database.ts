import { Kysely, PostgresDialect } from 'kysely';
import type { Dialect } from 'kysely';
import { Migrator } from 'kysely/migration';
import { Pool } from 'pg';
import { MIGRATIONS } from './migrations.ts';
import { nodeSqlite } from './node-sqlite.ts';
import type { Tables } from './schema.ts';

export type Db = Kysely<Tables>;

/** Where the records are: a file (`:memory:` for none), or a PostgreSQL database. */
export type DatabasePlace = { file: string } | { url: string; schema?: string; maxConnections?: number };

const DEFAULT_SCHEMA = 'heddle_api';
const DEFAULT_CONNECTIONS = 10;

/** The database, its schema brought to the newest step. */
export async function openDatabase(place: DatabasePlace, migrations = MIGRATIONS): Promise<Db> {
  const onPostgres = 'url' in place;
  const schema = onPostgres ? (place.schema ?? DEFAULT_SCHEMA) : undefined;
  const dialect = onPostgres ? postgres(place, schema ?? DEFAULT_SCHEMA) : nodeSqlite(place.file);
  const db = new Kysely<Tables>({ dialect });
  try {
    const migrator = new Migrator({
      db,
      provider: { getMigrations: () => Promise.resolve({ ...migrations }) },
      ...(schema !== undefined && { migrationTableSchema: schema }),
    });
    const { error } = await migrator.migrateToLatest();
    if (error !== undefined) throw asError(error);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return db;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error('The tables could not be made.', { cause: error });
}

/** Unqualified names are those of the schema, so that both databases are asked with the same queries. */
function postgres(place: { url: string; maxConnections?: number }, schema: string): Dialect {
  const pool = new Pool({
    connectionString: place.url,
    max: place.maxConnections ?? DEFAULT_CONNECTIONS,
    fallback_application_name: 'heddle-api',
    options: `-c search_path=${schema.replaceAll(/[\\ ]/g, '\\$&')}`,
  });
  // An unused connection was lost: the pool has dropped it and opens another one when it is needed.
  pool.on('error', () => undefined);
  return new PostgresDialect({ pool });
}

const SQLITE_UNIQUE = 2067;
const SQLITE_PRIMARY_KEY = 1555;
const POSTGRES_UNIQUE = '23505';

/** True when a row was refused because another has its key. */
export function isDuplicate(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  return code === POSTGRES_UNIQUE || errcode === SQLITE_UNIQUE || errcode === SQLITE_PRIMARY_KEY;
}
