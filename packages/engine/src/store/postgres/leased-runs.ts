import type { BlockLog, Entry, RunRecord } from '@heddle/core';
import type { Compilable } from 'kysely';
import { duplicateEntry } from '../errors.ts';
import { toRows } from '../journal.ts';
import { heldByOther } from '../leases.ts';
import type { Lease } from '../leases.ts';
import type { RunProjection } from '../stores.ts';
import type { Database } from './database.ts';
import { sqlState, UNIQUE } from './errors.ts';
import { addEntries, addLogs, lockLeasedRun, saveLeasedRun } from './run-queries.ts';
import { PostgresRunStore } from './runs.ts';

/**
 * Runs as the holder of one of them writes it.
 *
 * A write begins with the row of the run, which it locks where the lease still stands: whoever takes the run changes that
 * row, so one of the two comes first, and a write that comes second finds the lease gone and does nothing at all.
 *
 * Writes are done in the order of the calls, one at a time: on several connections a record could overtake the one before
 * it, whose logs would then be refused with it. They would wait for each other at the row anyway.
 */
export class LeasedRunStore extends PostgresRunStore {
  readonly #database: Database;
  readonly #lease: Lease;
  #last: Promise<unknown> = Promise.resolve();

  constructor(database: Database, lease: Lease) {
    super(database);
    this.#database = database;
    this.#lease = lease;
  }

  /** The entries and what is saved with them, in one statement. */
  override async append(_runId: string, entries: readonly Entry[], saved?: RunProjection): Promise<void> {
    const rows = toRows(entries);
    const held = this.#database.build.with('held', (db) => lockLeasedRun(db, this.#lease));
    const written = held.with('written', (db) => addEntries(db, rows));
    const query = saved
      ? written
          .with('saved', (db) => saveLeasedRun(db, saved.record))
          .with('added', (db) => addLogs(db, saved.logs))
          .selectFrom('held')
          .select('number')
      : written.selectFrom('held').select('number');
    await this.#write(query);
  }

  override async saveRecord(record: RunRecord, logs: readonly BlockLog[]): Promise<boolean> {
    const query = this.#database.build
      .with('held', (db) => lockLeasedRun(db, this.#lease))
      .with('saved', (db) => saveLeasedRun(db, record))
      .with('added', (db) => addLogs(db, logs))
      .selectFrom('held')
      .select((eb) => eb.exists(eb.selectFrom('saved').select('number')).as('saved'));
    return Boolean((await this.#write(query)).saved);
  }

  /** Throws RUN_ELSEWHERE where the lease has gone. */
  #write<Row>(query: Compilable<Row>): Promise<Row> {
    const writing = this.#last.then(() => this.#writeNow(query));
    // Whoever asked for it is told; the next write has a fate of its own.
    this.#last = writing.catch(() => undefined);
    return writing;
  }

  async #writeNow<Row>(query: Compilable<Row>): Promise<Row> {
    const { runId } = this.#lease;
    const twice = (error: unknown): unknown => (sqlState(error) === UNIQUE ? duplicateEntry(runId) : error);
    const [row] = (await this.#database.run(query, twice)).rows;
    if (!row) throw heldByOther(runId);
    return row;
  }
}
