import type { Address, TimerName } from './event.ts';

/**
 * An intent, for a driver to carry out. Every command is answered by an event, or made void: by `abort` or `end`, a
 * time-out's timer by the end of its try, a grace timer by the end of what was given up, a deadline by a later one. The
 * event of a void command changes nothing, so a driver may forget about it or not.
 */
export type Command =
  /** Run the block's executor; answered by `completed`, `failed` or `paused`. */
  | { type: 'run'; at: Address; try: number }
  /** Ask for the turns or branches of a container; answered by `expanded` or `failed`. */
  | { type: 'expand'; at: Address; turn: number }
  /** Fire `fired` at `dueMs`, or at once when that is past. */
  | { type: 'timer'; at: Address; timer: TimerName; dueMs: number; try?: number }
  /** The pause point at `at` is open and can be resumed. */
  | { type: 'open'; at: Address }
  /** The work at `at` is no longer wanted: stop it; its event, should one still come, changes nothing. */
  | { type: 'abort'; at: Address; why: AbortReason }
  /** The run is over. */
  | { type: 'end'; status: EndStatus; reason?: EndReason; at?: Address };

/** How a run has ended. */
export type EndStatus = 'completed' | 'failed' | 'cancelled';

/** Why a run has failed: a block, its time, or a limit. */
export type EndReason = 'block' | 'deadline' | 'limit';

/** Why work is aborted: its own time is up, or what it belongs to failed, was answered, was cancelled or ran out of time. */
export type AbortReason = 'timeout' | 'failed' | 'answered' | 'cancelled' | 'deadline' | 'until';

/** A change of structure, for the record of the run; nothing has to be done. In order, before the commands of the same step. */
export type Notice =
  | { type: 'entered'; at: Address }
  /** A frame has opened: turn `turn` of a loop, or branch `turn` of a parallel. */
  | { type: 'opened'; at: Address; iteration: number }
  /** A frame has closed; `failed`: with an error that the container collects. */
  | { type: 'closed'; at: Address; iteration: number; failed?: Address }
  /** A container is done. `count`: its turns or branches. */
  | { type: 'exited'; at: Address; count: number }
  /** The node at `at` has failed for good: after its tries, or because something inside it failed. `handled`: its error port is taken. */
  | { type: 'failed'; at: Address; handled: boolean; cause?: Address; limit?: number; timedOut?: boolean };
