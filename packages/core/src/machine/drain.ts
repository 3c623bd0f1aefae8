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
import type { Cell, Drain, Level, OpenContainer, Work } from './state.ts';
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
  for (const { level, index } of collectOpenWork(context, scope)) {
    if (context.state.graceMs > 0 && hasGracePeriod(level, index)) drain.running++;
    else abortWork(context, level, index, reason);
  }
  if (scope.kind === 'run') {
    context.state.phase = 'draining';
    context.state.drain = drain;
  } else if (scope.kind === 'container') containerAt(scope.level, scope.index).drain = drain;
  else scope.level.frame.drain = drain;
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
  const { level, enclosingDrain } = location;
  const cell = level.frame.cells[index];
  if (!enclosingDrain || cell === undefined) return false;
  if (isOpenContainer(cell)) {
    if (!answersExpand(cell, event)) return false;
    cell.asking = false;
  } else {
    const finalCell = isWork(cell) && cell.w === 'run' ? finalCellOf(cell, event) : undefined;
    if (finalCell === undefined) return false;
    level.frame.cells[index] = finalCell;
    reportEnd(context, location, index, { event, reason: enclosingDrain.drain.why });
  }
  context.state.busy--;
  if (--enclosingDrain.drain.running === 0) finishDrain(context, enclosingDrain.scope, enclosingDrain.drain);
  return true;
}

/** Returns the cell of an attempt in flight after `event`; undefined if the attempt continues. */
function finalCellOf(work: Extract<Work, { w: 'run' }>, event: Event): Cell | undefined {
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
  const at = addressOf(location.level, index);
  if (timedOut) context.commands.push({ type: 'abort', at, why: 'timeout' });
  context.transitions.push({ type: 'failed', at, handled: false, ...(timedOut && { timedOut }) });
}

/** Ends the grace period: aborts all work that still runs. */
export function abortDrain(context: StepContext, scope: DrainScope, drain: Drain, reason: AbortReason): void {
  for (const { level, index } of collectOpenWork(context, scope)) abortWork(context, level, index, reason);
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
    context.tasks.push({ type: 'close', level: scope.level, ...(cause && { failed: cause }) });
  } else {
    const at = addressOf(scope.level, scope.index);
    // A container that failed by itself has already reported its transition.
    if (cause && cause.length > at.length)
      context.transitions.push({ type: 'failed', at, handled: true, cause });
    context.tasks.push({ type: 'settle', level: scope.level, index: scope.index, cell: 'error' });
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
  for (const { level, index } of collectOpenWork(context, { kind: 'run' }))
    abortWork(context, level, index, abortReason);
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
function hasGracePeriod(level: Level, index: number): boolean {
  const cell = level.frame.cells[index] as Work | OpenContainer;
  return isOpenContainer(cell) || (cell.w === 'run' && nodeAt(level.region, index).class !== 'child');
}

function abortWork(context: StepContext, level: Level, index: number, reason: AbortReason): void {
  const { state } = context;
  const cell = level.frame.cells[index] as Work | OpenContainer;
  context.commands.push({ type: 'abort', at: addressOf(level, index), why: reason });
  if (isOpenContainer(cell)) {
    cell.asking = false;
    state.busy--;
  } else {
    level.frame.cells[index] = SKIPPED;
    removeFromCounters(state, cell);
  }
}

/** Returns all open work inside `scope`, outer frames first, in index order, and removes the drains inside it (R19). */
function collectOpenWork(context: StepContext, scope: DrainScope): { level: Level; index: number }[] {
  const work: { level: Level; index: number }[] = [];
  const levels: Level[] = [];
  const enter = (level: Level, index: number): void => {
    const container = containerAt(level, index);
    delete container.drain;
    if (container.asking) work.push({ level, index });
    const { body } = nodeAt(level.region, index).subflow ?? {};
    for (const [key, frame] of Object.entries(container.open))
      if (body) levels.push({ region: body, frame, parent: level, node: index, iteration: Number(key) });
  };
  if (scope.kind === 'container') enter(scope.level, scope.index);
  else levels.push(scope.kind === 'run' ? context.root : scope.level);
  for (const level of levels) {
    delete level.frame.drain;
    level.frame.cells.forEach((cell, index) => {
      if (isWork(cell)) work.push({ level, index });
      else if (isOpenContainer(cell)) enter(level, index);
    });
  }
  return work;
}

function scopeAddress(scope: DrainScope): Address {
  if (scope.kind === 'run') return [];
  return scope.kind === 'branch' ? frameAddress(scope.level) : addressOf(scope.level, scope.index);
}

function containerAt(level: Level, index: number): OpenContainer {
  return level.frame.cells[index] as OpenContainer;
}
