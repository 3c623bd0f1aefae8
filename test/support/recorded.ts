import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect } from 'vitest';
import { testApi } from './api.ts';
import type { TestApi, TestApiOptions } from './api.ts';
import { dataFolder } from './data-folder.ts';

export type Rows = { [table: string]: number };

/** A test API with its data in a folder, and functions that count the stored rows. */
export interface RecordingApi extends TestApi {
  /** Returns the number of rows of each table, which a refused request must not change. */
  rows(): Rows;
  /** Waits until ended runs and their log are stored. Returns the rows, which only requests change from then on. */
  settledRows(): Promise<Rows>;
}

export async function recordingApi(options: TestApiOptions = {}): Promise<RecordingApi> {
  const data = dataFolder(afterAll);
  const api = await testApi({ storeOptions: { data }, engineOptions: { data }, ...options });
  let cached: Records | undefined;
  afterAll(() => cached?.close());
  const records = (): Records => (cached ??= openRecords(data));
  const rows = (): Rows => records().rows();
  let lastRows = '';
  const isSettled = (): boolean => {
    const isSame = lastRows === (lastRows = JSON.stringify(rows()));
    return isSame && records().isIndexed();
  };
  const settledRows = async (): Promise<Rows> => {
    if (!isSettled()) await expect.poll(isSettled, { interval: 20, timeout: 10_000 }).toBe(true);
    return JSON.parse(lastRows) as Rows;
  };
  return { ...api, rows, settledRows };
}

/** The records in a data folder, which stays open until the tests of the file are over. */
interface Records {
  rows(): Rows;
  /**
   * Returns whether the log has begun to read the changes of runs, and has all of them and their totals. All of this
   * happens in the background.
   */
  isIndexed(): boolean;
  close(): void;
}

function openRecords(data: string): Records {
  const [service, engine] = ['api.db', 'heddle.db'].map(
    (name) => new DatabaseSync(join(data, name), { readOnly: true }),
  ) as [DatabaseSync, DatabaseSync];
  const counters = [service, engine].flatMap((db) => {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return tables.map(({ name }) => [String(name), counter(db, `"${String(name)}"`)] as const);
  });
  const readers = counter(engine, 'run_feed');
  const changes = counter(engine, 'run_changes');
  const ended = counter(service, 'run_logs WHERE ended_ms IS NOT NULL AND totalled = 0');
  return {
    rows: () => Object.fromEntries(counters.map(([name, count]) => [name, count()])),
    isIndexed: () => readers() > 0 && changes() === 0 && ended() === 0,
    close: () => [service, engine].forEach((db) => db.close()),
  };
}

/** Returns a function that counts the rows of `from`. */
function counter(db: DatabaseSync, from: string): () => number {
  const count = db.prepare(`SELECT count(*) AS rows FROM ${from}`);
  return () => Number(count.get()?.['rows']);
}
