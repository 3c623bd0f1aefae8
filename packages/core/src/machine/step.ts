import type { Address, Event, StartedEvent } from './event.ts';
import { expireTimer, setDeadline, updateDeadline } from './deadline.ts';
import { endRun, updateDrainingWork } from './drain.ts';
import { settleNode, startAttempt } from './join.ts';
import { locate, rootFramePath } from './locate.ts';
import { nodeStatesFrom } from './prepare.ts';
import type { Region } from './skeleton.ts';
import { cloneState, isOpenContainer, isWork, nodeAt } from './state.ts';
import type { FramePath, State } from './state.ts';
import type { StepContext, StepResult, Task } from './step-context.ts';
import { closeFrame, enterContainer, enterInside } from './subflow.ts';
import { updateContainer, updateWork } from './work.ts';

/** Returns the state before the first event. */
export function initialState(): State {
  return { phase: 'running', frame: { left: 0, cells: [] }, busy: 0, timers: 0, humans: 0, graceMs: 0 };
}

/**
 * Returns the state after `event`, with the commands and transitions that follow from it. `state` is not changed.
 *
 * Every event is accepted: a late or duplicate one returns the same state and no commands (R30). Drivers that own
 * their state use `advance`, which is this function without the copy.
 */
export function step(region: Region, state: State, event: Event): [State, StepResult] {
  const nextState = cloneState(state);
  const result = advance(region, nextState, event);
  return [result.changed ? nextState : state, result];
}

/** Returns the result of `event`, and changes `state` in place. */
export function advance(region: Region, state: State, event: Event): StepResult {
  const context: StepContext = {
    state,
    root: rootFramePath(region, state),
    atMs: event.atMs,
    commands: [],
    transitions: [],
    tasks: [],
  };
  const changed = state.phase !== 'ended' && dispatch(context, event);
  if (changed) {
    runTasks(context);
    updateDeadline(context);
  }
  return { commands: context.commands, transitions: context.transitions, changed };
}

function dispatch(context: StepContext, event: Event): boolean {
  if (event.type === 'started') return startRun(context, event);
  if (event.type === 'cancelled') {
    // R29: a cancellation ends the run.
    context.tasks.push({ type: 'end', status: 'cancelled' });
    return true;
  }
  if (event.type === 'fired' && (event.timer === 'deadline' || event.timer === 'grace'))
    return expireTimer(context, event);
  return updateNode(context, event);
}

/** R1: a run starts at one block. Blocks that it does not reach are skipped. */
function startRun(context: StepContext, event: StartedEvent): boolean {
  const { state, root } = context;
  if (state.frame.cells.length > 0 || root.region.nodes[event.start] === undefined) return false;
  Object.assign(state.frame, nodeStatesFrom(root.region, event.start));
  state.graceMs = event.graceMs;
  if (event.until !== undefined) state.until = event.until;
  setDeadline(context, event);
  if (event.inside) enterInside(context, root, event.start, event.inside);
  else context.tasks.push({ type: 'start', framePath: root, index: event.start });
  return true;
}

/** Handles an event about the node at its address. */
function updateNode(context: StepContext, event: Exclude<Event, { type: 'started' | 'cancelled' }>): boolean {
  const location = event.at.length % 2 === 1 ? locate(context.state, context.root, event.at) : undefined;
  const index = event.at[event.at.length - 1] as number;
  const nodeState = location?.framePath.frame.cells[index];
  if (!location || nodeState === undefined) return false;
  if (location.enclosingDrain) return updateDrainingWork(context, location, index, event);
  if (isOpenContainer(nodeState)) return updateContainer(context, location.framePath, index, event);
  return isWork(nodeState) && updateWork(context, location.framePath, index, event);
}

/** Runs the tasks of `context`, and the tasks that they add, first come, first served (R6). */
function runTasks(context: StepContext): void {
  const { tasks } = context;
  for (let head = 0; head < tasks.length; head++) runTask(context, tasks[head] as Task);
  tasks.length = 0;
}

function runTask(context: StepContext, task: Task): void {
  if (task.type === 'end') endRun(context, task);
  else if (task.type === 'close') close(context, task.framePath, task.failed);
  else if (!isDraining(context, task.framePath)) {
    const { framePath, index } = task;
    if (task.type === 'settle') settleNode(context, framePath, index, task.nodeState);
    else if (nodeAt(framePath.region, index).subflow) enterContainer(context, framePath, index);
    else startAttempt(context, framePath, index, 1);
  }
}

/** Closes a frame. A branch whose error is collected was itself draining, so only an outer drain matters. */
function close(context: StepContext, framePath: FramePath, failed: Address | undefined): void {
  if (failed) delete framePath.frame.drain;
  if (!isDraining(context, framePath)) closeFrame(context, framePath, failed);
}

/** Returns true if the frame of `framePath` is in a drain: its tasks are dropped. */
function isDraining(context: StepContext, framePath: FramePath): boolean {
  if (context.state.phase !== 'running') return true;
  for (let ancestor = framePath; ; ancestor = ancestor.parent) {
    if (ancestor.frame.drain) return true;
    if (!ancestor.parent) return false;
    const container = ancestor.parent.frame.cells[ancestor.node];
    if (container === undefined || !isOpenContainer(container) || container.drain) return true;
  }
}
