import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll } from 'vitest';
import { resolveTool } from '../tools/fetch.ts';
import { getOrStartServer } from './postgres-server.ts';
import type { PostgresServer } from './postgres-server.ts';
import { createSampleRandom, isFullRun, reportSkipped } from './scale.ts';

/** True if PostgreSQL is available for tests, for `describe.skipIf(!hasPostgres)`. If not, the reason is printed. */
export const hasPostgres = resolveTool('postgres') !== undefined;

/** Of the tests that run on either store, the share that a quick run executes on PostgreSQL, which is slower. */
const POSTGRES_SHARE = 1 / 4;

/**
 * Returns the stores for the tests that `description` names: SQLite (in memory) and PostgreSQL, of which a quick run
 * picks one.
 */
export function storesToTest(description: string): readonly ('sqlite' | 'postgres')[] {
  if (!hasPostgres) return ['sqlite'];
  if (isFullRun) return ['sqlite', 'postgres'];
  const subject = `stores of ${description}`;
  reportSkipped(`1 of 2 ${subject}`);
  return [createSampleRandom(subject)() < POSTGRES_SHARE ? 'postgres' : 'sqlite'];
}

/** Returns the server of this run of the tests. The first call starts it. */
export function getPostgresServer(): Promise<PostgresServer> {
  const tool = resolveTool('postgres');
  if (!tool) throw new Error('There is no PostgreSQL for tests: skip tests that need it with hasPostgres.');
  return getOrStartServer(tool);
}

/** Runs `query` as the superuser of the server. Returns the rows. */
export async function runAsSuperuser(server: PostgresServer, query: string): Promise<unknown[]> {
  const client = new Client({ connectionString: server.url('postgres') });
  await client.connect();
  try {
    return (await client.query<object>(query)).rows;
  } finally {
    await client.end();
  }
}

/** Creates a database for this test file and returns its URL. The database is dropped after the tests of the file. */
export async function createPostgresDatabase(): Promise<string> {
  const server = await getPostgresServer();
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await runAsSuperuser(server, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`);
  afterAll(async () => {
    await runAsSuperuser(server, `DROP DATABASE ${name} WITH (FORCE)`);
  });
  return server.url(name);
}
