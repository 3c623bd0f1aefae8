import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect } from 'vitest';
import { createTestApi } from './api.ts';
import type { TestApi, TestApiOptions } from './api.ts';
import { createDataFolder } from './data-folder.ts';

/** Numbers of rows, by table. */
export type RowCounts = { [table: string]: number };

/** A test API that stores its data in a folder, with functions that count the stored rows. */
export interface RowCountingApi extends TestApi {
  /** Returns the number of rows of each table, which a refused request must not change. */
  countRows(): RowCounts;
  /** Waits until ended runs and their log are stored, so that only requests add rows. Returns the numbers of rows. */
  waitForRowCounts(): Promise<RowCounts>;
}

export async function createRowCountingApi(options: TestApiOptions = {}): Promise<RowCountingApi> {
  const data = createDataFolder(afterAll);
  const api = await createTestApi({ storeOptions: { data }, engineOptions: { data }, ...options });
  let openedCounter: RowCounter | undefined;
  afterAll(() => openedCounter?.close());
  const getRowCounter = (): RowCounter => (openedCounter ??= openRowCounter(data));
  const countRows = (): RowCounts => getRowCounter().countRows();
  let lastRowCounts = '';
  const isStable = (): boolean => {
    const isSame = lastRowCounts === (lastRowCounts = JSON.stringify(countRows()));
    return isSame && getRowCounter().isLogComplete();
  };
  const waitForRowCounts = async (): Promise<RowCounts> => {
    if (!isStable()) await expect.poll(isStable, { interval: 20, timeout: 10_000 }).toBe(true);
    return JSON.parse(lastRowCounts) as RowCounts;
  };
  return { ...api, countRows, waitForRowCounts };
}

/** Counts the rows in the databases of a data folder. The databases are open until `close` is called. */
interface RowCounter {
  countRows(): RowCounts;
  /**
   * Returns whether the log of runs is complete. In the background, the log subscribes to the changes of runs, reads
   * them, and adds ended runs to the totals.
   */
  isLogComplete(): boolean;
  close(): void;
}

function openRowCounter(data: string): RowCounter {
  const [serviceDatabase, engineDatabase] = ['api.db', 'heddle.db'].map(
    (name) => new DatabaseSync(join(data, name), { readOnly: true }),
  ) as [DatabaseSync, DatabaseSync];
  const counters = [serviceDatabase, engineDatabase].flatMap((db) => {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return tables.map(({ name }) => [String(name), createCounter(db, `"${String(name)}"`)] as const);
  });
  const countSubscribers = createCounter(engineDatabase, 'run_feed');
  const countUnreadChanges = createCounter(engineDatabase, 'run_changes');
  const countRunsWithoutTotals = createCounter(
    serviceDatabase,
    'run_logs WHERE ended_ms IS NOT NULL AND totalled = 0',
  );
  return {
    countRows: () => Object.fromEntries(counters.map(([name, count]) => [name, count()])),
    isLogComplete: () =>
      countSubscribers() > 0 && countUnreadChanges() === 0 && countRunsWithoutTotals() === 0,
    close: () => [serviceDatabase, engineDatabase].forEach((db) => db.close()),
  };
}

/** Returns a function that counts the rows that `fromClause` selects. */
function createCounter(db: DatabaseSync, fromClause: string): () => number {
  const count = db.prepare(`SELECT count(*) AS rows FROM ${fromClause}`);
  return () => Number(count.get()?.['rows']);
}
