import type { EntryBody, Stored } from '@heddle/core/run';

/** A journal entry that has no number yet. */
export type Timed = EntryBody & { atMs: number };

/** Entries of a run's journal in the order in which who runs it took them in; `seq` is the number of the first. */
export interface OrderItem {
  seq: number;
  /** Unique within the run. */
  id: string;
  /** A JSON list of entries without their numbers. */
  chunk: Stored;
  /** Indexes of entries that came too late to count: they have no number. */
  skip?: number[];
}

/** Where a run's journal stands, and what of it is perhaps not in the store yet. */
export interface Position {
  /** Entries so far. */
  seq: number;
  /** Id of the last item. */
  tip: string;
  /** In order, without a gap, up to `seq`. */
  unwritten: OrderItem[];
}
