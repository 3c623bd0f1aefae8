import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect } from 'vitest';
import { testApi } from './api.ts';
import type { TestApi, TestApiOptions } from './api.ts';
import { dataFolder } from './data-folder.ts';

export type Rows = { [table: string]: number };

/** An API whose records are in a folder. */
export interface RecordingApi extends TestApi {
  /** How many rows its tables have: what a refused request must not change. */
  rows(): Rows;
  /** Waits until runs that have ended, and the log of them, are written. Returns the rows, which only requests change then. */
  settledRows(): Promise<Rows>;
}

export async function recordingApi(options: TestApiOptions = {}): Promise<RecordingApi> {
  const data = dataFolder(afterAll);
  const api = await testApi({ storeOptions: { data }, engineOptions: { data }, ...options });
  const [service, engine] = [join(data, 'api.db'), join(data, 'heddle.db')];
  const rows = (): Rows => ({ ...rowsIn(service), ...rowsIn(engine) });
  let last = '';
  const isSettled = (): boolean => {
    const isSame = last === (last = JSON.stringify(rows()));
    return isSame && !isIndexing(service, engine);
  };
  const settledRows = async (): Promise<Rows> => {
    if (!isSettled()) await expect.poll(isSettled, { interval: 20 }).toBe(true);
    return JSON.parse(last) as Rows;
  };
  return { ...api, rows, settledRows };
}

/** True while changes of runs are not in the log, or ended runs not in its totals: both are written in the background. */
function isIndexing(service: string, engine: string): boolean {
  return (
    countIn(engine, 'SELECT count(*) AS rows FROM run_changes') > 0 ||
    countIn(service, 'SELECT count(*) AS rows FROM run_logs WHERE ended_ms IS NOT NULL AND totalled = 0') > 0
  );
}

function countIn(file: string, query: string): number {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return Number(db.prepare(query).get()?.['rows']);
  } finally {
    db.close();
  }
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
