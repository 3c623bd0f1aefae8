import type { Command, EndReason, EndStatus, Notice } from './command.ts';
import type { Address } from './event.ts';
import type { Cell, Level, State } from './state.ts';

/** Why a try or a node has failed, and what speaks for or against another try. */
export interface Failure {
  retryable?: boolean;
  retryAfterMs?: number;
  jitter?: number;
  timedOut?: boolean;
  limit?: number;
}

/**
 * A piece of an event's work. Tasks are a list instead of calls, so that no graph is too deep and no order an accident:
 * they are worked off first come, first served (R6).
 */
export type Task =
  | { do: 'start'; level: Level; index: number }
  | { do: 'settle'; level: Level; index: number; cell: Cell }
  /** The frame of `level` has no node left; `failed`: it was given up after the failure there. */
  | { do: 'close'; level: Level; failed?: Address }
  | { do: 'end'; status: EndStatus; reason?: EndReason; at?: Address };

/** What is given up: the whole run, an open container, or one branch of a parallel. */
export type DrainScope =
  | { of: 'run' }
  | { of: 'container'; level: Level; index: number }
  | { of: 'branch'; level: Level };

/** One event's worth of work on a state, and what has come of it. */
export interface StepContext {
  state: State;
  root: Level;
  atMs: number;
  commands: Command[];
  notices: Notice[];
  tasks: Task[];
}

/** What one event has led to. `changed` is false for a late or duplicate event. */
export interface StepResult {
  commands: Command[];
  notices: Notice[];
  changed: boolean;
}
