import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { isEngineError } from '@heddle/core';
import type { Clock, Json } from '@heddle/core';
import { ControlServer } from '../control.ts';
import type {
  NewControlRequest,
  ControlHandler,
  ControlKind,
  ControlOutcome,
  ControlRequest,
  ControlStore,
} from '../control.ts';
import { parseStored } from '../errors.ts';
import type { GroupCommit } from './commit.ts';
import { withFileErrors } from './database.ts';
import type { ChangeNotifier } from './change-notifier.ts';

const POLL_MS = 250;
/** Requesters have long read an outcome that is this old. */
const OUTCOME_KEPT_MS = 24 * 60 * 60 * 1000;

const INSERT = 'INSERT INTO control (id, run_id, kind, payload, created_ms) VALUES (?, ?, ?, ?, ?)';
const SETTLE = 'UPDATE control SET outcome = ? WHERE id = ?';
const PRUNE = 'DELETE FROM control WHERE outcome IS NOT NULL AND created_ms < ?';
const OPEN = `SELECT id, run_id AS runId, kind, payload, created_ms AS createdMs FROM control
  WHERE outcome IS NULL ORDER BY position`;

interface OpenRow {
  id: string;
  runId: string;
  kind: ControlKind;
  payload: string;
  createdMs: number;
}

/** A connection that writes. */
export interface Writer {
  db: DatabaseSync;
  commit: GroupCommit;
}

/** What a control store works with; `writer` is asked for when the first request is made. */
export interface ControlPlace {
  file: string;
  db: DatabaseSync;
  writer: () => Writer;
  bell: ChangeNotifier;
  clock: Clock;
  /** Told of faults of the file that no caller waits for. */
  onError: (error: unknown) => void;
}

/** Requests in the data file, from any process to the one that serves. */
export class SqliteControlStore implements ControlStore {
  readonly #place: ControlPlace;
  readonly #looks = new Set<(anyway: boolean) => void>();
  readonly #stops = new Set<() => Promise<void>>();

  constructor(place: ControlPlace) {
    this.#place = place;
  }

  async add(ask: NewControlRequest): Promise<string> {
    const id = randomUUID();
    const createdMs = this.#place.clock.now();
    await this.#write(INSERT, [id, ask.runId, ask.kind, JSON.stringify(ask.payload), createdMs]);
    this.#place.bell.notify();
    for (const look of this.#looks) look(true);
    return id;
  }

  outcome(id: string): ControlOutcome | undefined {
    const { db, file } = this.#place;
    const row = withFileErrors(file, () => db.prepare('SELECT outcome FROM control WHERE id = ?').get(id));
    const text = row?.['outcome'];
    return typeof text === 'string' ? parseStored(text, `outcome of request "${id}"`) : undefined;
  }

  serve(handle: ControlHandler): () => Promise<void> {
    const { bell, clock } = this.#place;
    const settle = (id: string, outcome: ControlOutcome): Promise<void> =>
      this.#write(SETTLE, [JSON.stringify(outcome), id]);
    const service = new ControlServer({ open: this.#reader(), settle, onError: this.#place.onError }, handle);
    const look = this.#look(service);
    const poll = (): void => {
      look(false);
      cancelPoll = clock.at(clock.now() + POLL_MS, poll);
    };
    let cancelPoll = clock.at(clock.now() + POLL_MS, poll);
    const deafen = bell.watch(() => look(false));
    this.#looks.add(look);
    const stop = (): Promise<void> => {
      this.#looks.delete(look);
      this.#stops.delete(stop);
      cancelPoll();
      deafen();
      return service.stop();
    };
    this.#stops.add(stop);
    look(true);
    return stop;
  }

  /** Takes no more requests; those in hand that end too late for an outcome are left to the next owner. */
  close(): void {
    for (const stop of this.#stops) void stop();
  }

  /** Removes old outcomes. */
  prune(): Promise<void> {
    return this.#write(PRUNE, [this.#place.clock.now() - OUTCOME_KEPT_MS]);
  }

  /** Looks for requests if another connection has committed since the last look, or `anyway`. */
  #look(service: ControlServer): (anyway: boolean) => void {
    const { db, file, onError } = this.#place;
    const version = db.prepare('PRAGMA data_version');
    let seen: unknown;
    return (anyway) => {
      try {
        const now = withFileErrors(file, () => version.get()?.['data_version']);
        if (now === seen && !anyway && !service.behind) return;
        service.check();
        seen = now;
      } catch (error) {
        // A fault of the file: `seen` stays as it was, so the next look tries again.
        if (!isEngineError(error)) throw error;
        onError(error);
      }
    };
  }

  #reader(): () => ControlRequest[] {
    const { db, file } = this.#place;
    const open = db.prepare(OPEN);
    return () => {
      const rows = withFileErrors(file, () => open.all()) as unknown as OpenRow[];
      return rows.map((row) => ({ ...row, payload: parseStored<Json>(row.payload, `request "${row.id}"`) }));
    };
  }

  async #write(sql: string, values: (string | number)[]): Promise<void> {
    const { db, commit } = this.#place.writer();
    await commit.run(() => {
      db.prepare(sql).run(...values);
    });
  }
}
