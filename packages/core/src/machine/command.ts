import type { Address, TimerName } from './event.ts';

/**
 * An action for a driver to carry out. Commands are sent to Temporal activities in other processes, so their keys
 * (`try`, `turn`) do not change.
 *
 * Each command is answered by an event, or is no longer valid. `abort` and `end` make commands invalid. A timeout's
 * timer is also no longer valid after the end of its attempt, a grace timer after the end of its drain, and a deadline
 * once a later one is set. The event of an invalid command is ignored, so drivers need not cancel the command.
 */
export type Command =
  /** Run the block's executor. Answered by `completed`, `failed` or `paused`. */
  | {
      type: 'run';
      at: Address;
      try: number;
      /** Number of times that the attempt was resumed; absent: 0. A resumed block continues with the answers. */
      resumes?: number;
    }
  /** Ask for the number of iterations or branches, or for one more iteration. Answered by `expanded` or `failed`. */
  | { type: 'expand'; at: Address; turn: number }
  /** Send `fired` at `dueMs`, or immediately if that time has passed. */
  | { type: 'timer'; at: Address; timer: TimerName; dueMs: number; try?: number }
  /** The pause point at `at` is open and can be resumed. `try`, `resumes`: the attempt that the answer continues. */
  | { type: 'open'; at: Address; try?: number; resumes?: number }
  /** Stop the work at `at`. An event that still arrives for this work changes nothing. */
  | { type: 'abort'; at: Address; why: AbortReason }
  /** The run is over. */
  | { type: 'end'; status: EndStatus; reason?: EndReason; at?: Address };

/** The outcome of a run. */
export type EndStatus = 'completed' | 'failed' | 'cancelled';

/** The reason why a run failed: a block, its deadline, or a limit. */
export type EndReason = 'block' | 'deadline' | 'limit';

/**
 * The reason why work is aborted: its own timeout, or that its run or container failed, completed a Response block
 * (`answered`), was cancelled, reached its deadline, or reached the block at which the run stops (`until`).
 */
export type AbortReason = 'timeout' | 'failed' | 'answered' | 'cancelled' | 'deadline' | 'until';

/**
 * A structural change, for the record of the run. Drivers need not act on it. Transitions are in order and precede the
 * commands of the same step.
 */
export type Transition =
  /** A container started. */
  | { type: 'entered'; at: Address }
  /** A frame opened: iteration `iteration` of a loop, or branch `iteration` of a parallel. */
  | { type: 'opened'; at: Address; iteration: number }
  /** A frame closed. `failed`: the node whose error the container collects. */
  | { type: 'closed'; at: Address; iteration: number; failed?: Address }
  /** A container is done. `count`: the number of iterations or branches that it opened. */
  | { type: 'exited'; at: Address; count: number }
  /**
   * The node at `at` failed permanently: no attempt remains, or a node inside it failed. `handled`: its error port is
   * taken.
   */
  | { type: 'failed'; at: Address; handled: boolean; cause?: Address; limit?: number; timedOut?: boolean };
