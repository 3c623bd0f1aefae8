import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Clock } from '@heddle/core';
import {
  LIVE_PRUNE_INTERVAL_MS,
  LIVE_RETENTION_MS,
  LiveEventWatchers,
  MAX_LIVE_CHARS,
  MAX_LIVE_EVENTS,
} from '../live-events.ts';
import type { LiveEvent, LiveEventStore, NewLiveEvent } from '../live-events.ts';
import { makePrivateFile } from '../private-files.ts';
import { ChangeNotifier } from './change-notifier.ts';
import { withFileErrors } from './database.ts';
import { storeClosedError } from './errors.ts';
import { loadSqlite } from './load.ts';
import { formatOf } from './migrations.ts';

/** Tables of another format are replaced, because events are stored only for a limited time. */
const FORMAT = 1;
/** Short, because a writer holds the lock only for one small commit without a flush of the disk. */
const BUSY_TIMEOUT_MS = 100;
/** Number of new events of a run after which the events beyond the limits are removed. */
const EVENTS_PER_TRIM = 64;

const TABLES = `
  CREATE TABLE streams (
    number INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    last INTEGER NOT NULL,
    chars INTEGER NOT NULL,
    touched_ms INTEGER NOT NULL
  );
  CREATE TABLE events (
    stream INTEGER NOT NULL,
    number INTEGER NOT NULL,
    ends INTEGER NOT NULL,
    place TEXT NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (stream, number)
  ) WITHOUT ROWID;
  PRAGMA user_version = ${FORMAT};
`;

const STREAM_NUMBER = '(SELECT number FROM streams WHERE run_id = ?)';

interface Connection {
  db: DatabaseSync;
  updateStream: StatementSync;
  insert: StatementSync;
  read: StatementSync;
}

/**
 * Live events in a separate file next to `heddle.db`, so that they never wait for commits of journals or delay them.
 * `ends` is the number of characters of the stream up to and including the event. Nothing is flushed to the disk: after
 * a power failure, events may be missing.
 */
export class SqliteLiveEvents implements LiveEventStore {
  readonly batchMs = 4;
  readonly #file: string;
  readonly #clock: Clock;
  readonly #canWrite: boolean;
  readonly #notifier: ChangeNotifier;
  readonly #watchers = new LiveEventWatchers();
  #connection: Connection | undefined;
  #stopWatching: (() => void) | undefined;
  #lastPruneMs = -Infinity;
  #isClosed = false;

  /** `canWrite`: false for readers of a folder that other processes own. */
  constructor(dataFolder: string, { clock, canWrite }: { clock: Clock; canWrite: boolean }) {
    this.#file = join(dataFolder, 'live.db');
    this.#clock = clock;
    this.#canWrite = canWrite;
    this.#notifier = new ChangeNotifier(dataFolder, 'live-changes');
  }

  publish(runId: string, events: readonly NewLiveEvent[]): number {
    if (this.#isClosed) throw storeClosedError();
    this.#connection ??= withFileErrors(this.#file, () => this.#open());
    const lastNumber = this.#withConnection(0, (connection) => this.#add(connection, runId, events));
    this.#notifier.notify();
    this.#watchers.wake(runId);
    return lastNumber;
  }

  #add({ db, updateStream, insert }: Connection, runId: string, events: readonly NewLiveEvent[]): number {
    const nowMs = this.#clock.now();
    const addedChars = events.reduce((sum, { json }) => sum + json.length, 0);
    return inTransaction(db, () => {
      const {
        number: stream,
        last,
        chars,
      } = updateStream.get(runId, events.length, addedChars, nowMs) as unknown as StreamRow;
      let number = last - events.length;
      let endChars = chars - addedChars;
      for (const { place, json } of events)
        insert.run(stream, (number += 1), (endChars += json.length), place, json);
      if (Math.floor(last / EVENTS_PER_TRIM) > Math.floor((last - events.length) / EVENTS_PER_TRIM))
        db.prepare('DELETE FROM events WHERE stream = ? AND (number <= ? OR ends <= ?)').run(
          stream,
          last - MAX_LIVE_EVENTS,
          chars - MAX_LIVE_CHARS,
        );
      this.#prune(db, nowMs);
      return last;
    });
  }

  #prune(db: DatabaseSync, nowMs: number): void {
    if (nowMs - this.#lastPruneMs < LIVE_PRUNE_INTERVAL_MS) return;
    this.#lastPruneMs = nowMs;
    const { changes } = db.prepare('DELETE FROM streams WHERE touched_ms < ?').run(nowMs - LIVE_RETENTION_MS);
    if (changes !== 0) db.exec('DELETE FROM events WHERE stream NOT IN (SELECT number FROM streams)');
  }

  read(runId: string, afterNumber: number, limit: number): LiveEvent[] {
    return this.#withConnection(
      [],
      ({ read }) => read.all(runId, afterNumber, limit) as unknown as LiveEvent[],
    );
  }

  places(runId: string): string[] {
    return this.#withConnection([], ({ db }) =>
      db
        .prepare(`SELECT DISTINCT place FROM events WHERE stream = ${STREAM_NUMBER}`)
        .all(runId)
        .map(({ place }) => place as string),
    );
  }

  lastNumber(runId: string): number {
    return this.#withConnection(0, ({ db }) => {
      const row = db.prepare('SELECT last FROM streams WHERE run_id = ?').get(runId);
      return (row?.['last'] as number | undefined) ?? 0;
    });
  }

  remove(runId: string): void {
    this.#withConnection(undefined, ({ db }) =>
      inTransaction(db, () => {
        db.prepare(`DELETE FROM events WHERE stream = ${STREAM_NUMBER}`).run(runId);
        db.prepare('DELETE FROM streams WHERE run_id = ?').run(runId);
      }),
    );
  }

  watch(runId: string, wake: () => void): () => void {
    const remove = this.#watchers.add(runId, wake);
    this.#stopWatching ??= this.#notifier.watch(() => this.#watchers.wakeAll());
    return () => {
      remove();
      if (this.#watchers.size > 0) return;
      this.#stopWatching?.();
      this.#stopWatching = undefined;
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#stopWatching?.();
    if (this.#connection?.db.isOpen) this.#connection.db.close();
  }

  /** Calls `work` with the connection. Returns `emptyResult` for a folder without events. */
  #withConnection<T>(emptyResult: T, work: (connection: Connection) => T): T {
    if (this.#isClosed) throw storeClosedError();
    return withFileErrors(this.#file, () => {
      if (!this.#connection && existsSync(this.#file)) this.#connection = this.#open();
      return this.#connection ? work(this.#connection) : emptyResult;
    });
  }

  #open(): Connection | undefined {
    if (!this.#canWrite) return this.#openReader();
    makePrivateFile(this.#file);
    try {
      return prepareStatements(openWriter(this.#file));
    } catch (error) {
      if (!isCorrupt(error)) throw error;
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${this.#file}${suffix}`, { force: true });
      makePrivateFile(this.#file);
      return prepareStatements(openWriter(this.#file));
    }
  }

  #openReader(): Connection | undefined {
    const { DatabaseSync: Database } = loadSqlite();
    const db = new Database(this.#file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    // The writer has created the file but not the tables yet.
    if (formatOf(db) === FORMAT) return prepareStatements(db);
    db.close();
    return undefined;
  }
}

interface StreamRow {
  number: number;
  last: number;
  chars: number;
}

function openWriter(file: string): DatabaseSync {
  const { DatabaseSync: Database } = loadSqlite();
  const db = new Database(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA journal_size_limit = 4194304');
    inTransaction(db, () => {
      if (formatOf(db) === FORMAT) return;
      db.exec(`DROP TABLE IF EXISTS streams; DROP TABLE IF EXISTS events; ${TABLES}`);
    });
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function prepareStatements(db: DatabaseSync): Connection {
  return {
    db,
    updateStream: db.prepare(`INSERT INTO streams (run_id, last, chars, touched_ms) VALUES (?, ?, ?, ?)
      ON CONFLICT (run_id) DO UPDATE SET last = last + excluded.last, chars = chars + excluded.chars,
        touched_ms = excluded.touched_ms
      RETURNING number, last, chars`),
    insert: db.prepare('INSERT INTO events (stream, number, ends, place, json) VALUES (?, ?, ?, ?, ?)'),
    read: db.prepare(`SELECT number, place, json FROM events
      WHERE stream = ${STREAM_NUMBER} AND number > ? ORDER BY number LIMIT ?`),
  };
}

function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** True if SQLite cannot read the file (SQLITE_CORRUPT, SQLITE_NOTADB). */
function isCorrupt(error: unknown): boolean {
  const { errcode } = error as { errcode?: unknown };
  return errcode === 11 || errcode === 26;
}
