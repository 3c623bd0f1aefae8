import type { AbortReason, EndReason, EndStatus } from './command.ts';
import type { Address } from './event.ts';
import { addressOf, frameAddress, isSpan, isWork, nodeAt, SKIPPED } from './state.ts';
import type { Drain, Level, Span, Work } from './state.ts';
import type { DrainScope, Turn } from './turn.ts';

// What becomes of the rest? R13 nothing new starts; waits, pauses and children end at once; running work gets its grace.

/** Gives up what `scope` names. */
export function beginDrain(
  turn: Turn,
  scope: DrainScope,
  why: Drain['why'],
  cause: Address | undefined,
): void {
  const drain: Drain = { why, running: 0, dueMs: turn.atMs + turn.state.graceMs, ...(cause && { cause }) };
  const abort = why as AbortReason;
  each(scope, turn, (level, index, work) => {
    if (work === 'asking' || (work.w === 'run' && nodeAt(level.region, index).class !== 'child'))
      drain.running++;
    else stop(turn, level, index, work, abort);
  });
  if (scope.of === 'run') {
    turn.state.phase = 'draining';
    turn.state.drain = drain;
  } else if (scope.of === 'container') spanOf(scope.level, scope.index).drain = drain;
  else scope.level.frame.drain = drain;
  if (drain.running === 0) finishDrain(turn, scope, drain);
  else if (turn.state.graceMs === 0) cutDrain(turn, scope, drain);
  else turn.commands.push({ type: 'timer', at: scopeAddress(scope), timer: 'grace', dueMs: drain.dueMs });
}

/** The grace is over: what still runs is aborted. */
export function cutDrain(turn: Turn, scope: DrainScope, drain: Drain): void {
  stopAll(turn, scope, drain.why);
  finishDrain(turn, scope, drain);
}

/** Nothing runs any more in `scope`: the run ends, the container fails, or the branch closes with its error. */
export function finishDrain(turn: Turn, scope: DrainScope, drain: Drain): void {
  if (scope.of === 'run') {
    const status = drain.why === 'failed' ? 'failed' : 'completed';
    turn.tasks.push({
      do: 'end',
      status,
      ...(drain.why === 'failed' && { reason: 'block' }),
      ...(drain.cause && { at: drain.cause }),
    });
    return;
  }
  if (scope.of === 'branch') {
    turn.tasks.push({ do: 'close', level: scope.level, ...(drain.cause && { failed: drain.cause }) });
    return;
  }
  const at = addressOf(scope.level, scope.index);
  const own = drain.cause?.length === at.length;
  if (!own)
    turn.notices.push({ type: 'failed', at, handled: true, ...(drain.cause && { cause: drain.cause }) });
  turn.tasks.push({ do: 'settle', level: scope.level, index: scope.index, cell: 'error' });
}

/** The run is over; whatever is still open is aborted. */
export function endRun(
  turn: Turn,
  status: EndStatus,
  reason: EndReason | undefined,
  at: Address | undefined,
): void {
  const { state } = turn;
  if (status !== 'completed')
    stopAll(
      turn,
      { of: 'run' },
      status === 'cancelled' ? 'cancelled' : reason === 'deadline' ? 'deadline' : 'failed',
    );
  state.phase = 'ended';
  state.end = { status };
  state.busy = state.timers = state.humans = 0;
  state.frame = { left: 0, cells: [] };
  delete state.drain;
  delete state.deadline;
  turn.tasks.length = 0;
  turn.commands.push({ type: 'end', status, ...(reason && { reason }), ...(at && { at }) });
}

function stopAll(turn: Turn, scope: DrainScope, why: AbortReason): void {
  each(scope, turn, (level, index, work) => stop(turn, level, index, work, why));
}

function stop(turn: Turn, level: Level, index: number, work: Work | 'asking', why: AbortReason): void {
  const { state } = turn;
  turn.commands.push({ type: 'abort', at: addressOf(level, index), why });
  if (work === 'asking') {
    spanOf(level, index).asking = false;
    state.busy--;
    return;
  }
  level.frame.cells[index] = SKIPPED;
  if (work.w === 'run' || work.w === 'retry') state.busy--;
  else if (work.w === 'wait' || (work.w === 'blocked' && work.on === 'time')) state.timers--;
  else state.humans--;
}

/** Calls `visit` for every piece of work inside `scope`, in index order, outer frames first. */
function each(
  scope: DrainScope,
  turn: Turn,
  visit: (level: Level, index: number, work: Work | 'asking') => void,
): void {
  const levels: Level[] = [];
  if (scope.of === 'run') levels.push(turn.top);
  else if (scope.of === 'branch') levels.push(scope.level);
  else visitContainer(scope.level, scope.index);
  for (const level of levels) {
    delete level.frame.drain;
    level.frame.cells.forEach((cell, index) => {
      if (isWork(cell)) visit(level, index, cell);
      else if (isSpan(cell)) visitContainer(level, index);
    });
  }

  function visitContainer(level: Level, index: number): void {
    const span = spanOf(level, index);
    delete span.drain;
    if (span.asking) visit(level, index, 'asking');
    const { body } = nodeAt(level.region, index).subflow ?? {};
    for (const turnNumber of Object.keys(span.open)) {
      const frame = span.open[Number(turnNumber)];
      if (body && frame)
        levels.push({ region: body, frame, parent: level, node: index, turn: Number(turnNumber) });
    }
  }
}

function scopeAddress(scope: DrainScope): Address {
  if (scope.of === 'run') return [];
  return scope.of === 'branch' ? frameAddress(scope.level) : addressOf(scope.level, scope.index);
}

function spanOf(level: Level, index: number): Span {
  return level.frame.cells[index] as Span;
}
