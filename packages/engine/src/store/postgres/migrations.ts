import { EngineError } from '@heddle/core';
import type { PoolClient } from 'pg';
import type { Database } from './database.ts';
import type { DatabaseLocation } from './errors.ts';
import { FORMAT_1, FORMAT_2, FORMAT_3, FORMAT_4, FORMAT_5, FORMAT_6, FORMAT_7, FORMAT_8 } from './schema.ts';

/** The statements from format n (the index) to format n + 1. Migrations are only added, never changed. */
export const MIGRATIONS: readonly string[] = [
  FORMAT_1,
  FORMAT_2,
  FORMAT_3,
  FORMAT_4,
  FORMAT_5,
  FORMAT_6,
  FORMAT_7,
  FORMAT_8,
];

/** First half of the key of the advisory lock; the second half is the hash of the schema's name. */
const LOCK_KEY = 1_751_475_300;

interface SchemaState {
  encoding: string;
  exists: boolean;
  tableCount: number;
  format: number;
}

/**
 * Migrates the schema to the newest format, in one transaction. If several processes start, one migrates and the others
 * wait.
 *
 * Throws DATA_FORMAT_UNSUPPORTED for a newer format, for a schema of another program, and for a database that is not
 * UTF-8.
 */
export async function migrate(database: Database, migrations: readonly string[] = MIGRATIONS): Promise<void> {
  const { location } = database;
  const schema = quoteIdentifier(location.schema);
  await database.transaction(async (client) => {
    // Usually no migration is necessary, and the lock is not taken.
    if (
      checkFormat(await readState(client, location.schema), location, migrations.length) === migrations.length
    )
      return;
    await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LOCK_KEY, location.schema]);
    const state = await readState(client, location.schema);
    const format = checkFormat(state, location, migrations.length);
    if (format === migrations.length) return;
    if (!state.exists) await client.query(`CREATE SCHEMA ${schema}`);
    await client.query(`SET LOCAL search_path TO ${schema}`);
    if (format === 0) await client.query('CREATE TABLE format (format integer NOT NULL)');
    for (const statements of migrations.slice(format)) await client.query(statements);
    await client.query('DELETE FROM format');
    await client.query('INSERT INTO format (format) VALUES ($1)', [migrations.length]);
  });
}

async function readState(client: PoolClient, schema: string): Promise<SchemaState> {
  const { rows } = await client.query<Omit<SchemaState, 'format'> & { has_format: boolean }>(
    `SELECT current_setting('server_encoding') AS encoding,
      EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) AS exists,
      to_regclass(quote_ident($1) || '.format') IS NOT NULL AS has_format,
      (SELECT count(*) FROM pg_tables WHERE schemaname = $1) AS "tableCount"`,
    [schema],
  );
  const [{ has_format: hasFormat, ...state }] = rows as [(typeof rows)[0]];
  if (!hasFormat) return { ...state, format: 0 };
  const { rows: formatRows } = await client.query<{ format: number }>(
    `SELECT format FROM ${quoteIdentifier(schema)}.format`,
  );
  return { ...state, format: formatRows[0]?.format ?? 0 };
}

function checkFormat(
  { encoding, tableCount, format }: SchemaState,
  location: DatabaseLocation,
  newestFormat: number,
): number {
  if (format > newestFormat) {
    throw unsupportedFormatError(
      location,
      `has format ${format}, and this version of Heddle knows formats up to ${newestFormat}. Use the newer version that wrote it, or another schema`,
    );
  }
  if (format === 0 && tableCount > 0) {
    throw unsupportedFormatError(location, 'has tables, but not those of Heddle. Choose another schema');
  }
  if (encoding !== 'UTF8') {
    throw unsupportedFormatError(
      location,
      `is in a database with the encoding ${encoding}. Use a database with UTF8`,
    );
  }
  return format;
}

function unsupportedFormatError(
  { schema, database, host, port }: DatabaseLocation,
  reason: string,
): EngineError {
  return new EngineError(
    'DATA_FORMAT_UNSUPPORTED',
    `The schema "${schema}" of the database "${database}" at ${host}:${port} cannot be used: it ${reason}.`,
    { details: { host, port, database, schema } },
  );
}

function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
