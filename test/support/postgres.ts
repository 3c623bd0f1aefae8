import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll } from 'vitest';
import { requireTool } from '../tools/fetch.ts';
import { serverOf } from './postgres-server.ts';
import type { PostgresServer } from './postgres-server.ts';
import { drawing, isFull, leftOut } from './scale.ts';

/** Whether there is a PostgreSQL for tests: for `describe.skipIf(!hasPostgres)`. The reason is printed where there is none. */
export const hasPostgres = requireTool('postgres') !== undefined;

/** Share of the tests for both stores that a quick run has on PostgreSQL, where they take longer. */
const POSTGRES_SHARE = 1 / 4;

/** Returns the stores with which `what` is tested: a quick run draws one of SQLite (in memory) and PostgreSQL. */
export function drawnStores(what: string): readonly ('sqlite' | 'postgres')[] {
  if (!hasPostgres) return ['sqlite'];
  if (isFull) return ['sqlite', 'postgres'];
  const subject = `stores of ${what}`;
  leftOut(`1 of 2 ${subject}`);
  return [drawing(subject)() < POSTGRES_SHARE ? 'postgres' : 'sqlite'];
}

/** The server of this run of the tests, started when it is asked for the first time. */
export function postgresServer(): Promise<PostgresServer> {
  const tool = requireTool('postgres');
  if (!tool) throw new Error('There is no PostgreSQL here: skip these tests with hasPostgres.');
  return serverOf(tool);
}

/** What `query` gives, as the superuser of the server. */
export async function asSuperuser(server: PostgresServer, query: string): Promise<unknown[]> {
  const client = new Client({ connectionString: server.url('postgres') });
  await client.connect();
  try {
    return (await client.query<object>(query)).rows;
  } finally {
    await client.end();
  }
}

/** The URL of a new, empty database of this test file's own, dropped after its tests. */
export async function postgresDatabase(): Promise<string> {
  const server = await postgresServer();
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await asSuperuser(server, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`);
  afterAll(async () => {
    await asSuperuser(server, `DROP DATABASE ${name} WITH (FORCE)`);
  });
  return server.url(name);
}
