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
  why: Drain['why'],
  cause?: Address,
): void {
  const drain: Drain = {
    why,
    running: 0,
    dueMs: context.atMs + context.state.graceMs,
    ...(cause && { cause }),
  };
  for (const { level, index } of collectOpenWork(context, scope)) {
    if (context.state.graceMs > 0 && hasGrace(level, index)) drain.running++;
    else stop(context, level, index, why);
  }
  if (scope.of === 'run') {
    context.state.phase = 'draining';
    context.state.drain = drain;
  } else if (scope.of === 'container') containerAt(scope.level, scope.index).drain = drain;
  else scope.level.frame.drain = drain;
  if (drain.running === 0) finishDrain(context, scope, drain);
  else context.commands.push({ type: 'timer', at: scopeAddress(scope), timer: 'grace', dueMs: drain.dueMs });
}

/** Applies an event to work in a drain. The event can only end this work: nothing else starts. */
export function updateDraining(
  context: StepContext,
  location: FrameLocation,
  index: number,
  event: Event,
): boolean {
  const { level, draining } = location;
  const cell = level.frame.cells[index];
  if (!draining || cell === undefined) return false;
  if (isOpenContainer(cell)) {
    if (!answersExpand(cell, event)) return false;
    cell.asking = false;
  } else {
    const last = isWork(cell) && cell.w === 'run' ? lastCell(cell, event) : undefined;
    if (last === undefined) return false;
    level.frame.cells[index] = last;
    reportEnd(context, location, index, { event, why: draining.drain.why });
  }
  context.state.busy--;
  if (--draining.drain.running === 0) finishDrain(context, draining.scope, draining.drain);
  return true;
}

/** Returns the cell of an attempt in flight after `event`; undefined if the attempt continues. */
function lastCell(work: Extract<Work, { w: 'run' }>, event: Event): Cell | undefined {
  if (!isOfAttempt(work, event)) return undefined;
  if (event.type === 'completed') return event.port ?? 'source';
  return event.type === 'paused' ? SKIPPED : 'error';
}

function reportEnd(
  context: StepContext,
  location: FrameLocation,
  index: number,
  { event, why }: { event: Event; why: Drain['why'] },
): void {
  if (event.type === 'paused' && event.continues) context.commands.push({ type: 'abort', at: event.at, why });
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
  context.notices.push({ type: 'failed', at, handled: false, ...(timedOut && { timedOut }) });
}

/** Ends the grace period: aborts all work that still runs. */
export function abortDrain(context: StepContext, scope: DrainScope, drain: Drain, why: AbortReason): void {
  for (const { level, index } of collectOpenWork(context, scope)) stop(context, level, index, why);
  finishDrain(context, scope, drain);
}

/**
 * Ends a drain in which nothing is running: the run ends, the container fails, or the branch closes with its error.
 */
function finishDrain(context: StepContext, scope: DrainScope, drain: Drain): void {
  const { why, cause } = drain;
  if (scope.of === 'run') {
    const outcome =
      why === 'failed'
        ? ({ status: 'failed', reason: 'block' } as const)
        : ({ status: 'completed' } as const);
    context.tasks.push({ do: 'end', ...outcome, ...(cause && { at: cause }) });
  } else if (scope.of === 'branch') {
    context.tasks.push({ do: 'close', level: scope.level, ...(cause && { failed: cause }) });
  } else {
    const at = addressOf(scope.level, scope.index);
    // A container that failed by itself has already sent its notice.
    if (cause && cause.length > at.length) context.notices.push({ type: 'failed', at, handled: true, cause });
    context.tasks.push({ do: 'settle', level: scope.level, index: scope.index, cell: 'error' });
  }
}

/** Ends the run and aborts all open work. */
export function endRun(
  context: StepContext,
  end: { status: EndStatus; reason?: EndReason | undefined; at?: Address | undefined },
): void {
  const { state } = context;
  const { status, reason, at } = end;
  const why = status === 'cancelled' ? 'cancelled' : reason === 'deadline' ? 'deadline' : 'failed';
  for (const { level, index } of collectOpenWork(context, { of: 'run' })) stop(context, level, index, why);
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
function hasGrace(level: Level, index: number): boolean {
  const cell = level.frame.cells[index] as Work | OpenContainer;
  return isOpenContainer(cell) || (cell.w === 'run' && nodeAt(level.region, index).class !== 'child');
}

function stop(context: StepContext, level: Level, index: number, why: AbortReason): void {
  const { state } = context;
  const cell = level.frame.cells[index] as Work | OpenContainer;
  context.commands.push({ type: 'abort', at: addressOf(level, index), why });
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
  if (scope.of === 'container') enter(scope.level, scope.index);
  else levels.push(scope.of === 'run' ? context.root : scope.level);
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
  if (scope.of === 'run') return [];
  return scope.of === 'branch' ? frameAddress(scope.level) : addressOf(scope.level, scope.index);
}

function containerAt(level: Level, index: number): OpenContainer {
  return level.frame.cells[index] as OpenContainer;
}
