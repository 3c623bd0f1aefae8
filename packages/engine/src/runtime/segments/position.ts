import type { EntryBody, StoredValue } from '@heddle/core/run';

/** A journal entry without its sequence number. */
export type TimedEntry = EntryBody & { atMs: number };

/** Consecutive journal entries of a run, in the order in which the process that drives the run accepted them. */
export interface JournalItem {
  /** Number of the first entry. */
  seq: number;
  /** Unique within the run. */
  id: string;
  /** A JSON array of entries without their numbers. */
  chunk: StoredValue;
  /** Indexes in `chunk` of entries that arrived too late: they changed nothing and have no number. */
  skip?: number[];
}

/** A position in a run's journal, with the entries that the store may lack. */
export interface Position {
  /** Number of the last entry. */
  seq: number;
  /** Id of the last item. */
  tip: string;
  /** The last items, in order and without a gap, up to the entry `seq`. */
  unwritten: JournalItem[];
}
