/**
 * The machine: the control flow of a run as a pure function of plan, state and event. It has no clock, does no I/O
 * and knows no block types: ports and counts only. Rules R1…Rn are in docs/semantics.md.
 *
 * Invariants:
 * 1. `frame.left` is the number of cells of that frame that are not settled.
 * 2. Every `run`, `expand` and `timer` command is owed by exactly one cell, drain or deadline: `pending` finds it again.
 * 3. `busy`, `timers` and `humans` count the open work of all frames; all are 0 when the run has ended.
 * 4. A frame that is closed is not reachable: no event can change it.
 */
export { advance, initialState, step } from './step.ts';
export { isPending } from './is-pending.ts';
export { pendingCommands } from './pending.ts';
export { idleState } from './idle-state.ts';
export type { IdleState } from './idle-state.ts';
export { retryWaitMs } from './failure.ts';
export { MACHINE_VERSION } from './skeleton.ts';
export type { BlockClass, Node, NodeKind, Region, RetryPolicy, Subflow } from './skeleton.ts';
export type { Address, Event, StartedEvent, TimerName } from './event.ts';
export type { AbortReason, Command, EndReason, EndStatus, Notice } from './command.ts';
export type { StepResult } from './step-context.ts';
export type { Cell, Frame, OpenContainer, State, Work } from './state.ts';
export { workAt } from './work-at.ts';
