import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect } from 'vitest';
import { testApi } from './api.ts';
import type { TestApi, TestApiOptions } from './api.ts';
import { dataFolder } from './data-folder.ts';

/** Numbers of rows, by table. */
export type RowCounts = { [table: string]: number };

/** A test API that stores its data in a folder, with functions that count the stored rows. */
export interface RowCountingApi extends TestApi {
  /** Returns the number of rows of each table, which a refused request must not change. */
  rowCounts(): RowCounts;
  /** Waits until ended runs and their log are stored, so that only requests add rows. Returns the numbers of rows. */
  settledRowCounts(): Promise<RowCounts>;
}

export async function rowCountingApi(options: TestApiOptions = {}): Promise<RowCountingApi> {
  const data = dataFolder(afterAll);
  const api = await testApi({ storeOptions: { data }, engineOptions: { data }, ...options });
  let openedCounter: RowCounter | undefined;
  afterAll(() => openedCounter?.close());
  const rowCounter = (): RowCounter => (openedCounter ??= openRowCounter(data));
  const rows = (): RowCounts => rowCounter().rows();
  let lastRows = '';
  const isSettled = (): boolean => {
    const isSame = lastRows === (lastRows = JSON.stringify(rows()));
    return isSame && rowCounter().isLogComplete();
  };
  const settledRows = async (): Promise<RowCounts> => {
    if (!isSettled()) await expect.poll(isSettled, { interval: 20, timeout: 10_000 }).toBe(true);
    return JSON.parse(lastRows) as RowCounts;
  };
  return { ...api, rowCounts: rows, settledRowCounts: settledRows };
}

/** Counts the rows in the databases of a data folder. The databases are open until `close` is called. */
interface RowCounter {
  rows(): RowCounts;
  /**
   * Returns whether the log of runs is complete. In the background, the log subscribes to the changes of runs, reads
   * them, and adds ended runs to the totals.
   */
  isLogComplete(): boolean;
  close(): void;
}

function openRowCounter(data: string): RowCounter {
  const [service, engine] = ['api.db', 'heddle.db'].map(
    (name) => new DatabaseSync(join(data, name), { readOnly: true }),
  ) as [DatabaseSync, DatabaseSync];
  const counters = [service, engine].flatMap((db) => {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return tables.map(({ name }) => [String(name), counter(db, `"${String(name)}"`)] as const);
  });
  const subscribers = counter(engine, 'run_feed');
  const unreadChanges = counter(engine, 'run_changes');
  const untotalledRuns = counter(service, 'run_logs WHERE ended_ms IS NOT NULL AND totalled = 0');
  return {
    rows: () => Object.fromEntries(counters.map(([name, count]) => [name, count()])),
    isLogComplete: () => subscribers() > 0 && unreadChanges() === 0 && untotalledRuns() === 0,
    close: () => [service, engine].forEach((db) => db.close()),
  };
}

/** Returns a function that counts the rows of `from`. */
function counter(db: DatabaseSync, from: string): () => number {
  const count = db.prepare(`SELECT count(*) AS rows FROM ${from}`);
  return () => Number(count.get()?.['rows']);
}
