import type { BlockLog, Entry, RunHeader, RunQuery, RunRecord } from '@heddle/core';
import { journalCorruptError } from '@heddle/core/run';
import type { Place, StoredValue } from '@heddle/core/run';
import { sql } from 'kysely';
import { decodeCursor, encodeCursor, pageLimit } from '../cursor.ts';
import { duplicateEntryError, parseStoredJson, unknownRunError } from '../errors.ts';
import { readJournal, readTail, toJournalRows } from '../journal.ts';
import type { JournalRow } from '../journal.ts';
import { stepPlace } from '../step-place.ts';
import { isStorable } from '../stores.ts';
import type { RecordWithLogs, RunProjection, StoredStep, TailableRunStore } from '../stores.ts';
import type { Database } from './database.ts';
import { NOT_NULL_VIOLATION, sqlState, UNIQUE_VIOLATION } from './errors.ts';
import {
  addLogsQuery,
  insertEntriesQuery,
  insertRunQuery,
  recordColumnsOf,
  rowOf,
  runNumberQuery,
  saveRunQuery,
} from './run-queries.ts';

/** Runs in PostgreSQL. Each write is one statement and therefore atomic. */
export class PostgresRunStore implements TailableRunStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async create(header: RunHeader, firstEntry: Entry, record?: RunRecord): Promise<boolean> {
    const query = insertRunQuery(this.#database.queryBuilder, rowOf(header, record), firstEntry);
    return (await this.#database.run(query)).changedRowCount === 1;
  }

  async append(runId: string, entries: readonly Entry[], projection?: RunProjection): Promise<void> {
    const { queryBuilder } = this.#database;
    const insertQuery = insertEntriesQuery(queryBuilder, runId, toJournalRows(entries));
    const query = projection
      ? saveRunQuery(
          queryBuilder.with('written', () => insertQuery),
          projection.record,
          projection.logs,
        )
      : insertQuery;
    await this.#database.run<unknown>(query, (error) => translateError(error, runId));
  }

  async upsert(runId: string, entries: readonly Entry[]): Promise<void> {
    // Sorted, so that two writers of the same entries cannot deadlock; unique, since one statement may change a row
    // only once.
    const rowsBySeq = new Map(toJournalRows(entries).map((row) => [row.seq, row]));
    const rows = [...rowsBySeq.values()].toSorted((a, b) => a.seq - b.seq);
    const insertQuery = insertEntriesQuery(this.#database.queryBuilder, runId, rows).onConflict((conflict) =>
      conflict
        .columns(['run', 'seq'])
        .doUpdateSet((eb) => ({ entry: eb.ref('excluded.entry') }))
        .whereRef('journal.entry', '!=', 'excluded.entry'),
    );
    await this.#database.run(insertQuery, (error) => translateError(error, runId));
  }

  async journal(runId: string): Promise<Entry[]> {
    return readJournal(runId, await this.#journalRows(runId, -1));
  }

  async tail(runId: string, afterSeq: number): Promise<Entry[]> {
    const rows = await this.#journalRows(runId, afterSeq);
    return afterSeq < 0 ? readJournal(runId, rows) : readTail(runId, rows, afterSeq);
  }

  async header(runId: string): Promise<RunHeader | undefined> {
    if (!isStorable(runId)) return undefined;
    const query = this.#database.queryBuilder.selectFrom('runs').select('header').where('run_id', '=', runId);
    const [row] = (await this.#database.run(query)).rows;
    return row && parseStoredJson(row.header, `header of run "${runId}"`);
  }

  async saveRecord(record: RunRecord, logs: readonly BlockLog[]): Promise<boolean> {
    const [row] = (await this.#database.run(saveRunQuery(this.#database.queryBuilder, record, logs))).rows;
    if (!row) throw unknownRunError(record.runId);
    return Boolean(row.saved);
  }

  async truncate(record: RunRecord, logs: readonly BlockLog[]): Promise<void> {
    const { runId, seq } = record;
    const lastOrder = Math.max(0, ...logs.map(({ executionOrder }) => executionOrder));
    const query = this.#database.queryBuilder
      .with('saved', (db) =>
        db.updateTable('runs').set(recordColumnsOf(record)).where('run_id', '=', runId).returning('number'),
      )
      .with('removed', (db) =>
        db.deleteFrom('journal').using('saved').whereRef('run', '=', 'saved.number').where('seq', '>', seq),
      )
      .with('dropped', (db) =>
        db
          .deleteFrom('logs')
          .using('saved')
          .whereRef('run', '=', 'saved.number')
          .where('execution_order', '>', lastOrder),
      )
      .with('added', (db) => addLogsQuery(db, logs))
      .selectFrom('saved')
      .select('number');
    if ((await this.#database.run(query)).rows.length === 0) throw unknownRunError(runId);
  }

  async addValueUses(runId: string, keys: readonly string[]): Promise<void> {
    const numberQuery = runNumberQuery(this.#database.queryBuilder, runId);
    const insertQuery = this.#database.queryBuilder
      .insertInto('value_uses')
      .values(keys.map((key) => ({ key, run: sql<number>`${numberQuery}` })))
      .onConflict((conflict) => conflict.doNothing());
    await this.#database.run(insertQuery, (error) => translateError(error, runId));
  }

  async record(runId: string): Promise<RunRecord | undefined> {
    if (!isStorable(runId)) return undefined;
    const query = this.#database.queryBuilder.selectFrom('runs').select('record').where('run_id', '=', runId);
    const text = (await this.#database.run(query)).rows[0]?.record;
    return text == null ? undefined : parseStoredJson(text, `record of run "${runId}"`);
  }

  async lastLogOrder(runId: string): Promise<number> {
    if (!isStorable(runId)) return 0;
    const query = this.#database.queryBuilder
      .selectFrom('logs')
      .select('execution_order')
      .where('run', '=', runNumberQuery(this.#database.queryBuilder, runId))
      .orderBy('execution_order', 'desc')
      .limit(1);
    return (await this.#database.run(query)).rows[0]?.execution_order ?? 0;
  }

  async logs(runId: string): Promise<BlockLog[]> {
    const query = this.#database.queryBuilder
      .selectFrom('logs')
      .select('log')
      .where('run', '=', runNumberQuery(this.#database.queryBuilder, runId))
      .orderBy('execution_order');
    const { rows } = await this.#database.run(query);
    return rows.map(({ log }) => parseStoredJson(log, `log of run "${runId}"`));
  }

  async recordWithLogs(runId: string): Promise<RecordWithLogs | undefined> {
    if (!isStorable(runId)) return undefined;
    // One statement reads a consistent state: other processes write between two statements.
    const query = this.#database.queryBuilder
      .selectFrom('runs')
      .select(['record as text', sql<number>`-1`.as('execution_order')])
      .where('run_id', '=', runId)
      .where('record', 'is not', null)
      .unionAll((db) =>
        db
          .selectFrom('runs')
          .innerJoin('logs', 'logs.run', 'runs.number')
          .select(['log as text', 'execution_order'])
          .where('run_id', '=', runId)
          .where('record', 'is not', null),
      )
      .orderBy('execution_order');
    const [recordRow, ...logRows] = (await this.#database.run(query)).rows;
    return (
      recordRow && {
        record: parseStoredJson(recordRow.text as string, `record of run "${runId}"`),
        logs: logRows.map(({ text }) => parseStoredJson(text as string, `log of run "${runId}"`)),
      }
    );
  }

  async list(query: RunQuery): Promise<{ runs: RunRecord[]; cursor: string | undefined }> {
    const limit = pageLimit(query);
    const { rows } = await this.#database.run(this.#pageQuery(query, limit + 1));
    const lastRow = rows.length > limit ? rows[limit - 1] : undefined;
    return {
      runs: rows.slice(0, limit).map((row) => parseStoredJson(row.record, `record of run "${row.run_id}"`)),
      cursor: lastRow && encodeCursor({ createdMs: lastRow.created_ms, runId: lastRow.run_id }),
    };
  }

  async unfinishedRunIds(): Promise<string[]> {
    const query = this.#database.queryBuilder
      .selectFrom('runs')
      .select('run_id')
      .where('ended', '=', sql.lit(false))
      .orderBy('created_ms')
      .orderBy('run_id');
    return (await this.#database.run(query)).rows.map((row) => row.run_id);
  }

  async childRunIds(runId: string, { open } = { open: false }): Promise<string[]> {
    const childrenQuery = this.#database.queryBuilder
      .selectFrom('runs')
      .select('run_id')
      .where('parent', '=', runId)
      .orderBy('number');
    const query = open ? childrenQuery.where('ended', '=', false) : childrenQuery;
    return (await this.#database.run(query)).rows.map((row) => row.run_id);
  }

  async remove(runId: string): Promise<string[] | undefined> {
    const query = this.#database.queryBuilder
      .with('deleted', (db) =>
        db
          .deleteFrom('runs')
          .where('run_id', '=', runId)
          .where('ended', '=', sql.lit(true))
          .returning('number'),
      )
      .with('entries', (db) =>
        db.deleteFrom('journal').using('deleted').whereRef('run', '=', 'deleted.number'),
      )
      .with('steps_removed', (db) =>
        db.deleteFrom('steps').using('deleted').whereRef('run', '=', 'deleted.number'),
      )
      .with('logs_removed', (db) =>
        db.deleteFrom('logs').using('deleted').whereRef('run', '=', 'deleted.number'),
      )
      .with('used', (db) =>
        db.deleteFrom('value_uses').using('deleted').whereRef('run', '=', 'deleted.number').returning('key'),
      )
      .selectFrom('deleted')
      .select((eb) => sql<string[]>`array(${eb.selectFrom('used').select('used.key')})`.as('keys'));
    return (await this.#database.run(query)).rows[0]?.keys;
  }

  async steps(runId: string, place: Place): Promise<StoredStep[]> {
    const { rows } = await this.#database.run(
      this.#stepsQuery(runId, place).select(['key', 'result']).orderBy('key'),
    );
    return rows.map(({ key, result }) => ({ key, result: parseResult(result, runId) }));
  }

  async beginStep(runId: string, place: Place, key: string): Promise<StoredStep | undefined> {
    const insertQuery = this.#insertStepQuery(runId, place, key, null).onConflict((conflict) =>
      conflict.columns(['run', 'place', 'key']).doNothing(),
    );
    const { changedRowCount } = await this.#database.run(insertQuery, (error) =>
      translateError(error, runId),
    );
    return changedRowCount === 1 ? undefined : { key, result: await this.#stepResult(runId, place, key) };
  }

  async endStep(runId: string, place: Place, key: string, result: StoredValue): Promise<StoredValue> {
    const insertQuery = this.#insertStepQuery(runId, place, key, JSON.stringify(result)).onConflict(
      (conflict) =>
        conflict
          .columns(['run', 'place', 'key'])
          .doUpdateSet((eb) => ({ result: eb.ref('excluded.result') }))
          .where('steps.result', 'is', null),
    );
    const { changedRowCount } = await this.#database.run(insertQuery, (error) =>
      translateError(error, runId),
    );
    return changedRowCount === 1 ? result : ((await this.#stepResult(runId, place, key)) ?? result);
  }

  async forgetStep(runId: string, place: Place, key: string): Promise<void> {
    const query = this.#database.queryBuilder
      .deleteFrom('steps')
      .where('run', '=', runNumberQuery(this.#database.queryBuilder, runId))
      .where('place', '=', stepPlace(place))
      .where('key', '=', key)
      .where('result', 'is', null);
    await this.#database.run(query);
  }

  #stepsQuery(runId: string, place: Place) {
    return this.#database.queryBuilder
      .selectFrom('steps')
      .where('run', '=', runNumberQuery(this.#database.queryBuilder, runId))
      .where('place', '=', stepPlace(place));
  }

  async #stepResult(runId: string, place: Place, key: string): Promise<StoredValue | undefined> {
    const query = this.#stepsQuery(runId, place).select('result').where('key', '=', key);
    return parseResult((await this.#database.run(query)).rows[0]?.result ?? null, runId);
  }

  #insertStepQuery(runId: string, place: Place, key: string, result: string | null) {
    const numberQuery = runNumberQuery(this.#database.queryBuilder, runId);
    return this.#database.queryBuilder
      .insertInto('steps')
      .values({ run: sql<number>`${numberQuery}`, place: stepPlace(place), key, result });
  }

  #pageQuery({ workflowId, status, fromMs, toMs, order = 'desc', ...query }: RunQuery, maxRows: number) {
    const cursor = decodeCursor(query);
    const comparison = sql.raw(order === 'asc' ? '>' : '<');
    return this.#database.queryBuilder
      .selectFrom('runs')
      .select(['run_id', 'created_ms', 'record'])
      .where('status', 'is not', null)
      .$narrowType<{ record: string }>()
      .$if(workflowId !== undefined, (qb) => qb.where('workflow_id', '=', workflowId as string))
      .$if(status !== undefined, (qb) => qb.where(sql<boolean>`status = any(${status}::text[])`))
      .$if(fromMs !== undefined, (qb) => qb.where('created_ms', '>=', fromMs as number))
      .$if(toMs !== undefined, (qb) => qb.where('created_ms', '<=', toMs as number))
      .$if(cursor !== undefined, (qb) =>
        qb.where(
          sql<boolean>`(created_ms, run_id) ${comparison} (${cursor?.createdMs}::bigint, ${cursor?.runId}::text)`,
        ),
      )
      .orderBy('created_ms', order)
      .orderBy('run_id', order)
      .limit(maxRows);
  }

  async #journalRows(runId: string, afterSeq: number): Promise<JournalRow[]> {
    const query = this.#database.queryBuilder
      .selectFrom('journal')
      .select(['seq', 'entry'])
      .where('run', '=', runNumberQuery(this.#database.queryBuilder, runId))
      .where('seq', '>', afterSeq)
      .orderBy('seq');
    const { rows } = await this.#database.run(query);
    // A run is created with its first entry, so a run without entries has lost them.
    if (rows.length === 0 && afterSeq < 0 && (await this.header(runId))) {
      throw journalCorruptError(runId, 'it has no entries');
    }
    return rows;
  }
}

function translateError(error: unknown, runId: string): unknown {
  const state = sqlState(error);
  if (state === NOT_NULL_VIOLATION) return unknownRunError(runId);
  return state === UNIQUE_VIOLATION ? duplicateEntryError(runId) : error;
}

function parseResult(text: string | null, runId: string): StoredValue | undefined {
  return text === null ? undefined : parseStoredJson<StoredValue>(text, `step of run "${runId}"`);
}
