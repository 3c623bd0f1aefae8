import type { Entry, RunRecord } from '@heddle/core';
import { journalCorruptError } from '@heddle/core/run';

/** One stored entry. */
export interface JournalRow {
  seq: number;
  /** JSON text. */
  entry: string;
}

export function toJournalRows(entries: readonly Entry[]): JournalRow[] {
  return entries.map(toJournalRow);
}

export function toJournalRow(entry: Entry): JournalRow {
  return { seq: entry.seq, entry: JSON.stringify(entry) };
}

/**
 * Returns the whole journal of a run. Throws JOURNAL_CORRUPT unless every entry can be read, the first one starts the
 * run, and the numbers have no gap: the state of a run is a fold over its entries, so a missing entry would give a
 * wrong state.
 */
export function readJournal(runId: string, rows: readonly JournalRow[]): Entry[] {
  const entries = readTail(runId, rows, undefined);
  const [firstEntry] = entries;
  if (firstEntry && firstEntry.type !== 'started')
    throw journalCorruptError(runId, `its first entry is "${firstEntry.type}"`);
  return entries;
}

/**
 * Returns the entries after `afterSeq` (undefined: from any number), with the checks of `readJournal` for readability
 * and gaps.
 */
export function readTail(runId: string, rows: readonly JournalRow[], afterSeq: number | undefined): Entry[] {
  let expectedSeq = afterSeq === undefined ? rows[0]?.seq : afterSeq + 1;
  return rows.map((row) => {
    if (row.seq !== expectedSeq) throw journalCorruptError(runId, `entry ${expectedSeq} is missing`);
    expectedSeq += 1;
    return readEntry(runId, row);
  });
}

function readEntry(runId: string, row: JournalRow): Entry {
  let entry: unknown;
  try {
    entry = JSON.parse(row.entry);
  } catch (error) {
    throw journalCorruptError(runId, `entry ${row.seq} is not JSON`, error);
  }
  if (!isEntry(entry) || entry.seq !== row.seq)
    throw journalCorruptError(runId, `row ${row.seq} is not an entry with this number`);
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

const ENDED_STATUSES: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

/** True for the status of an ended run. */
export function isEnded(status: string): boolean {
  return ENDED_STATUSES.has(status);
}

/** True if the run does not continue by itself: it has ended, is suspended, or waits for a person. */
export function isIdle(record: RunRecord): boolean {
  return isEnded(record.status) || record.suspended !== undefined || record.pauseKind === 'human';
}
