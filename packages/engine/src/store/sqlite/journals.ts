import type { DatabaseSync } from 'node:sqlite';
import { duplicateEntryError, unknownRunError } from '../errors.ts';
import type { JournalRow } from '../journal.ts';
import { valueKeysIn } from '../value-key.ts';
import { POSITIONS_PER_MARK } from './schema.ts';

/** The end of the journal of a run that this process appends to. */
interface JournalEnd {
  /** Number of the run. */
  run: number;
  lastSeq: number;
  /** Last position that the last mark of the run covers. A mark is a row of `journal_marks` (see `FORMAT_2`). */
  markEnd: number;
}

/** The last entry of a run with a `seq` of at most a given number, and the end of the journal at this entry. */
interface LastEntry extends JournalEnd {
  position: number;
  entry: string;
}

/** The last mark of run ?1 with a `seq` of at most ?2. */
const SELECT_LAST_MARK = `
  SELECT run, first, last FROM runs JOIN journal_marks ON run = number
  WHERE run_id = ?1 AND journal_marks.seq <= ?2 ORDER BY journal_marks.seq DESC LIMIT 1`;

function prepare(db: DatabaseSync) {
  return {
    append: db.prepare('INSERT INTO journal (run, seq, entry) VALUES (?, ?, ?)'),
    mark: db.prepare('INSERT INTO journal_marks (run, seq, first, last) VALUES (?, ?, ?, ?)'),
    lastEntry: db.prepare(`
      SELECT journal.run, seq AS lastSeq, last AS markEnd, position, entry
      FROM (${SELECT_LAST_MARK}) AS mark JOIN journal ON journal.run = mark.run
      WHERE position BETWEEN first AND last AND seq <= ?2 ORDER BY position DESC LIMIT 1`),
    replace: db.prepare('UPDATE journal SET entry = ? WHERE position = ?'),
    addUse: db.prepare('INSERT OR IGNORE INTO value_uses (key, run) VALUES (?, ?)'),
    removeUses: db.prepare('DELETE FROM value_uses WHERE run = ? RETURNING key'),
    removeEntries: db.prepare(`
      DELETE FROM journal WHERE position IN (
        SELECT journal.position FROM journal_marks AS mark CROSS JOIN journal
          ON journal.run = mark.run AND position BETWEEN first AND last
        WHERE mark.run = ? AND journal.seq > ?)`),
    removeMarks: db.prepare('DELETE FROM journal_marks WHERE run = ? AND seq > ?'),
    runNumber: db.prepare('SELECT number FROM runs WHERE run_id = ?'),
    // CROSS JOIN fixes the join order, so that no sort is needed.
    rows: db.prepare(`
      SELECT journal.seq, entry FROM runs CROSS JOIN journal_marks AS mark ON mark.run = number CROSS JOIN journal
        ON journal.run = number AND position BETWEEN first AND last
      WHERE run_id = ?1 AND journal.seq > ?2 AND mark.seq >= coalesce((
        SELECT max(seq) FROM journal_marks WHERE run = number AND seq <= ?2 + 1), 0)
      ORDER BY mark.seq, position`),
  };
}

/** Journals in the data file. Writes must be made in a transaction. */
export class SqliteJournals {
  readonly #statements: ReturnType<typeof prepare>;
  /** By run id, for runs that only this process appends to: an append is one insert without a search. */
  readonly #ends = new Map<string, JournalEnd>();

  constructor(db: DatabaseSync) {
    this.#statements = prepare(db);
  }

  /** Begins the journal of a new run. */
  begin(runId: string, runNumber: number, firstRow: JournalRow): void {
    const end = { run: runNumber, lastSeq: -1, markEnd: -1 };
    this.#ends.set(runId, end);
    this.#insert(end, firstRow, POSITIONS_PER_MARK);
  }

  /** Appends the rows. Throws RUN_NOT_FOUND, and an InvariantError for an existing entry. */
  append(runId: string, rows: readonly JournalRow[]): void {
    let end = this.#ends.get(runId);
    if (!end) this.#ends.set(runId, (end = this.#endOf(runId)));
    for (const row of rows) {
      if (row.seq <= end.lastSeq) throw duplicateEntryError(runId);
      this.#insert(end, row, POSITIONS_PER_MARK);
    }
  }

  /** Inserts or replaces the rows, in any order: each new row gets its own mark. Throws RUN_NOT_FOUND. */
  upsert(runId: string, rows: readonly JournalRow[]): void {
    this.#ends.delete(runId);
    const runNumber = this.#runNumberOf(runId);
    for (const row of rows) {
      const lastEntry = this.#statements.lastEntry.get(runId, row.seq) as LastEntry | undefined;
      if (lastEntry?.lastSeq !== row.seq) this.#insert({ run: runNumber, lastSeq: -1, markEnd: -1 }, row, 1);
      else if (lastEntry.entry !== row.entry) {
        this.#statements.replace.run(row.entry, lastEntry.position);
        this.#recordUses(runNumber, row.entry);
      }
    }
  }

  /** Records that the run uses values that are in none of its entries. Throws RUN_NOT_FOUND. */
  addValueUses(runId: string, keys: readonly string[]): void {
    const runNumber = this.#runNumberOf(runId);
    for (const key of keys) this.#statements.addUse.run(key, runNumber);
  }

  /** Removes the journal of a run and returns the keys of the values that the run uses. */
  remove(runId: string, runNumber: number): string[] {
    this.truncate(runId, runNumber, -1);
    return this.#statements.removeUses.all(runNumber).map((row) => row['key'] as string);
  }

  /** Removes the entries after `afterSeq`. */
  truncate(runId: string, runNumber: number, afterSeq: number): void {
    this.#ends.delete(runId);
    this.#statements.removeEntries.run(runNumber, afterSeq);
    this.#statements.removeMarks.run(runNumber, afterSeq);
  }

  /** Returns the rows after `afterSeq`, in order. */
  rows(runId: string, afterSeq: number): JournalRow[] {
    const rows = this.#statements.rows.all(runId, afterSeq) as unknown as JournalRow[];
    // Appended rows are in order and unique; an upserted row may also be in the range of another mark.
    return rows.sort((a, b) => a.seq - b.seq).filter(({ seq }, index) => seq !== rows[index - 1]?.seq);
  }

  /** Forgets the cached end of the journal of an idle run. The next append reads it again. */
  stopAppending(runId: string): void {
    this.#ends.delete(runId);
  }

  /** Clears the cache. Must be called after a rollback. */
  resetCache(): void {
    this.#ends.clear();
  }

  /** Inserts a row. A row beyond the last mark gets a new mark, which covers `span` positions. */
  #insert(end: JournalEnd, { seq, entry }: JournalRow, span: number): void {
    const position = Number(this.#statements.append.run(end.run, seq, entry).lastInsertRowid);
    this.#recordUses(end.run, entry);
    end.lastSeq = seq;
    if (position <= end.markEnd) return;
    end.markEnd = position + span - 1;
    this.#statements.mark.run(end.run, seq, position, end.markEnd);
  }

  #recordUses(runNumber: number, entry: string): void {
    for (const key of valueKeysIn(entry)) this.#statements.addUse.run(key, runNumber);
  }

  #runNumberOf(runId: string): number {
    const runNumber = this.#statements.runNumber.get(runId)?.['number'] as number | undefined;
    if (runNumber === undefined) throw unknownRunError(runId);
    return runNumber;
  }

  #endOf(runId: string): JournalEnd {
    const end = this.#statements.lastEntry.get(runId, Number.MAX_SAFE_INTEGER) as JournalEnd | undefined;
    if (end) return end;
    throw unknownRunError(runId);
  }
}
