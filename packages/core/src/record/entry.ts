import type { Json } from '../json.ts';
import type { Address, Event, FrameStart, TimerName } from '../machine/event.ts';
import type { StoredValue } from './stored-value.ts';

/** Newest format of journals. Readers accept every earlier format. */
export const JOURNAL_FORMAT = 2;

/** Returns the oldest format whose readers understand a journal with this `reused` in its first entry. */
export function oldestJournalFormat(reused: Extract<EntryBody, { type: 'started' }>['reused']): number {
  return reused?.inside ? JOURNAL_FORMAT : 1;
}

/**
 * One entry of a run's journal: what happened, with its data. The run's state is a fold over its entries. Journals are
 * stored, so the keys of entries (`try`, `turn` …) stay.
 *
 * Entries identify blocks by id plus the iteration and branch numbers around them (`scope`, outermost first), never by
 * index, so that an old journal can be read with another plan.
 */
export type Entry = { seq: number; atMs: number } & EntryBody;

/** An entry before the journal assigns its number and time. */
export type EntryBody =
  | {
      type: 'started';
      /** Journal format. */
      format: number;
      start: string;
      input: StoredValue;
      graceMs: number;
      timeoutMs?: number;
      activeOnly?: boolean;
      until?: string;
      /**
       * Run-from-block: outputs reused from an earlier run, by block id (top level), and the id of that run. `fields`:
       * an object with values that replace resolved fields of the start block; absent: none. `inside`: the frames
       * (iterations and branches) around the start block, and the data that the run has in them (format 2); absent: the
       * start block is at the top level.
       */
      reused?: {
        runId: string;
        outputs: { [blockId: string]: StoredValue };
        fields?: StoredValue;
        inside?: { frames: StartedFrame[]; scope: SavedScope };
      };
      /** Values of the workflow variables at the start, by id. */
      variables: { [id: string]: Json };
    }
  | ({
      type: 'completed';
      try: number;
      /** Number of times that the attempt was resumed; absent: 0. The same in other entries. */
      resumes?: number;
      startedMs: number;
      port?: string;
      input?: StoredValue;
      output: StoredValue;
      set?: { [variableId: string]: Json };
    } & Place)
  | ({
      type: 'failed';
      try: number;
      resumes?: number;
      startedMs: number;
      input?: StoredValue;
      error: BlockFailure;
      /** Containers: the requested iteration. */
      turn?: number;
      retryAfterMs?: number;
      jitter?: number;
    } & Place)
  | ({ type: 'expanded'; turn: number; count: number; items?: StoredValue } & Place)
  | ({
      type: 'paused';
      try: number;
      resumes?: number;
      startedMs: number;
      kind: 'human' | 'time';
      /** The answer does not end the block, but continues its attempt. */
      continues?: true;
      dueMs?: number;
      /** The resume token (`contextId`), for kind `human`. */
      token?: string;
      input?: StoredValue;
      /** Output while the block waits. */
      output: StoredValue;
      /** Output once the timer has fired (kind `time`). */
      done?: StoredValue;
    } & Place)
  /**
   * `output`: the output of the block. If the block continues, the answer that it gets, and `try` and `resumes`
   * identify the pause.
   */
  | ({
      type: 'resumed';
      token: string;
      try?: number;
      resumes?: number;
      input: StoredValue;
      output: StoredValue;
    } & Place)
  | ({ type: 'blocked'; childRunId: string; on: 'human' | 'time' | null } & Place)
  /** `branch`: the grace period of one branch of the parallel at this place has ended. */
  | ({ type: 'fired'; timer: TimerName; try?: number; branch?: number } & {
      block?: string;
      scope?: number[];
    })
  | { type: 'cancelled'; reason?: string };

/** A frame in which a run starts: an iteration or branch of a container around its start block. */
export type StartedFrame = Omit<FrameStart, 'node'>;

/**
 * The data of a scope as JSON, with which a run starts inside a container. Ids are values, not keys, because they can
 * be any string.
 */
export interface SavedScope {
  outputs: { block: string; value: StoredValue; order: number; failed?: true }[];
  loops: { block: string; index: number; items?: StoredValue; current: string[]; results: StoredValue[][] }[];
  parallels: {
    block: string;
    items?: StoredValue;
    /** By number of the branch. */
    results: { branch: number; outputs: StoredValue[] }[];
    branches: { branch: number; scope: SavedScope }[];
  }[];
  /** Branches: ids of the blocks directly in the branch that have run, in order of completion. The same in loops. */
  current: string[];
}

/** One execution of a block: its id and the iteration and branch numbers around it, outermost first. */
export interface Place {
  block: string;
  scope: number[];
}

/** The reason for a block's failure, as data: the content of its error port and of the run's error. */
export interface BlockFailure {
  code: string;
  message: string;
  retryable: boolean;
  details?: Json;
}

type PlacedEntryType = Exclude<Entry['type'], 'started' | 'cancelled'>;
type EntryOf<T extends Entry['type']> = Extract<Entry, { type: T }>;

const EVENT_CONVERTERS: { [T in PlacedEntryType]: (entry: EntryOf<T>, at: Address) => Event } = {
  completed: ({ atMs, try: attempt, resumes, port }, at) =>
    port === undefined && resumes === undefined
      ? { type: 'completed', at, atMs, attempt }
      : {
          type: 'completed',
          at,
          atMs,
          attempt,
          ...(resumes !== undefined && { resumes }),
          ...(port !== undefined && { port }),
        },
  failed: ({ atMs, try: attempt, resumes, error, turn: iteration, retryAfterMs, jitter }, at) => ({
    type: 'failed',
    at,
    atMs,
    attempt,
    ...(resumes !== undefined && { resumes }),
    retryable: error.retryable,
    ...(iteration !== undefined && { iteration }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(jitter !== undefined && { jitter }),
  }),
  expanded: ({ atMs, turn: iteration, count }, at) => ({ type: 'expanded', at, atMs, iteration, count }),
  paused: ({ atMs, try: attempt, resumes, kind, dueMs, continues }, at) => ({
    type: 'paused',
    at,
    atMs,
    attempt,
    ...(resumes !== undefined && { resumes }),
    kind,
    ...(dueMs !== undefined && { dueMs }),
    ...(continues && { continues }),
  }),
  resumed: ({ atMs, try: attempt, resumes }, at) => ({
    type: 'resumed',
    at,
    atMs,
    ...(attempt !== undefined && { attempt }),
    ...(resumes !== undefined && { resumes }),
  }),
  blocked: ({ atMs, on }, at) => ({ type: 'blocked', at, atMs, on }),
  fired: ({ atMs, timer, try: attempt, branch }, at) => ({
    type: 'fired',
    at: branch === undefined ? at : [...at, branch],
    atMs,
    timer,
    ...(attempt !== undefined && { attempt }),
  }),
};

/** Returns the machine's event for an entry about the node at `at`: the entry without its data. */
export function eventAt(entry: EntryOf<PlacedEntryType>, at: Address): Event {
  const toEvent = EVENT_CONVERTERS[entry.type] as (entry: EntryOf<PlacedEntryType>, at: Address) => Event;
  return toEvent(entry, at);
}
