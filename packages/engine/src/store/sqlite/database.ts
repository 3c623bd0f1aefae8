import type { DatabaseSync } from 'node:sqlite';
import type { Durability } from '../stores.ts';
import { fileError } from './errors.ts';
import { loadSqlite } from './load.ts';

/** How long a connection waits for another process before it gives up. */
const BUSY_TIMEOUT_MS = 5000;
/** A write-ahead log that has grown beyond this is cut back when it starts anew. */
const LOG_LIMIT_BYTES = 64 * 1024 * 1024;

/** Pages of the write-ahead log (16 MB) after which it is written back: four times SQLite's own, for a quarter less time per commit. */
const CHECKPOINT_PAGES = 4000;

/** A connection to the data file, ready for readers and one writer at a time; DATA_UNWRITABLE when it cannot be opened. */
export function openDatabase(
  file: string,
  options: { readOnly: boolean; durability: Durability },
): DatabaseSync {
  const { DatabaseSync: Database } = loadSqlite();
  return withFileErrors(file, () => {
    const db = new Database(file, { readOnly: options.readOnly, timeout: BUSY_TIMEOUT_MS });
    try {
      if (!options.readOnly)
        db.exec(
          `PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = ${LOG_LIMIT_BYTES}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
        );
      db.exec(`PRAGMA synchronous = ${options.durability === 'power' ? 'FULL' : 'NORMAL'}`);
    } catch (error) {
      db.close();
      throw error;
    }
    return db;
  });
}

/** What `work` returns; faults of the file become EngineErrors that name it. */
export function withFileErrors<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fileError(error, file) ?? error;
  }
}
