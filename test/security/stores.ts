import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { createPostgresDatabase } from '../support/postgres.ts';
import { API_SECRET } from './service.ts';
import type { StoreSetup } from './suite.ts';

/** Returns a new data folder as the store of a service. `options` are further options of `heddle serve`. */
export function folderStore(options: readonly string[] = []): StoreSetup {
  const data = createDataFolder(afterAll);
  return {
    open: () => Promise.resolve({ args: ['--data', data, ...options], store: { data } }),
    dump: () => {
      const entries = readdirSync(data, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile());
      const contents = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'));
      return Promise.resolve(contents.join('\n'));
    },
  };
}

/** Returns a store in a PostgreSQL database that `open` creates. `options` are further options of `heddle serve`. */
export function postgresStore(options: readonly string[] = []): StoreSetup {
  let url = '';
  return {
    open: async () => {
      url = await createPostgresDatabase();
      return { args: ['--postgres', url, ...options], store: { postgres: { url }, secret: API_SECRET } };
    },
    dump: () => dumpTables(url),
  };
}

/** Returns every row of every table as one string. */
async function dumpTables(connectionString: string): Promise<string> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const tables: string[] = [];
    for (const { name } of rows) {
      const result = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
      tables.push(result.rows.map(({ row }) => row).join('\n'));
    }
    return tables.join('\n');
  } finally {
    await client.end();
  }
}
