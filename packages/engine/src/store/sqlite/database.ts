import type { DatabaseSync } from 'node:sqlite';
import type { Durability } from '../stores.ts';
import { fileError } from './errors.ts';
import { loadSqlite } from './load.ts';

/** Maximum time that a connection waits for a lock. */
const BUSY_TIMEOUT_MS = 5000;
/** A larger write-ahead log is truncated to this size after a checkpoint. */
const WAL_LIMIT_BYTES = 64 * 1024 * 1024;

/**
 * Number of pages in the write-ahead log at which a checkpoint starts (16 MB): four times SQLite's default, which makes
 * commits a quarter faster.
 */
const CHECKPOINT_PAGES = 4000;

/**
 * Returns a connection to the data file, in WAL mode. Throws DATA_UNWRITABLE if the file cannot be opened,
 * JOURNAL_CORRUPT if it is not a database.
 */
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
          `PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = ${WAL_LIMIT_BYTES}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
        );
      db.exec(`PRAGMA synchronous = ${options.durability === 'power' ? 'FULL' : 'NORMAL'}`);
    } catch (error) {
      db.close();
      throw error;
    }
    return db;
  });
}

/** Returns a function that prepares statements at its first call, and returns the same statements afterwards. */
export function lazyStatements<T>(db: DatabaseSync, prepare: (db: DatabaseSync) => T): () => T {
  let prepared: T | undefined;
  return () => (prepared ??= prepare(db));
}

/** Calls `work` and returns its result. Converts errors of the file to EngineErrors that name the file. */
export function withFileErrors<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fileError(error, file) ?? error;
  }
}
