/**
 * The machine: a run's control flow as a pure function of plan, state and event. It has no clock, performs no I/O and
 * does not know block types, only ports and counts. docs/semantics.md has its rules R1…Rn.
 *
 * A frame is one execution of a region: the run itself, an iteration or a branch. It has the state of
 * each node (`cells`).
 *
 * Invariants:
 * 1. `frame.left` is the number of unsettled nodes of the frame.
 * 2. Exactly one node, drain or deadline waits for each `run`, `expand` and `timer` command: `pendingCommands` lists
 * them.
 * 3. `busy`, `timers` and `humans` count the open work of all frames; all are 0 once the run has ended.
 * 4. A closed frame is unreachable: no event can change it.
 */
export { advance, initialState, step } from './step.ts';
export { isPending, pendingCommands } from './pending-commands.ts';
export { idleState } from './state.ts';
export { retryWaitMs } from './failure.ts';
export { workAt } from './locate.ts';
export { MACHINE_VERSION } from './skeleton.ts';
export type { BlockClass, Node, NodeKind, Region, RetryPolicy, Subflow } from './skeleton.ts';
export type { Address, Event, FrameStart, StartedEvent, TimerName } from './event.ts';
export type { AbortReason, Command, EndReason, EndStatus, Transition } from './command.ts';
export type { StepResult } from './step-context.ts';
export type { NodeState, Frame, IdleState, OpenContainer, State, Work } from './state.ts';
