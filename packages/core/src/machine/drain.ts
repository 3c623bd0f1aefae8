import type { AbortReason, EndReason, EndStatus } from './command.ts';
import type { Address, Event } from './event.ts';
import type { FrameLocation } from './locate.ts';
import {
  addressOf,
  answersExpand,
  frameAddress,
  isOfAttempt,
  isOpenContainer,
  isWork,
  nodeAt,
  SKIPPED,
  removeFromCounters,
} from './state.ts';
import type { NodeState, Drain, FramePath, OpenContainer, Work } from './state.ts';
import type { DrainScope, StepContext } from './step-context.ts';

// A drain is the end phase of a run, container or branch. R17: nothing new starts in it: waits, pauses, children and
// pending retries end immediately, and running work gets a grace period. R18: afterwards running work is aborted. R19:
// an outer drain replaces the inner ones.

/** Starts to drain `scope` because of the node at `cause`. */
export function beginDrain(
  context: StepContext,
  scope: DrainScope,
  reason: Drain['why'],
  cause?: Address,
): void {
  const drain: Drain = {
    why: reason,
    running: 0,
    dueMs: context.atMs + context.state.graceMs,
    ...(cause && { cause }),
  };
  for (const { framePath, index } of collectOpenWork(context, scope)) {
    if (context.state.graceMs > 0 && hasGracePeriod(framePath, index)) drain.running++;
    else abortWork(context, framePath, index, reason);
  }
  if (scope.kind === 'run') {
    context.state.phase = 'draining';
    context.state.drain = drain;
  } else if (scope.kind === 'container') containerAt(scope.framePath, scope.index).drain = drain;
  else scope.framePath.frame.drain = drain;
  if (drain.running === 0) finishDrain(context, scope, drain);
  else context.commands.push({ type: 'timer', at: scopeAddress(scope), timer: 'grace', dueMs: drain.dueMs });
}

/** Applies an event to work in a drain. The event can only end this work: nothing else starts. */
export function updateDrainingWork(
  context: StepContext,
  location: FrameLocation,
  index: number,
  event: Event,
): boolean {
  const { framePath, enclosingDrain } = location;
  const nodeState = framePath.frame.cells[index];
  if (!enclosingDrain || nodeState === undefined) return false;
  if (isOpenContainer(nodeState)) {
    if (!answersExpand(nodeState, event)) return false;
    nodeState.asking = false;
  } else {
    const finalNodeState =
      isWork(nodeState) && nodeState.w === 'run' ? finalNodeStateOf(nodeState, event) : undefined;
    if (finalNodeState === undefined) return false;
    framePath.frame.cells[index] = finalNodeState;
    reportEnd(context, location, index, { event, reason: enclosingDrain.drain.why });
  }
  context.state.busy--;
  if (--enclosingDrain.drain.running === 0) finishDrain(context, enclosingDrain.scope, enclosingDrain.drain);
  return true;
}

/** Returns the state of a node with an attempt in flight after `event`; undefined if the attempt continues. */
function finalNodeStateOf(work: Extract<Work, { w: 'run' }>, event: Event): NodeState | undefined {
  if (!isOfAttempt(work, event)) return undefined;
  if (event.type === 'completed') return event.port ?? 'source';
  return event.type === 'paused' ? SKIPPED : 'error';
}

function reportEnd(
  context: StepContext,
  location: FrameLocation,
  index: number,
  { event, reason }: { event: Event; reason: Drain['why'] },
): void {
  if (event.type === 'paused' && event.continues)
    context.commands.push({ type: 'abort', at: event.at, why: reason });
  else if (event.type === 'failed' || event.type === 'fired')
    reportFailure(context, location, index, event.type === 'fired');
}

function reportFailure(
  context: StepContext,
  location: FrameLocation,
  index: number,
  timedOut: boolean,
): void {
  const at = addressOf(location.framePath, index);
  if (timedOut) context.commands.push({ type: 'abort', at, why: 'timeout' });
  context.transitions.push({ type: 'failed', at, handled: false, ...(timedOut && { timedOut }) });
}

/** Ends the grace period: aborts all work that still runs. */
export function abortDrain(context: StepContext, scope: DrainScope, drain: Drain, reason: AbortReason): void {
  for (const { framePath, index } of collectOpenWork(context, scope))
    abortWork(context, framePath, index, reason);
  finishDrain(context, scope, drain);
}

/**
 * Ends a drain in which nothing is running: the run ends, the container fails, or the branch closes with its error.
 */
function finishDrain(context: StepContext, scope: DrainScope, drain: Drain): void {
  const { why: drainReason, cause } = drain;
  if (scope.kind === 'run') {
    const outcome =
      drainReason === 'failed'
        ? ({ status: 'failed', reason: 'block' } as const)
        : ({ status: 'completed' } as const);
    context.tasks.push({ type: 'end', ...outcome, ...(cause && { at: cause }) });
  } else if (scope.kind === 'branch') {
    context.tasks.push({ type: 'close', framePath: scope.framePath, ...(cause && { failed: cause }) });
  } else {
    const at = addressOf(scope.framePath, scope.index);
    // A container that failed by itself has already reported its transition.
    if (cause && cause.length > at.length)
      context.transitions.push({ type: 'failed', at, handled: true, cause });
    context.tasks.push({
      type: 'settle',
      framePath: scope.framePath,
      index: scope.index,
      nodeState: 'error',
    });
  }
}

/** Ends the run and aborts all open work. */
export function endRun(
  context: StepContext,
  end: { status: EndStatus; reason?: EndReason | undefined; at?: Address | undefined },
): void {
  const { state } = context;
  const { status, reason, at } = end;
  const abortReason = status === 'cancelled' ? 'cancelled' : reason === 'deadline' ? 'deadline' : 'failed';
  for (const { framePath, index } of collectOpenWork(context, { kind: 'run' }))
    abortWork(context, framePath, index, abortReason);
  state.phase = 'ended';
  state.end = { status };
  state.frame = { left: 0, cells: [] };
  delete state.drain;
  delete state.deadline;
  context.tasks.length = 0;
  context.commands.push({ type: 'end', status, ...(reason && { reason }), ...(at && { at }) });
}

/**
 * Returns true for work with a grace period: running blocks and pending `expand` commands. Child runs have their own.
 */
function hasGracePeriod(framePath: FramePath, index: number): boolean {
  const nodeState = framePath.frame.cells[index] as Work | OpenContainer;
  return (
    isOpenContainer(nodeState) || (nodeState.w === 'run' && nodeAt(framePath.region, index).class !== 'child')
  );
}

function abortWork(context: StepContext, framePath: FramePath, index: number, reason: AbortReason): void {
  const { state } = context;
  const nodeState = framePath.frame.cells[index] as Work | OpenContainer;
  context.commands.push({ type: 'abort', at: addressOf(framePath, index), why: reason });
  if (isOpenContainer(nodeState)) {
    nodeState.asking = false;
    state.busy--;
  } else {
    framePath.frame.cells[index] = SKIPPED;
    removeFromCounters(state, nodeState);
  }
}

/** Returns all open work inside `scope`, outer frames first, in index order, and removes the drains inside it (R19). */
function collectOpenWork(context: StepContext, scope: DrainScope): { framePath: FramePath; index: number }[] {
  const work: { framePath: FramePath; index: number }[] = [];
  const framePaths: FramePath[] = [];
  const enter = (framePath: FramePath, index: number): void => {
    const container = containerAt(framePath, index);
    delete container.drain;
    if (container.asking) work.push({ framePath, index });
    const { body } = nodeAt(framePath.region, index).subflow ?? {};
    for (const [key, frame] of Object.entries(container.open))
      if (body)
        framePaths.push({ region: body, frame, parent: framePath, node: index, iteration: Number(key) });
  };
  if (scope.kind === 'container') enter(scope.framePath, scope.index);
  else framePaths.push(scope.kind === 'run' ? context.root : scope.framePath);
  for (const framePath of framePaths) {
    delete framePath.frame.drain;
    framePath.frame.cells.forEach((nodeState, index) => {
      if (isWork(nodeState)) work.push({ framePath, index });
      else if (isOpenContainer(nodeState)) enter(framePath, index);
    });
  }
  return work;
}

function scopeAddress(scope: DrainScope): Address {
  if (scope.kind === 'run') return [];
  return scope.kind === 'branch' ? frameAddress(scope.framePath) : addressOf(scope.framePath, scope.index);
}

function containerAt(framePath: FramePath, index: number): OpenContainer {
  return framePath.frame.cells[index] as OpenContainer;
}
