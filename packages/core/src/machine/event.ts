/**
 * The position of a node in the tree of frames (the run itself, iterations and branches): indexes of nodes alternate
 * with numbers of iterations or branches, from the outermost container to the node itself.
 *
 * The length is odd. Only grace timers and deadlines have addresses of even length: `[]` is the run itself, and an
 * address that ends in a branch number is that branch.
 */
export type Address = readonly number[];

/**
 * A fact that a driver feeds to the machine. Events are its only source of time: `atMs` is milliseconds since the
 * epoch.
 */
export type Event =
  | StartedEvent
  /**
   * A block is done. `port` defaults to `source`. `resumes`: number of times that the attempt was resumed; absent: 0.
   */
  | { type: 'completed'; at: Address; atMs: number; attempt: number; resumes?: number; port?: string }
  /** An attempt at a block, or the expansion of a container, failed. The driver picks a random `jitter` (0 to 1). */
  | {
      type: 'failed';
      at: Address;
      atMs: number;
      attempt: number;
      resumes?: number;
      retryable: boolean;
      /** The requested iteration, if an expansion failed. It identifies late failures of earlier iterations. */
      iteration?: number;
      retryAfterMs?: number;
      jitter?: number;
    }
  /**
   * The answer to `expand`: the number of branches or iterations, as a whole number. For a container that asks before
   * each iteration: 1 if there is another iteration, else 0.
   */
  | { type: 'expanded'; at: Address; atMs: number; iteration: number; count: number }
  /**
   * The block suspends itself: until `dueMs` (kind `time`) or until a `resumed` event (kind `human`). `continues`: the
   * answer does not end the block, but continues its attempt.
   */
  | {
      type: 'paused';
      at: Address;
      atMs: number;
      attempt: number;
      resumes?: number;
      kind: 'human' | 'time';
      dueMs?: number;
      continues?: true;
    }
  /**
   * A person has answered the pause. `attempt`, `resumes`: identify the pause of a block that can pause several times.
   */
  | { type: 'resumed'; at: Address; atMs: number; attempt?: number; resumes?: number }
  /** The child run of a child block waits for a person or for a time; `null`: the child run does not wait. */
  | { type: 'blocked'; at: Address; atMs: number; on: 'human' | 'time' | null }
  /** A timer of the machine fired. A `deadline` event before the current deadline is ignored. */
  | { type: 'fired'; at: Address; atMs: number; timer: TimerName; attempt?: number }
  | { type: 'cancelled'; atMs: number };

/** The first event: where the run starts, and its limits. */
export interface StartedEvent {
  type: 'started';
  atMs: number;
  /**
   * Index of the top-level node at which the run starts. Only that node and the nodes downstream of it run (also for
   * run-from-block).
   */
  start: number;
  /**
   * Frames of the containers in which the run starts, outermost first: `start` is the outermost container. Absent: the
   * run starts at `start` itself.
   */
  inside?: FrameStart[];
  /** Run-until: nothing new starts once this top-level node is settled. */
  until?: number;
  /** Maximum duration of the run in milliseconds. */
  timeoutMs?: number;
  /** True if the time in which the run waits only for people does not count towards `timeoutMs`. */
  activeOnly?: boolean;
  /** Grace period in milliseconds: time for running blocks to finish after the run has failed or has a response. */
  graceMs: number;
}

/**
 * A frame of a container in which a run starts. Nodes outside the frame have run unless they are downstream of it.
 */
export interface FrameStart {
  /** Number of the iteration or branch. */
  iteration: number;
  /** Node at which the frame starts, as its index in the body. It is a container, except in the last frame. */
  node: number;
  /** Number of iterations or branches; -1 for a container that asks before each iteration. */
  count: number;
  /** Number of the next iteration or branch to open. */
  next: number;
  /** Branches below `next` that have not run; absent: none. */
  missing?: number[];
}

/** The purpose of a timer. `grace` and `deadline` belong to a run, container or branch, the others to one block. */
export type TimerName = 'retry' | 'wait' | 'timeout' | 'grace' | 'deadline';
