import type { DatabaseSync } from 'node:sqlite';
import { duplicateEntry, unknownRun } from '../errors.ts';
import type { JournalRow } from '../journal.ts';
import { valueKeysIn } from '../value-key.ts';
import { MARK_SPAN } from './schema.ts';

/** A run whose journal grows, as it stands there. */
interface Growing {
  /** Number of the run. */
  run: number;
  lastSeq: number;
  /** Last position that its last mark stands for. */
  last: number;
}

/** The entry that stands last, of those that were looked for. */
interface Found extends Growing {
  position: number;
  entry: string;
}

/** The last mark of the run that the first parameter names, of those up to the entry that the second one names. */
const MARK = `
  SELECT run, first, last FROM runs JOIN journal_marks ON run = number
  WHERE run_id = ?1 AND journal_marks.seq <= ?2 ORDER BY journal_marks.seq DESC LIMIT 1`;

function prepare(db: DatabaseSync) {
  return {
    append: db.prepare('INSERT INTO journal (run, seq, entry) VALUES (?, ?, ?)'),
    mark: db.prepare('INSERT INTO journal_marks (run, seq, first, last) VALUES (?, ?, ?, ?)'),
    found: db.prepare(`
      SELECT journal.run, seq AS lastSeq, last, position, entry FROM (${MARK}) AS mark JOIN journal ON journal.run = mark.run
      WHERE position BETWEEN first AND last AND seq <= ?2 ORDER BY position DESC LIMIT 1`),
    replace: db.prepare('UPDATE journal SET entry = ? WHERE position = ?'),
    use: db.prepare('INSERT OR IGNORE INTO value_uses (key, run) VALUES (?, ?)'),
    used: db.prepare('DELETE FROM value_uses WHERE run = ? RETURNING key'),
    removeEntries: db.prepare(`
      DELETE FROM journal WHERE position IN (
        SELECT journal.position FROM journal_marks AS mark CROSS JOIN journal
          ON journal.run = mark.run AND position BETWEEN first AND last
        WHERE mark.run = ?)`),
    removeMarks: db.prepare('DELETE FROM journal_marks WHERE run = ?'),
    number: db.prepare('SELECT number FROM runs WHERE run_id = ?'),
    // CROSS JOIN: in this order, in which nothing needs sorting.
    rows: db.prepare(`
      SELECT journal.seq, entry FROM runs CROSS JOIN journal_marks AS mark ON mark.run = number CROSS JOIN journal
        ON journal.run = number AND position BETWEEN first AND last
      WHERE run_id = ?1 AND journal.seq > ?2 AND mark.seq >= coalesce((
        SELECT max(seq) FROM journal_marks WHERE run = number AND seq <= ?2 + 1), 0)
      ORDER BY mark.seq, position`),
  };
}

/** The journals in the data file. To be written to in a transaction. */
export class SqliteJournals {
  readonly #sql: ReturnType<typeof prepare>;
  /** Runs that this process appends to, and nobody else does: an entry is one insert and no search. */
  readonly #growing = new Map<string, Growing>();

  constructor(db: DatabaseSync) {
    this.#sql = prepare(db);
  }

  /** Begins the journal of a new run. */
  begin(runId: string, run: number, first: JournalRow): void {
    const growing = { run, lastSeq: -1, last: -1 };
    this.#growing.set(runId, growing);
    this.#add(growing, first, MARK_SPAN);
  }

  /** Throws RUN_NOT_FOUND; the InvariantError of an entry that is there already. */
  append(runId: string, rows: readonly JournalRow[]): void {
    let growing = this.#growing.get(runId);
    if (!growing) this.#growing.set(runId, (growing = this.#lastOf(runId)));
    for (const row of rows) {
      if (row.seq <= growing.lastSeq) throw duplicateEntry(runId);
      this.#add(growing, row, MARK_SPAN);
    }
  }

  /** Writes the rows, those that are new each with a mark of its own: they may come in any order. Throws RUN_NOT_FOUND. */
  upsert(runId: string, rows: readonly JournalRow[]): void {
    this.#growing.delete(runId);
    const run = this.#sql.number.get(runId)?.['number'] as number | undefined;
    if (run === undefined) throw unknownRun(runId);
    for (const row of rows) {
      const found = this.#sql.found.get(runId, row.seq) as Found | undefined;
      if (found?.lastSeq !== row.seq) this.#add({ run, lastSeq: -1, last: -1 }, row, 1);
      else if (found.entry !== row.entry) {
        this.#sql.replace.run(row.entry, found.position);
        this.#use(run, row.entry);
      }
    }
  }

  /** Removes the journal of a run, and returns the keys that its entries have named. */
  remove(runId: string, run: number): string[] {
    this.#growing.delete(runId);
    this.#sql.removeEntries.run(run);
    this.#sql.removeMarks.run(run);
    return this.#sql.used.all(run).map((row) => row['key'] as string);
  }

  /** Rows after `afterSeq`, in order. */
  rows(runId: string, afterSeq: number): JournalRow[] {
    const rows = this.#sql.rows.all(runId, afterSeq) as unknown as JournalRow[];
    // In order and each once as they were appended; one that was upserted may also stand where another mark leads.
    return rows.sort((a, b) => a.seq - b.seq).filter(({ seq }, index) => seq !== rows[index - 1]?.seq);
  }

  /** The run will not grow for a while. */
  stopAppending(runId: string): void {
    this.#growing.delete(runId);
  }

  /** What was written has been rolled back. */
  resetCache(): void {
    this.#growing.clear();
  }

  #add(growing: Growing, { seq, entry }: JournalRow, span: number): void {
    const position = Number(this.#sql.append.run(growing.run, seq, entry).lastInsertRowid);
    this.#use(growing.run, entry);
    growing.lastSeq = seq;
    if (position <= growing.last) return;
    growing.last = position + span - 1;
    this.#sql.mark.run(growing.run, seq, position, growing.last);
  }

  #use(run: number, entry: string): void {
    for (const key of valueKeysIn(entry)) this.#sql.use.run(key, run);
  }

  #lastOf(runId: string): Growing {
    const found = this.#sql.found.get(runId, Number.MAX_SAFE_INTEGER) as Growing | undefined;
    if (found) return found;
    throw unknownRun(runId);
  }
}
