import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { BlockLog, Entry, NewRun, RunQuery, RunRecord } from '@heddle/core';
import { decodeCursor, encodeCursor, pageLimit } from '../cursor.ts';
import { entryTwice, journalCorrupt, parseStored, unknownRun } from '../faults.ts';
import { isEnded, readJournal, readTail, toRows } from '../journal.ts';
import type { JournalRow } from '../journal.ts';
import type { LocalRunStore } from '../stores.ts';
import type { GroupCommit } from './commit.ts';
import { explained } from './database.ts';
import { FOREIGN_KEY, NOT_NULL, sqliteCode, UNIQUE } from './failure.ts';

/** The number of the run that the first parameter names; null, which no table takes, for an unknown one. */
const RUN = '(SELECT number FROM runs WHERE run_id = ?)';

function prepare(db: DatabaseSync) {
  return {
    create: db.prepare('INSERT OR IGNORE INTO runs (run_id, created_ms, header) VALUES (?, ?, ?)'),
    header: db.prepare('SELECT header FROM runs WHERE run_id = ?'),
    open: db.prepare('SELECT run_id FROM runs WHERE ended = 0 ORDER BY created_ms, run_id'),
    end: db.prepare('UPDATE runs SET ended = ? WHERE run_id = ? AND ended <> ?'),
    append: db.prepare(`INSERT INTO journal (run, seq, entry) VALUES (${RUN}, ?, ?)`),
    upsert: db.prepare(
      `INSERT INTO journal (run, seq, entry) VALUES (${RUN}, ?, ?) ON CONFLICT (run, seq) DO NOTHING`,
    ),
    journal: db.prepare(`SELECT seq, entry FROM journal WHERE run = ${RUN} AND seq > ? ORDER BY seq`),
    record: db.prepare('SELECT record FROM records WHERE run_id = ?'),
    saveRecord: db.prepare(`
      INSERT INTO records (run_id, workflow_id, status, created_ms, seq, record) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (run_id) DO UPDATE SET workflow_id = excluded.workflow_id, status = excluded.status,
        created_ms = excluded.created_ms, seq = excluded.seq, record = excluded.record
        WHERE records.seq <= excluded.seq`),
    logs: db.prepare(`SELECT log FROM logs WHERE run = ${RUN} ORDER BY execution_order`),
    saveLog: db.prepare(`
      INSERT INTO logs (run, execution_order, log) VALUES (${RUN}, ?, ?)
      ON CONFLICT (run, execution_order) DO UPDATE SET log = excluded.log`),
  };
}

/** Runs in the data file. Reads answer at once; writes are committed with those of the same turn. */
export class SqliteRunStore implements LocalRunStore {
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #commit: GroupCommit;
  readonly #sql: ReturnType<typeof prepare>;

  constructor(db: DatabaseSync, file: string, commit: GroupCommit) {
    this.#db = db;
    this.#file = file;
    this.#commit = commit;
    this.#sql = prepare(db);
  }

  create(run: NewRun, first: Entry): Promise<boolean> {
    const header = JSON.stringify(run);
    const entry = JSON.stringify(first);
    return this.#commit.run(() => {
      const created = this.#sql.create.run(run.runId, run.createdMs, header).changes === 1;
      if (created) this.#sql.append.run(run.runId, first.seq, entry);
      return created;
    });
  }

  append(runId: string, entries: readonly Entry[]): Promise<void> {
    return this.#insert(this.#sql.append, runId, entries);
  }

  upsert(runId: string, entries: readonly Entry[]): Promise<void> {
    return this.#insert(this.#sql.upsert, runId, entries);
  }

  journal(runId: string): Entry[] {
    return readJournal(runId, this.#rows(runId, -1));
  }

  tail(runId: string, afterSeq: number): Entry[] {
    const rows = this.#rows(runId, afterSeq);
    return afterSeq < 0 ? readJournal(runId, rows) : readTail(runId, rows, afterSeq);
  }

  header(runId: string): NewRun | undefined {
    const row = this.#read(() => this.#sql.header.get(runId));
    return row && parseStored(row['header'] as string, `header of run "${runId}"`);
  }

  saveRecord(record: RunRecord, logs: readonly BlockLog[]): Promise<void> {
    const { runId, workflowId, status, createdMs, seq } = record;
    const text = JSON.stringify(record);
    const rows = logs.map((log) => [log.executionOrder, JSON.stringify(log)] as const);
    const ended = isEnded(status) ? 1 : 0;
    return this.#commit.run(
      () => {
        const saved = this.#sql.saveRecord.run(runId, workflowId, status, createdMs, seq, text);
        if (saved.changes === 0) return;
        this.#sql.end.run(ended, runId, ended);
        for (const [order, log] of rows) this.#sql.saveLog.run(runId, order, log);
      },
      (error) => refusal(error, runId),
    );
  }

  record(runId: string): RunRecord | undefined {
    const row = this.#read(() => this.#sql.record.get(runId));
    return row && parseStored(row['record'] as string, `record of run "${runId}"`);
  }

  logs(runId: string): BlockLog[] {
    const rows = this.#read(() => this.#sql.logs.all(runId));
    return rows.map((row) => parseStored(row['log'] as string, `log of run "${runId}"`));
  }

  list(query: RunQuery): { runs: RunRecord[]; cursor: string | undefined } {
    const limit = pageLimit(query);
    const { where, values } = filters(query);
    const rows = this.#read(() =>
      this.#db
        .prepare(
          `SELECT run_id, created_ms, record FROM records ${where} ORDER BY created_ms DESC, run_id DESC LIMIT ?`,
        )
        .all(...values, limit + 1),
    ) as { run_id: string; created_ms: number; record: string }[];
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return {
      runs: rows.slice(0, limit).map((row) => parseStored(row.record, `record of run "${row.run_id}"`)),
      cursor: last && encodeCursor({ createdMs: last.created_ms, runId: last.run_id }),
    };
  }

  open(): string[] {
    return this.#read(() => this.#sql.open.all()).map((row) => row['run_id'] as string);
  }

  #insert(statement: StatementSync, runId: string, entries: readonly Entry[]): Promise<void> {
    const rows = toRows(entries);
    return this.#commit.run(
      () => {
        for (const row of rows) statement.run(runId, row.seq, row.entry);
      },
      (error) => refusal(error, runId),
    );
  }

  #rows(runId: string, afterSeq: number): JournalRow[] {
    const rows = this.#read(() => this.#sql.journal.all(runId, afterSeq)) as unknown as JournalRow[];
    // Created with its first entry, so a run without entries has lost them.
    if (rows.length === 0 && afterSeq < 0 && this.#read(() => this.#sql.header.get(runId))) {
      throw journalCorrupt(runId, 'it has no entries');
    }
    return rows;
  }

  #read<T>(read: () => T): T {
    return explained(this.#file, read);
  }
}

function filters(query: RunQuery): { where: string; values: SQLInputValue[] } {
  const after = decodeCursor(query);
  const parts: string[] = [];
  const values: SQLInputValue[] = [];
  if (query.workflowId !== undefined) {
    parts.push('workflow_id = ?');
    values.push(query.workflowId);
  }
  if (query.status) {
    parts.push(`status IN (${query.status.map(() => '?').join(', ')})`);
    values.push(...query.status);
  }
  if (after) {
    parts.push('(created_ms, run_id) < (?, ?)');
    values.push(after.createdMs, after.runId);
  }
  return { where: parts.length === 0 ? '' : `WHERE ${parts.join(' AND ')}`, values };
}

function refusal(error: unknown, runId: string): unknown {
  const code = sqliteCode(error);
  if (code === FOREIGN_KEY || code === NOT_NULL) return unknownRun(runId);
  return code === UNIQUE ? entryTwice(runId) : error;
}
