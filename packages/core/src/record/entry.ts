import type { Json } from '../json.ts';
import type { TimerName } from '../machine/event.ts';
import type { Stored } from './stored.ts';

/** Version of the journal's entries. Readers keep reading every earlier version. */
export const JOURNAL_FORMAT = 1;

/**
 * One entry of a run's journal: what happened, with its data. The run's state is a fold over its entries.
 *
 * Entries name blocks by id plus the turn and branch numbers around them (`scope`, outermost first), never by index,
 * so that an old journal can be read against another plan.
 */
export type Entry = { seq: number; atMs: number } & EntryBody;

/** An entry before the journal gives it its number and time. */
export type EntryBody =
  | {
      type: 'started';
      /** Journal format. */
      format: number;
      start: string;
      input: Stored;
      graceMs: number;
      timeoutMs?: number;
      activeOnly?: boolean;
      until?: string;
      /** Run-from-block: outputs taken over from an earlier run, by block id (top level), and its variables. */
      reused?: { runId: string; outputs: { [blockId: string]: Stored } };
      /** Values of the workflow variables at the start, by id. */
      variables: { [id: string]: Json };
    }
  | ({
      type: 'completed';
      try: number;
      startedMs: number;
      port?: string;
      input?: Stored;
      output: Stored;
      set?: { [variableId: string]: Json };
    } & Place)
  | ({
      type: 'failed';
      try: number;
      startedMs: number;
      input?: Stored;
      error: BlockFailure;
      /** Containers: the turn that was asked for. */
      turn?: number;
      retryAfterMs?: number;
      jitter?: number;
    } & Place)
  | ({ type: 'expanded'; turn: number; count: number; items?: Stored } & Place)
  | ({
      type: 'paused';
      try: number;
      startedMs: number;
      kind: 'human' | 'time';
      dueMs?: number;
      /** The resume token (`contextId`), for kind `human`. */
      token?: string;
      input?: Stored;
      /** Output while it waits. */
      output: Stored;
      /** Output once the timer has fired (kind `time`). */
      done?: Stored;
    } & Place)
  | ({ type: 'resumed'; token: string; input: Stored; output: Stored } & Place)
  | ({ type: 'blocked'; childRunId: string; on: 'human' | 'time' | null } & Place)
  /** `branch`: the grace of one branch of the parallel at this place is over. */
  | ({ type: 'fired'; timer: TimerName; try?: number; branch?: number } & {
      block?: string;
      scope?: number[];
    })
  | { type: 'cancelled'; reason?: string };

/** A block with the turn and branch numbers around it, outermost first. */
export interface Place {
  block: string;
  scope: number[];
}

/** Why a block failed, as data: what its error port and the run's error carry. */
export interface BlockFailure {
  code: string;
  message: string;
  retryable: boolean;
  details?: Json;
}
