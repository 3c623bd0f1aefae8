import type { Entry, RunRecord } from '@heddle/core';
import { journalCorrupt } from './errors.ts';

/** One entry as a store holds it. */
export interface JournalRow {
  seq: number;
  /** JSON. */
  entry: string;
}

/** Rows to store for `entries`. */
export function toRows(entries: readonly Entry[]): JournalRow[] {
  return entries.map(toRow);
}

/** The row to store for `entry`. */
export function toRow(entry: Entry): JournalRow {
  return { seq: entry.seq, entry: JSON.stringify(entry) };
}

/**
 * The whole journal of a run, checked: readable, starting at the start, without a gap.
 *
 * A run's state is a fold over its entries, so one that is missing or damaged would make it go on wrongly: JOURNAL_CORRUPT.
 */
export function readJournal(runId: string, rows: readonly JournalRow[]): Entry[] {
  const entries = readTail(runId, rows, undefined);
  const [first] = entries;
  if (first && first.type !== 'started') throw journalCorrupt(runId, `its first entry is "${first.type}"`);
  return entries;
}

/** Entries that follow `afterSeq` (undefined: any first number), checked like a whole journal. */
export function readTail(runId: string, rows: readonly JournalRow[], afterSeq: number | undefined): Entry[] {
  let expected = afterSeq === undefined ? rows[0]?.seq : afterSeq + 1;
  return rows.map((row) => {
    if (row.seq !== expected) throw journalCorrupt(runId, `entry ${expected} is missing`);
    expected += 1;
    return readEntry(runId, row);
  });
}

function readEntry(runId: string, row: JournalRow): Entry {
  let entry: unknown;
  try {
    entry = JSON.parse(row.entry);
  } catch (error) {
    throw journalCorrupt(runId, `entry ${row.seq} is not JSON`, error);
  }
  if (!isEntry(entry) || entry.seq !== row.seq)
    throw journalCorrupt(runId, `entry ${row.seq} is not one of its entries`);
  return entry;
}

function isEntry(value: unknown): value is Entry {
  return (
    typeof value === 'object' &&
    value !== null &&
    'seq' in value &&
    'type' in value &&
    typeof value.type === 'string'
  );
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

/** True for the status of a run that has ended for good. */
export function isEnded(status: string): boolean {
  return ENDED.has(status);
}

/** True when nothing moves the run but a person, or nothing at all. */
export function isAtRest(record: RunRecord): boolean {
  return isEnded(record.status) || record.suspended !== undefined || record.pauseKind === 'human';
}
