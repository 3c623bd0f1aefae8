import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll } from 'vitest';
import { testApi } from './api.ts';
import type { TestApi, TestApiOptions } from './api.ts';
import { dataFolder } from './data-folder.ts';

export type Rows = { [table: string]: number };

/** An API whose records are in a folder, and how many rows its tables have: what a refused request must not change. */
export async function recordingApi(options: TestApiOptions = {}): Promise<TestApi & { rows: () => Rows }> {
  const data = dataFolder(afterAll);
  const api = await testApi({ storeOptions: { data }, engineOptions: { data }, ...options });
  return { ...api, rows: () => ({ ...rowsIn(join(data, 'api.db')), ...rowsIn(join(data, 'heddle.db')) }) };
}

function rowsIn(file: string): Rows {
  if (!existsSync(file)) return {};
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return Object.fromEntries(
      tables.map(({ name }) => [
        String(name),
        Number(db.prepare(`SELECT count(*) AS rows FROM "${String(name)}"`).get()?.['rows']),
      ]),
    );
  } finally {
    db.close();
  }
}
