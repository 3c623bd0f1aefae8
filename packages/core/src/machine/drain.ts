import type { AbortReason, EndReason, EndStatus } from './command.ts';
import type { Address, Event } from './event.ts';
import type { Found } from './locate.ts';
import { addressOf, endsAsking, frameAddress, isSpan, isWork, nodeAt, SKIPPED, uncount } from './state.ts';
import type { Cell, Drain, Level, Span, Work } from './state.ts';
import type { DrainScope, Turn } from './turn.ts';

// What becomes of the rest? R17 nothing new starts in what is given up: waits, pauses, children and tries to come end at
// once, running work gets its grace; R18 then it is aborted; R19 an outer giving-up takes over the inner ones.

/** Gives up what `scope` names, because of the node at `cause`. */
export function beginDrain(turn: Turn, scope: DrainScope, why: Drain['why'], cause?: Address): void {
  const drain: Drain = { why, running: 0, dueMs: turn.atMs + turn.state.graceMs, ...(cause && { cause }) };
  for (const { level, index } of takeOver(turn, scope)) {
    if (turn.state.graceMs > 0 && hasGrace(level, index)) drain.running++;
    else stop(turn, level, index, why);
  }
  if (scope.of === 'run') {
    turn.state.phase = 'draining';
    turn.state.drain = drain;
  } else if (scope.of === 'container') spanOf(scope.level, scope.index).drain = drain;
  else scope.level.frame.drain = drain;
  if (drain.running === 0) finishDrain(turn, scope, drain);
  else turn.commands.push({ type: 'timer', at: scopeAddress(scope), timer: 'grace', dueMs: drain.dueMs });
}

/** An event for work in something that is given up: it is written down, and counts down to the end; nothing follows from it. */
export function countDown(turn: Turn, found: Found, index: number, event: Event): boolean {
  const { level, draining } = found;
  const cell = level.frame.cells[index];
  if (!draining || cell === undefined) return false;
  if (isSpan(cell)) {
    if (!endsAsking(cell, event)) return false;
    cell.asking = false;
  } else {
    const last = isWork(cell) && cell.w === 'run' ? lastCell(cell, event) : undefined;
    if (last === undefined) return false;
    level.frame.cells[index] = last;
    if (event.type !== 'completed' && last === 'error')
      noteFailure(turn, found, index, event.type === 'fired');
  }
  turn.state.busy--;
  if (--draining.drain.running === 0) finishDrain(turn, draining.scope, draining.drain);
  return true;
}

/** How a try that is in flight ends by `event`; undefined when it does not. */
function lastCell(work: Extract<Work, { w: 'run' }>, event: Event): Cell | undefined {
  if (!('try' in event) || event.try !== work.try) return undefined;
  if (event.type === 'completed') return event.port ?? 'source';
  if (event.type === 'failed') return 'error';
  if (event.type === 'paused') return SKIPPED;
  return event.timer === 'timeout' && work.dueMs !== undefined ? 'error' : undefined;
}

function noteFailure(turn: Turn, found: Found, index: number, timedOut: boolean): void {
  const at = addressOf(found.level, index);
  if (timedOut) turn.commands.push({ type: 'abort', at, why: 'timeout' });
  turn.notices.push({ type: 'failed', at, handled: false, ...(timedOut && { timedOut }) });
}

/** The grace is over: what still runs is aborted. */
export function cutDrain(turn: Turn, scope: DrainScope, drain: Drain, why: AbortReason): void {
  for (const { level, index } of takeOver(turn, scope)) stop(turn, level, index, why);
  finishDrain(turn, scope, drain);
}

/** Nothing runs any more in `scope`: the run ends, the container fails, or the branch closes with its error. */
function finishDrain(turn: Turn, scope: DrainScope, drain: Drain): void {
  const { why, cause } = drain;
  if (scope.of === 'run') {
    const how =
      why === 'failed'
        ? ({ status: 'failed', reason: 'block' } as const)
        : ({ status: 'completed' } as const);
    turn.tasks.push({ do: 'end', ...how, ...(cause && { at: cause }) });
  } else if (scope.of === 'branch') {
    turn.tasks.push({ do: 'close', level: scope.level, ...(cause && { failed: cause }) });
  } else {
    const at = addressOf(scope.level, scope.index);
    // A container that has failed by itself has said so already.
    if (cause && cause.length > at.length) turn.notices.push({ type: 'failed', at, handled: true, cause });
    turn.tasks.push({ do: 'settle', level: scope.level, index: scope.index, cell: 'error' });
  }
}

/** The run is over; whatever is still open is aborted. */
export function endRun(
  turn: Turn,
  end: { status: EndStatus; reason?: EndReason | undefined; at?: Address | undefined },
): void {
  const { state } = turn;
  const { status, reason, at } = end;
  const why = status === 'cancelled' ? 'cancelled' : reason === 'deadline' ? 'deadline' : 'failed';
  for (const { level, index } of takeOver(turn, { of: 'run' })) stop(turn, level, index, why);
  state.phase = 'ended';
  state.end = { status };
  state.frame = { left: 0, cells: [] };
  delete state.drain;
  delete state.deadline;
  turn.tasks.length = 0;
  turn.commands.push({ type: 'end', status, ...(reason && { reason }), ...(at && { at }) });
}

/** Blocks that run and containers that ask are waited for; a child run is not: it has a grace of its own. */
function hasGrace(level: Level, index: number): boolean {
  const cell = level.frame.cells[index] as Work | Span;
  return isSpan(cell) || (cell.w === 'run' && nodeAt(level.region, index).class !== 'child');
}

function stop(turn: Turn, level: Level, index: number, why: AbortReason): void {
  const { state } = turn;
  const cell = level.frame.cells[index] as Work | Span;
  turn.commands.push({ type: 'abort', at: addressOf(level, index), why });
  if (isSpan(cell)) {
    cell.asking = false;
    state.busy--;
  } else {
    level.frame.cells[index] = SKIPPED;
    uncount(state, cell);
  }
}

/** Every piece of open work inside `scope`, outer frames first, in index order; drains inside of it are over (R19). */
function takeOver(turn: Turn, scope: DrainScope): { level: Level; index: number }[] {
  const work: { level: Level; index: number }[] = [];
  const levels: Level[] = [];
  const enter = (level: Level, index: number): void => {
    const span = spanOf(level, index);
    delete span.drain;
    if (span.asking) work.push({ level, index });
    const { body } = nodeAt(level.region, index).subflow ?? {};
    for (const [key, frame] of Object.entries(span.open))
      if (body) levels.push({ region: body, frame, parent: level, node: index, turn: Number(key) });
  };
  if (scope.of === 'container') enter(scope.level, scope.index);
  else levels.push(scope.of === 'run' ? turn.top : scope.level);
  for (const level of levels) {
    delete level.frame.drain;
    level.frame.cells.forEach((cell, index) => {
      if (isWork(cell)) work.push({ level, index });
      else if (isSpan(cell)) enter(level, index);
    });
  }
  return work;
}

function scopeAddress(scope: DrainScope): Address {
  if (scope.of === 'run') return [];
  return scope.of === 'branch' ? frameAddress(scope.level) : addressOf(scope.level, scope.index);
}

function spanOf(level: Level, index: number): Span {
  return level.frame.cells[index] as Span;
}
