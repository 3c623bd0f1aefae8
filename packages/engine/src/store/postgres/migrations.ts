import { EngineError } from '@heddle/core';
import type { PoolClient } from 'pg';
import type { Database } from './database.ts';
import type { DatabaseLocation } from './errors.ts';
import { FORMAT_1, FORMAT_2, FORMAT_3 } from './schema.ts';

/** Statements that lead from format n (its index) to format n + 1. Entries are never changed, only added. */
export const MIGRATIONS: readonly string[] = [FORMAT_1, FORMAT_2, FORMAT_3];

/** Half of the key of the lock; the other half is the schema's. */
const LOCK = 1_751_475_300;

interface Found {
  encoding: string;
  exists: boolean;
  tables: number;
  format: number;
}

/**
 * Brings the schema to the newest format, in one transaction; of several processes one does it, and the others wait.
 *
 * DATA_FORMAT_UNSUPPORTED for a newer format, for a schema that is somebody else's, and for a database that is not UTF-8.
 */
export async function migrate(database: Database, migrations: readonly string[] = MIGRATIONS): Promise<void> {
  const { location } = database;
  const schema = quoted(location.schema);
  await database.transaction(async (client) => {
    // Most often there is nothing to do, and nobody has to wait for that.
    if (checked(await look(client, location.schema), location, migrations.length) === migrations.length)
      return;
    await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LOCK, location.schema]);
    const found = await look(client, location.schema);
    const from = checked(found, location, migrations.length);
    if (from === migrations.length) return;
    if (!found.exists) await client.query(`CREATE SCHEMA ${schema}`);
    await client.query(`SET LOCAL search_path TO ${schema}`);
    if (from === 0) await client.query('CREATE TABLE format (format integer NOT NULL)');
    for (const statements of migrations.slice(from)) await client.query(statements);
    await client.query('DELETE FROM format');
    await client.query('INSERT INTO format (format) VALUES ($1)', [migrations.length]);
  });
}

async function look(client: PoolClient, schema: string): Promise<Found> {
  const { rows } = await client.query<Omit<Found, 'format'> & { marked: boolean }>(
    `SELECT current_setting('server_encoding') AS encoding,
      EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) AS exists,
      to_regclass(quote_ident($1) || '.format') IS NOT NULL AS marked,
      (SELECT count(*) FROM pg_tables WHERE schemaname = $1) AS tables`,
    [schema],
  );
  const [{ marked, ...found }] = rows as [(typeof rows)[0]];
  if (!marked) return { ...found, format: 0 };
  const { rows: formats } = await client.query<{ format: number }>(
    `SELECT format FROM ${quoted(schema)}.format`,
  );
  return { ...found, format: formats[0]?.format ?? 0 };
}

function checked({ encoding, tables, format }: Found, place: DatabaseLocation, newest: number): number {
  if (format > newest) {
    throw unsupported(
      place,
      `has format ${format}, and this version of Heddle knows formats up to ${newest}. Use the newer version that wrote it, or another schema`,
    );
  }
  if (format === 0 && tables > 0) {
    throw unsupported(place, 'has tables, but not those of Heddle. Choose another schema');
  }
  if (encoding !== 'UTF8') {
    throw unsupported(place, `is in a database with the encoding ${encoding}. Use a database with UTF8`);
  }
  return format;
}

function unsupported({ schema, database, host, port }: DatabaseLocation, why: string): EngineError {
  return new EngineError(
    'DATA_FORMAT_UNSUPPORTED',
    `The schema "${schema}" of the database "${database}" at ${host}:${port} cannot be used: it ${why}.`,
    { details: { host, port, database, schema } },
  );
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
