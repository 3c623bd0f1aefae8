import type { WorkflowRow } from '../../store/schema.ts';
import type { TriggerRow, TriggerTables } from '../tables.ts';

// Times are milliseconds. PostgreSQL returns them as strings.

/** The position at which the next poll of a trigger continues. */
export interface FeedCursorRow {
  workflow_id: string;
  block_id: string;
  /** Hash of the source. If it changes, polling starts over. */
  source: string;
  /** JSON. */
  cursor: string;
  polled_ms: number;
}

/** An item that has started a run, or was skipped. */
export interface FeedItemRow {
  workflow_id: string;
  block_id: string;
  /** Hash of the source and of the item's id in it. */
  item: string;
  /** The engine's id of its run; null: it was skipped. */
  run_id: string | null;
  /** When a poll last marked the item as present in the source. Not every poll marks it. */
  seen_ms: number;
}

export interface FeedTables extends TriggerTables {
  feed_cursors: FeedCursorRow;
  feed_items: FeedItemRow;
  triggers: TriggerRow;
  workflows: WorkflowRow;
}
