import type { BlockLog, Entry, RunRecord } from '@heddle/core';
import type { Compilable } from 'kysely';
import { duplicateEntryError } from '../errors.ts';
import { toJournalRows } from '../journal.ts';
import { runHeldByAnother } from '../leases.ts';
import type { Lease } from '../leases.ts';
import type { RunProjection } from '../stores.ts';
import type { Database } from './database.ts';
import { sqlState, UNIQUE_VIOLATION } from './errors.ts';
import { addEntriesQuery, addLogsQuery, lockLeasedRunQuery, saveLeasedRunQuery } from './run-queries.ts';
import { PostgresRunStore } from './runs.ts';

/**
 * The run store for the holder of a lease.
 *
 * Each write first locks the row of the run, if the lease is still valid. A process that takes over the run updates the
 * same row, so the two are serialized, and a write after a takeover finds no valid lease and changes nothing.
 *
 * Writes are made one at a time, in the order of the calls. On several connections, a record could be written before an
 * earlier one, which would then be rejected together with its logs.
 */
export class LeasedRunStore extends PostgresRunStore {
  readonly #database: Database;
  readonly #lease: Lease;
  #lastWrite: Promise<unknown> = Promise.resolve();

  constructor(database: Database, lease: Lease) {
    super(database);
    this.#database = database;
    this.#lease = lease;
  }

  /** Writes the entries, the record and the logs in one statement. */
  override async append(
    _runId: string,
    entries: readonly Entry[],
    projection?: RunProjection,
  ): Promise<void> {
    const rows = toJournalRows(entries);
    const leaseQuery = this.#database.queryBuilder.with('leased', (db) =>
      lockLeasedRunQuery(db, this.#lease),
    );
    const insertQuery = leaseQuery.with('written', (db) => addEntriesQuery(db, rows));
    const query = projection
      ? insertQuery
          .with('saved', (db) => saveLeasedRunQuery(db, projection.record))
          .with('added', (db) => addLogsQuery(db, projection.logs))
          .selectFrom('leased')
          .select('number')
      : insertQuery.selectFrom('leased').select('number');
    await this.#write(query);
  }

  override async saveRecord(record: RunRecord, logs: readonly BlockLog[]): Promise<boolean> {
    const query = this.#database.queryBuilder
      .with('leased', (db) => lockLeasedRunQuery(db, this.#lease))
      .with('saved', (db) => saveLeasedRunQuery(db, record))
      .with('added', (db) => addLogsQuery(db, logs))
      .selectFrom('leased')
      .select((eb) => eb.exists(eb.selectFrom('saved').select('number')).as('saved'));
    return Boolean((await this.#write(query)).saved);
  }

  /** Throws RUN_ELSEWHERE if the lease is lost. */
  #write<Row>(query: Compilable<Row>): Promise<Row> {
    const write = this.#lastWrite.then(() => this.#writeNow(query));
    // The caller gets the error; the next write does not depend on this one.
    this.#lastWrite = write.catch(() => undefined);
    return write;
  }

  async #writeNow<Row>(query: Compilable<Row>): Promise<Row> {
    const { runId } = this.#lease;
    const translate = (error: unknown): unknown =>
      sqlState(error) === UNIQUE_VIOLATION ? duplicateEntryError(runId) : error;
    const [row] = (await this.#database.run(query, translate)).rows;
    if (!row) throw runHeldByAnother(runId);
    return row;
  }
}
