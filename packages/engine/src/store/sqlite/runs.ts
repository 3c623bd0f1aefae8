import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { BlockLog, Entry, RunHeader, RunQuery, RunRecord } from '@heddle/core';
import { journalCorruptError } from '@heddle/core/run';
import type { Place, StoredValue } from '@heddle/core/run';
import { decodeCursor, encodeCursor, pageLimit } from '../cursor.ts';
import { parseStoredJson, unknownRunError } from '../errors.ts';
import { isEnded, readJournal, readTail, toJournalRow, toJournalRows } from '../journal.ts';
import type { JournalRow } from '../journal.ts';
import type { RecordWithLogs, RunProjection, StoredStep, TailableRunStore } from '../stores.ts';
import type { GroupCommit } from './commit.ts';
import { withFileErrors } from './database.ts';
import { SqliteJournals } from './journals.ts';
import { parseLogs, SqliteLogs } from './logs.ts';
import { SqliteSteps } from './steps.ts';

function prepare(db: DatabaseSync) {
  return {
    create: db.prepare(`
      INSERT OR IGNORE INTO runs (run_id, workflow_id, created_ms, status, ended, seq, record, header, parent)
      VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?)`),
    header: db.prepare('SELECT header FROM runs WHERE run_id = ?'),
    openRuns: db.prepare('SELECT run_id FROM runs WHERE ended = 0 ORDER BY created_ms, run_id'),
    record: db.prepare('SELECT record FROM runs WHERE run_id = ? AND record IS NOT NULL'),
    // One statement reads a consistent state: other processes write between two statements.
    recordWithLogs: db.prepare(`
      SELECT record AS text, -1 AS part FROM runs WHERE run_id = ?1 AND record IS NOT NULL
      UNION ALL
      SELECT logs, part FROM runs JOIN logs ON run = number WHERE run_id = ?1 AND record IS NOT NULL ORDER BY part`),
    saveRecord: db.prepare(`
      UPDATE runs SET status = ?, ended = ?, seq = ?, record = ? WHERE run_id = ? AND seq <= ? RETURNING number`),
    children: db.prepare('SELECT run_id FROM runs WHERE parent = ? ORDER BY number'),
    openChildren: db.prepare('SELECT run_id FROM runs WHERE parent = ? AND ended = 0 ORDER BY number'),
    remove: db.prepare('DELETE FROM runs WHERE run_id = ? AND ended = 1 RETURNING number'),
  };
}

/**
 * Runs in the data file. Reads are synchronous; writes are committed together with the other writes of the same event
 * loop turn.
 */
export class SqliteRunStore implements TailableRunStore {
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #commit: GroupCommit;
  readonly #statements: ReturnType<typeof prepare>;
  readonly #journals: SqliteJournals;
  readonly #logs: SqliteLogs;
  readonly #steps: SqliteSteps;

  constructor(db: DatabaseSync, file: string, commit: GroupCommit) {
    this.#db = db;
    this.#file = file;
    this.#commit = commit;
    this.#statements = prepare(db);
    this.#journals = new SqliteJournals(db);
    this.#logs = new SqliteLogs(db);
    this.#steps = new SqliteSteps(db);
    commit.onRollback(() => this.#journals.resetCache());
  }

  create(header: RunHeader, firstEntry: Entry, record?: RunRecord): Promise<boolean> {
    const { runId, workflowId, createdMs } = header;
    const { status = 'running', seq = 0 } = record ?? {};
    const columnValues = [
      record ? JSON.stringify(record) : null,
      JSON.stringify(header),
      header.parent?.runId ?? null,
    ];
    const row = toJournalRow(firstEntry);
    return this.#commit.run(() => {
      const insertResult = this.#statements.create.run(
        runId,
        workflowId,
        createdMs,
        status,
        seq,
        ...columnValues,
      );
      if (insertResult.changes === 1) this.#journals.begin(runId, Number(insertResult.lastInsertRowid), row);
      return insertResult.changes === 1;
    });
  }

  append(runId: string, entries: readonly Entry[], projection?: RunProjection): Promise<void> {
    const rows = toJournalRows(entries);
    const save = projection && this.#prepareSave(projection);
    return this.#commit.run(() => {
      this.#journals.append(runId, rows);
      save?.();
    });
  }

  upsert(runId: string, entries: readonly Entry[]): Promise<void> {
    const rows = toJournalRows(entries);
    return this.#commit.run(() => this.#journals.upsert(runId, rows));
  }

  journal(runId: string): Entry[] {
    return readJournal(runId, this.#journalRows(runId, -1));
  }

  tail(runId: string, afterSeq: number): Entry[] {
    const rows = this.#journalRows(runId, afterSeq);
    return afterSeq < 0 ? readJournal(runId, rows) : readTail(runId, rows, afterSeq);
  }

  header(runId: string): RunHeader | undefined {
    const row = this.#read(() => this.#statements.header.get(runId));
    return row && parseStoredJson(row['header'] as string, `header of run "${runId}"`);
  }

  saveRecord(record: RunRecord, logs: readonly BlockLog[]): Promise<boolean> {
    return this.#commit.run(this.#prepareSave({ record, logs }));
  }

  /**
   * Returns a function that saves the record and the logs, unless the stored record is newer. It must be called in a
   * transaction.
   */
  #prepareSave({ record, logs }: RunProjection): () => boolean {
    const { runId, status, seq } = record;
    const ended = isEnded(status) ? 1 : 0;
    const recordJson = JSON.stringify(record);
    return () => {
      const row = this.#statements.saveRecord.get(status, ended, seq, recordJson, runId, seq);
      if (row) this.#logs.save(row['number'] as number, logs);
      else if (!this.#statements.header.get(runId)) throw unknownRunError(runId);
      if (status !== 'running') this.#journals.stopAppending(runId);
      return row !== undefined;
    };
  }

  truncate(record: RunRecord, logs: readonly BlockLog[]): Promise<void> {
    const { runId, status, seq } = record;
    return this.#commit.run(() => {
      const ended = isEnded(status) ? 1 : 0;
      // Without a limit, so that even a newer record is replaced.
      const maxSeq = Number.MAX_SAFE_INTEGER;
      const row = this.#statements.saveRecord.get(status, ended, seq, JSON.stringify(record), runId, maxSeq);
      if (!row) throw unknownRunError(runId);
      const runNumber = row['number'] as number;
      this.#journals.truncate(runId, runNumber, seq);
      this.#logs.remove(runNumber);
      this.#logs.save(runNumber, logs);
    });
  }

  addValueUses(runId: string, keys: readonly string[]): Promise<void> {
    return this.#commit.run(() => this.#journals.addValueUses(runId, keys));
  }

  record(runId: string): RunRecord | undefined {
    const row = this.#read(() => this.#statements.record.get(runId));
    return row && parseStoredJson(row['record'] as string, `record of run "${runId}"`);
  }

  logs(runId: string): BlockLog[] {
    return this.#read(() => this.#logs.read(runId));
  }

  lastLogOrder(runId: string): number {
    return this.#read(() => this.#logs.lastExecutionOrder(runId));
  }

  recordWithLogs(runId: string): RecordWithLogs | undefined {
    return this.#read(() => {
      const [recordRow, ...logRows] = this.#statements.recordWithLogs.all(runId);
      return (
        recordRow && {
          record: parseStoredJson(recordRow['text'] as string, `record of run "${runId}"`),
          logs: logRows.flatMap((row) => parseLogs(row['text'], `run "${runId}"`)),
        }
      );
    });
  }

  list(query: RunQuery): { runs: RunRecord[]; cursor: string | undefined } {
    const limit = pageLimit(query);
    const { where, values } = whereClause(query);
    const order = query.order === 'asc' ? 'ASC' : 'DESC';
    const rows = this.#read(() =>
      this.#db
        .prepare(
          `SELECT run_id, created_ms, record FROM runs ${where} ORDER BY created_ms ${order}, run_id ${order} LIMIT ?`,
        )
        .all(...values, limit + 1),
    ) as { run_id: string; created_ms: number; record: string }[];
    const lastRow = rows.length > limit ? rows[limit - 1] : undefined;
    return {
      runs: rows.slice(0, limit).map((row) => parseStoredJson(row.record, `record of run "${row.run_id}"`)),
      cursor: lastRow && encodeCursor({ createdMs: lastRow.created_ms, runId: lastRow.run_id }),
    };
  }

  unfinishedRunIds(): string[] {
    return this.#read(() => this.#statements.openRuns.all()).map((row) => row['run_id'] as string);
  }

  childRunIds(runId: string, { open } = { open: false }): string[] {
    const query = open ? this.#statements.openChildren : this.#statements.children;
    return this.#read(() => query.all(runId)).map((row) => row['run_id'] as string);
  }

  remove(runId: string): Promise<string[] | undefined> {
    return this.#commit.run(() => {
      const runNumber = this.#statements.remove.get(runId)?.['number'] as number | undefined;
      if (runNumber === undefined) return undefined;
      this.#logs.remove(runNumber);
      this.#steps.remove(runNumber);
      return this.#journals.remove(runId, runNumber);
    });
  }

  steps(runId: string, place: Place): StoredStep[] {
    return this.#read(() => this.#steps.read(runId, place));
  }

  beginStep(runId: string, place: Place, key: string): Promise<StoredStep | undefined> {
    return this.#commit.run(() => this.#steps.begin(runId, place, key));
  }

  endStep(runId: string, place: Place, key: string, result: StoredValue): Promise<StoredValue> {
    return this.#commit.run(() => this.#steps.end(runId, place, key, result));
  }

  forgetStep(runId: string, place: Place, key: string): Promise<void> {
    return this.#commit.run(() => this.#steps.forget(runId, place, key));
  }

  #journalRows(runId: string, afterSeq: number): JournalRow[] {
    const rows = this.#read(() => this.#journals.rows(runId, afterSeq));
    // A run is created with its first entry, so a run without entries has lost them.
    if (rows.length === 0 && afterSeq < 0 && this.#read(() => this.#statements.header.get(runId))) {
      throw journalCorruptError(runId, 'it has no entries');
    }
    return rows;
  }

  #read<T>(read: () => T): T {
    return withFileErrors(this.#file, read);
  }
}

function whereClause(query: RunQuery): { where: string; values: SQLInputValue[] } {
  const cursor = decodeCursor(query);
  const conditions = ['record IS NOT NULL'];
  const values: SQLInputValue[] = [];
  if (query.workflowId !== undefined) {
    conditions.push('workflow_id = ?');
    values.push(query.workflowId);
  }
  if (query.status) {
    conditions.push(`status IN (${query.status.map(() => '?').join(', ')})`);
    values.push(...query.status);
  }
  if (query.fromMs !== undefined) {
    conditions.push('created_ms >= ?');
    values.push(query.fromMs);
  }
  if (query.toMs !== undefined) {
    conditions.push('created_ms <= ?');
    values.push(query.toMs);
  }
  if (cursor) {
    conditions.push(`(created_ms, run_id) ${query.order === 'asc' ? '>' : '<'} (?, ?)`);
    values.push(cursor.createdMs, cursor.runId);
  }
  return { where: `WHERE ${conditions.join(' AND ')}`, values };
}
