/**
 * Where a node stands in the tree of frames: node, turn or branch, node, …, node (dense indexes).
 *
 * Length is odd. Of even length are only the addresses of grace timers and deadlines that belong to a frame: `[]` names
 * the run itself, and an address that ends in a branch number that branch.
 */
export type Address = readonly number[];

/** A fact, fed to the machine. Time enters here and nowhere else: `atMs` is milliseconds since the epoch. */
export type Event =
  | StartedEvent
  /** A block's work is done. `port` absent: `source`. */
  | { type: 'completed'; at: Address; atMs: number; attempt: number; port?: string }
  /** One try of a block, or the expansion of a container, has failed. `jitter` (0 to 1) was drawn by the driver. */
  | {
      type: 'failed';
      at: Address;
      atMs: number;
      attempt: number;
      retryable: boolean;
      /** The turn that was asked for, when an expansion has failed: with it a late failure of an earlier turn is told apart. */
      iteration?: number;
      retryAfterMs?: number;
      jitter?: number;
    }
  /** The answer to `expand`: branches or turns; for a container that asks per turn, 1 (another turn) or 0. A whole number. */
  | { type: 'expanded'; at: Address; atMs: number; iteration: number; count: number }
  /** The block suspends itself: until `dueMs` (kind `time`) or until a `resumed` event (kind `human`). */
  | { type: 'paused'; at: Address; atMs: number; attempt: number; kind: 'human' | 'time'; dueMs?: number }
  | { type: 'resumed'; at: Address; atMs: number }
  /** What the child run of a child block is blocked on; `null`: it moves. */
  | { type: 'blocked'; at: Address; atMs: number; on: 'human' | 'time' | null }
  /** A timer that the machine asked for has fired. A `deadline` is taken only when `atMs` has reached its time: older ones are void. */
  | { type: 'fired'; at: Address; atMs: number; timer: TimerName; attempt?: number }
  | { type: 'cancelled'; atMs: number };

/** The first event: where the run starts, and its bounds. */
export interface StartedEvent {
  type: 'started';
  atMs: number;
  /** Index of the top-level node at which the run starts; what lies downstream of it runs, and nothing else (run-from-block too). */
  start: number;
  /** Run-until: nothing new starts once this top-level node is settled. */
  until?: number;
  /** Milliseconds the run may last. */
  timeoutMs?: number;
  /** Time in which only a person could move the run does not count towards `timeoutMs`. */
  activeOnly?: boolean;
  /** Milliseconds that running blocks get once the run has failed or answered. */
  graceMs: number;
}

/** What a timer is for. `grace` and `deadline` belong to what `at` names as a whole, the others to one block. */
export type TimerName = 'retry' | 'wait' | 'timeout' | 'grace' | 'deadline';
