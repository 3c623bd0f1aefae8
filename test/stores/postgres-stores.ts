import { randomUUID } from 'node:crypto';
import { openPostgres } from '@heddle/engine/stores';
import type { PostgresOptions, SharedStores } from '@heddle/engine/stores';
import { onTestFinished } from 'vitest';
import { runAsSuperuser, getPostgresServer } from '../support/postgres.ts';

/** Opens stores in a new schema, or in the schema of the options. They are closed after the test. */
export async function openPostgresStores(options: PostgresOptions): Promise<SharedStores> {
  const stores = await openPostgres({ schema: `s ${randomUUID()}`, ...options });
  onTestFinished(() => stores.close());
  return stores;
}

/** Runs `query` as superuser in the database at `url`, and returns the rows. */
export async function queryAsSuperuser(url: string, query: string): Promise<unknown[]> {
  const { pathname } = new URL(url);
  const server = await getPostgresServer();
  return runAsSuperuser({ ...server, url: () => server.url(pathname.slice(1)) }, query);
}
