import type { Command, EndReason, EndStatus, Transition } from './command.ts';
import type { Address } from './event.ts';
import type { NodeState, FramePath, State } from './state.ts';

/** The reason why an attempt or a node failed, with the data for the retry decision. */
export interface Failure {
  retryable?: boolean;
  retryAfterMs?: number;
  jitter?: number;
  timedOut?: boolean;
  limit?: number;
}

/**
 * A unit of work within one event. Tasks are queued instead of called, first come, first served (R6): deep graphs need
 * no stack, and the order is explicit.
 */
export type Task =
  | { type: 'start'; framePath: FramePath; index: number }
  | { type: 'settle'; framePath: FramePath; index: number; nodeState: NodeState }
  /** All nodes of the frame of `framePath` are settled. `failed`: the failure after which it was drained. */
  | { type: 'close'; framePath: FramePath; failed?: Address }
  | { type: 'end'; status: EndStatus; reason?: EndReason; at?: Address };

/** The scope of a drain: the whole run, an open container, or one branch of a parallel. */
export type DrainScope =
  | { kind: 'run' }
  | { kind: 'container'; framePath: FramePath; index: number }
  | { kind: 'branch'; framePath: FramePath };

/** The context of one `advance` call: the state of the run, and the commands and transitions collected so far. */
export interface StepContext {
  state: State;
  root: FramePath;
  atMs: number;
  commands: Command[];
  transitions: Transition[];
  tasks: Task[];
}

/** The result of one event. `changed` is false for a late or duplicate event. */
export interface StepResult {
  commands: Command[];
  transitions: Transition[];
  changed: boolean;
}
