import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Clock } from '@heddle/core';
import { repeat } from '../../clock.ts';
import { OUTCOME_RETENTION_MS, readControlRow, readOutcome, toControlRow } from '../control.ts';
import type {
  ControlOutcome,
  ControlRequest,
  ControlRow,
  ControlStore,
  NewControlRequest,
} from '../control.ts';
import type { ChangeNotifier } from './change-notifier.ts';
import type { GroupCommit } from './commit.ts';
import { lazyStatements, withFileErrors } from './database.ts';

/** Interval at which the owner checks for requests, in addition to notifications. */
const POLL_MS = 250;

const INSERT = 'INSERT INTO control (id, run_id, kind, payload, created_ms) VALUES (?, ?, ?, ?, ?)';
const SETTLE = 'UPDATE control SET outcome = ? WHERE id = ? AND outcome IS NULL';
const PRUNE = 'DELETE FROM control WHERE outcome IS NOT NULL AND created_ms < ?';
const OPEN_REQUESTS = `SELECT id, run_id AS runId, kind, payload, created_ms AS createdMs FROM control
  WHERE outcome IS NULL ORDER BY position`;

/** A connection that can write. */
export interface WriteConnection {
  db: DatabaseSync;
  commit: GroupCommit;
}

export interface SqliteControlOptions {
  file: string;
  db: DatabaseSync;
  /** Called for each write, because a reader opens its write connection at the first write. */
  getWriteConnection: () => WriteConnection;
  notifier: ChangeNotifier;
  clock: Clock;
  /** Receives I/O errors of work that no caller waits for. */
  onError: (error: unknown) => void;
}

/** Control requests in the data file, from any process to the owner. */
export class SqliteControlStore implements ControlStore {
  readonly #options: SqliteControlOptions;
  readonly #selectOpenRequests: () => StatementSync;

  constructor(options: SqliteControlOptions) {
    this.#options = options;
    // Prepared once, because the owner of a folder reads the open requests at each poll.
    this.#selectOpenRequests = lazyStatements(options.db, (db) => db.prepare(OPEN_REQUESTS));
  }

  async add(request: NewControlRequest): Promise<string> {
    const { id, runId, kind, payload, createdMs } = toControlRow(request, this.#options.clock.now());
    await this.#write(INSERT, [id, runId, kind, payload, createdMs]);
    this.#options.notifier.notify();
    return id;
  }

  outcome(id: string): ControlOutcome | undefined {
    const { db, file } = this.#options;
    const row = withFileErrors(file, () => db.prepare('SELECT outcome FROM control WHERE id = ?').get(id));
    return readOutcome(id, row?.['outcome']);
  }

  openRequests(): ControlRequest[] {
    const rows = withFileErrors(this.#options.file, () => this.#selectOpenRequests().all());
    return (rows as unknown as ControlRow[]).map(readControlRow);
  }

  settle(id: string, outcome: ControlOutcome): Promise<void> {
    return this.#write(SETTLE, [JSON.stringify(outcome), id]);
  }

  remove(id: string): Promise<void> {
    return this.#write('DELETE FROM control WHERE id = ?', [id]);
  }

  /** Removes old outcomes. */
  prune(): Promise<void> {
    return this.#write(PRUNE, [this.#options.clock.now() - OUTCOME_RETENTION_MS]);
  }

  watch(onRequest: () => void): () => void {
    const { notifier, clock, onError } = this.#options;
    const stopPolling = repeat(clock, POLL_MS, async () => onRequest(), onError);
    const unwatch = notifier.watch(onRequest);
    return () => {
      void stopPolling();
      unwatch();
    };
  }

  async #write(sql: string, values: (string | number)[]): Promise<void> {
    const { db, commit } = this.#options.getWriteConnection();
    await commit.run(() => {
      db.prepare(sql).run(...values);
    });
  }
}
