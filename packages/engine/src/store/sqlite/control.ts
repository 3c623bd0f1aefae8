import type { DatabaseSync } from 'node:sqlite';
import { isEngineError } from '@heddle/core';
import type { Clock } from '@heddle/core';
import {
  ControlServer,
  OUTCOME_RETENTION_MS,
  readControlRow,
  readOutcome,
  toControlRow,
} from '../control.ts';
import type {
  ControlHandler,
  ControlOutcome,
  ControlRequest,
  ControlRow,
  ControlStore,
  NewControlRequest,
} from '../control.ts';
import type { ChangeNotifier } from './change-notifier.ts';
import type { GroupCommit } from './commit.ts';
import { withFileErrors } from './database.ts';

/** Interval at which the owner checks for requests, in addition to notifications. */
const POLL_MS = 250;

const INSERT = 'INSERT INTO control (id, run_id, kind, payload, created_ms) VALUES (?, ?, ?, ?, ?)';
const SETTLE = 'UPDATE control SET outcome = ? WHERE id = ?';
const PRUNE = 'DELETE FROM control WHERE outcome IS NOT NULL AND created_ms < ?';
const OPEN_REQUESTS = `SELECT id, run_id AS runId, kind, payload, created_ms AS createdMs FROM control
  WHERE outcome IS NULL ORDER BY position`;

/** A connection that can write. */
export interface WriteConnection {
  db: DatabaseSync;
  commit: GroupCommit;
}

export interface SqliteControlParts {
  file: string;
  db: DatabaseSync;
  /** Called for each write, because a reader opens its write connection at the first write. */
  writer: () => WriteConnection;
  notifier: ChangeNotifier;
  clock: Clock;
  /** Receives I/O errors of work that no caller waits for. */
  onError: (error: unknown) => void;
}

/** Control requests in the data file, from any process to the owner. */
export class SqliteControlStore implements ControlStore {
  readonly #parts: SqliteControlParts;
  /** The check of each server of this process. */
  readonly #checks = new Set<(force: boolean) => void>();
  readonly #stops = new Set<() => Promise<void>>();

  constructor(parts: SqliteControlParts) {
    this.#parts = parts;
  }

  async add(request: NewControlRequest): Promise<string> {
    const { id, runId, kind, payload, createdMs } = toControlRow(request, this.#parts.clock.now());
    await this.#write(INSERT, [id, runId, kind, payload, createdMs]);
    this.#parts.notifier.notify();
    for (const check of this.#checks) check(true);
    return id;
  }

  outcome(id: string): ControlOutcome | undefined {
    const { db, file } = this.#parts;
    const row = withFileErrors(file, () => db.prepare('SELECT outcome FROM control WHERE id = ?').get(id));
    return readOutcome(id, row?.['outcome']);
  }

  serve(handle: ControlHandler): () => Promise<void> {
    const { notifier, clock, onError } = this.#parts;
    const settle = (id: string, outcome: ControlOutcome): Promise<void> =>
      this.#write(SETTLE, [JSON.stringify(outcome), id]);
    const server = new ControlServer({ settle, onError, handle });
    const check = this.#createCheck(server);
    const poll = (): void => {
      check(false);
      cancelPoll = clock.at(clock.now() + POLL_MS, poll);
    };
    let cancelPoll = clock.at(clock.now() + POLL_MS, poll);
    const unwatch = notifier.watch(() => check(false));
    this.#checks.add(check);
    const stop = (): Promise<void> => {
      this.#checks.delete(check);
      this.#stops.delete(stop);
      cancelPoll();
      unwatch();
      return server.stop();
    };
    this.#stops.add(stop);
    check(true);
    return stop;
  }

  /** Stops all servers. Requests in progress whose outcome can no longer be stored are handled by the next owner. */
  close(): void {
    for (const stop of this.#stops) void stop();
  }

  /** Removes old outcomes. */
  prune(): Promise<void> {
    return this.#write(PRUNE, [this.#parts.clock.now() - OUTCOME_RETENTION_MS]);
  }

  /**
   * Returns a function that passes open requests to the server, if another connection has committed since the last call
   * or `force` is set.
   */
  #createCheck(server: ControlServer): (force: boolean) => void {
    const { db, file, onError } = this.#parts;
    const dataVersion = db.prepare('PRAGMA data_version');
    const readOpenRequests = this.#prepareOpenRequests();
    let checkedVersion: unknown;
    return (force) => {
      try {
        const version = withFileErrors(file, () => dataVersion.get()?.['data_version']);
        if (version === checkedVersion && !force && !server.hasUnsavedOutcomes) return;
        server.check(readOpenRequests());
        checkedVersion = version;
      } catch (error) {
        // After an I/O error `checkedVersion` is unchanged, so the next call tries again.
        if (!isEngineError(error)) throw error;
        onError(error);
      }
    };
  }

  #prepareOpenRequests(): () => ControlRequest[] {
    const { db, file } = this.#parts;
    const statement = db.prepare(OPEN_REQUESTS);
    return () => (withFileErrors(file, () => statement.all()) as unknown as ControlRow[]).map(readControlRow);
  }

  async #write(sql: string, values: (string | number)[]): Promise<void> {
    const { db, commit } = this.#parts.writer();
    await commit.run(() => {
      db.prepare(sql).run(...values);
    });
  }
}
