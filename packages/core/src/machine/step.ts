import type { Address, Event, StartedEvent } from './event.ts';
import { beginDrain, cutDrain, endRun, finishDrain } from './drain.ts';
import { failNode, failTry } from './failure.ts';
import { runTry, settleNode } from './join.ts';
import { locate } from './locate.ts';
import type { Found } from './locate.ts';
import { cellsFrom } from './prepared.ts';
import { deadlineTimer, keepDeadline } from './rest.ts';
import type { Region } from './skeleton.ts';
import { cloneState, isSpan, isWork, nodeAt, SKIPPED } from './state.ts';
import type { Cell, Drain, Level, State, Work } from './state.ts';
import { closeFrame, enterContainer, expandContainer } from './subflow.ts';
import type { DrainScope, Outcome, Turn } from './turn.ts';

/** The state before the first event. */
export function initialState(): State {
  return { phase: 'running', frame: { left: 0, cells: [] }, busy: 0, timers: 0, humans: 0, graceMs: 0 };
}

/**
 * The state after `event`, and what has come of it; `state` is left as it was.
 *
 * Total: a late or duplicate event gives back the same state and no commands. Drivers that own their state use
 * `advance`, which is this function without the copy.
 */
export function step(region: Region, state: State, event: Event): [State, Outcome] {
  const next = cloneState(state);
  const outcome = advance(region, next, event);
  return [outcome.changed ? next : state, outcome];
}

/** What comes of `event`; changes `state` in place. */
export function advance(region: Region, state: State, event: Event): Outcome {
  const top: Level = { region, frame: state.frame, parent: null, node: -1, turn: 0 };
  const turn: Turn = { state, top, atMs: event.atMs, commands: [], notices: [], tasks: [] };
  const changed = state.phase !== 'ended' && dispatch(turn, event);
  if (changed) {
    workOff(turn);
    keepDeadline(turn);
  }
  return { commands: turn.commands, notices: turn.notices, changed };
}

function dispatch(turn: Turn, event: Event): boolean {
  if (event.type === 'started') return begin(turn, event);
  if (event.type === 'cancelled') {
    turn.tasks.push({ do: 'end', status: 'cancelled' });
    return true;
  }
  if (event.type === 'fired' && (event.timer === 'deadline' || event.timer === 'grace'))
    return expire(turn, event);
  const found = event.at.length % 2 === 1 ? locate(turn.state, turn.top, event.at) : undefined;
  if (!found) return false;
  const index = event.at[event.at.length - 1] as number;
  const cell = found.level.frame.cells[index];
  if (cell === undefined || typeof cell !== 'object') return false;
  if (found.draining) return drained(turn, found, index, event);
  if (isSpan(cell)) return answered(turn, found.level, index, event);
  return isWork(cell) && worked(turn, found.level, index, event);
}

/** R1 a run starts at one block; what that block does not reach takes no part. */
function begin(turn: Turn, event: StartedEvent): boolean {
  const { state, top } = turn;
  if (state.frame.cells.length > 0 || top.region.nodes[event.start] === undefined) return false;
  Object.assign(state.frame, cellsFrom(top.region, event.start));
  state.graceMs = event.graceMs;
  if (event.until !== undefined) state.until = event.until;
  if (event.timeoutMs !== undefined) {
    const dueMs = event.atMs + event.timeoutMs;
    state.deadline = { dueMs, activeOnly: event.activeOnly === true };
    turn.commands.push(deadlineTimer(dueMs));
  }
  turn.tasks.push({ do: 'start', level: top, index: event.start });
  return true;
}

/** An open container that asked: its turns or branches, or the failure to know them. */
function answered(turn: Turn, level: Level, index: number, event: Event): boolean {
  const span = level.frame.cells[index] as Extract<Cell, { open: unknown }>;
  if (!span.asking) return false;
  if (event.type === 'expanded' && event.turn === span.next) expandContainer(turn, level, index, event.count);
  else if (event.type === 'failed') {
    span.asking = false;
    turn.state.busy--;
    turn.tasks.push({ do: 'fail', level, index, failure: { retryable: false } });
  } else return false;
  return true;
}

/** A block with work in flight. */
function worked(turn: Turn, level: Level, index: number, event: Event): boolean {
  const work = level.frame.cells[index] as Work;
  const { state } = turn;
  if (work.w === 'run' || work.w === 'blocked') return ran(turn, level, index, event);
  if (work.w === 'pause' && event.type === 'resumed') state.humans--;
  else if (work.w === 'wait' && event.type === 'fired' && event.timer === 'wait') state.timers--;
  else if (
    work.w === 'retry' &&
    event.type === 'fired' &&
    event.timer === 'retry' &&
    event.try === work.try
  ) {
    state.busy--;
    runTry(turn, level, index, work.try);
    return true;
  } else return false;
  turn.tasks.push({ do: 'settle', level, index, cell: 'source' });
  return true;
}

/** A try in flight: its end, its pause, its time-out, or news of its child run. */
function ran(turn: Turn, level: Level, index: number, event: Event): boolean {
  const work = level.frame.cells[index] as Extract<Work, { w: 'run' | 'blocked' }>;
  if (event.type === 'blocked') return block(turn, level, index, event.on);
  if (!('try' in event) || event.try !== work.try) return false;
  if (event.type === 'fired' && event.timer !== 'timeout') return false;
  leave(turn.state, work);
  if (event.type === 'completed')
    turn.tasks.push({ do: 'settle', level, index, cell: event.port ?? 'source' });
  else if (event.type === 'failed') failTry(turn, level, index, work.try, event);
  else if (event.type === 'paused') pause(turn, level, index, event);
  else {
    turn.commands.push({ type: 'abort', at: (event as { at: Address }).at, why: 'timeout' });
    failTry(turn, level, index, work.try, { timedOut: true });
  }
  return true;
}

function leave(state: State, work: Extract<Work, { w: 'run' | 'blocked' }>): void {
  if (work.w === 'run') state.busy--;
  else if (work.on === 'time') state.timers--;
  else state.humans--;
}

function pause(turn: Turn, level: Level, index: number, event: Extract<Event, { type: 'paused' }>): void {
  if (event.kind === 'time') {
    const dueMs = event.dueMs ?? event.atMs;
    turn.state.timers++;
    level.frame.cells[index] = { w: 'wait', dueMs };
    turn.commands.push({ type: 'timer', at: event.at, timer: 'wait', dueMs });
    return;
  }
  turn.state.humans++;
  level.frame.cells[index] = { w: 'pause' };
  turn.commands.push({ type: 'open', at: event.at });
}

/** R15 a child that is blocked blocks its parent's rest, not its work. */
function block(turn: Turn, level: Level, index: number, on: 'human' | 'time' | null): boolean {
  const work = level.frame.cells[index] as Extract<Work, { w: 'run' | 'blocked' }>;
  if (nodeAt(level.region, index).class !== 'child' || (work.w === 'blocked' ? work.on : null) === on)
    return false;
  leave(turn.state, work);
  const due = work.dueMs === undefined ? {} : { dueMs: work.dueMs };
  if (on === null) turn.state.busy++;
  else if (on === 'time') turn.state.timers++;
  else turn.state.humans++;
  level.frame.cells[index] =
    on === null ? { w: 'run', try: work.try, ...due } : { w: 'blocked', try: work.try, on, ...due };
  return true;
}

/** Work in something that is being given up: it only counts down. */
function drained(turn: Turn, found: Found, index: number, event: Event): boolean {
  const { level, draining } = found;
  const cell = level.frame.cells[index] as Extract<Cell, object>;
  if (isSpan(cell)) {
    if (!cell.asking || (event.type !== 'expanded' && event.type !== 'failed')) return false;
    cell.asking = false;
  } else {
    const ends = event.type === 'completed' || event.type === 'failed' || event.type === 'paused';
    if (cell.w !== 'run' || !ends || event.try !== cell.try) return false;
    level.frame.cells[index] =
      event.type === 'completed' ? (event.port ?? 'source') : event.type === 'failed' ? 'error' : SKIPPED;
    if (event.type === 'failed') turn.notices.push({ type: 'failed', at: event.at, handled: false });
  }
  turn.state.busy--;
  const { scope, drain } = draining as { scope: DrainScope; drain: Drain };
  if (--drain.running === 0) finishDrain(turn, scope, drain);
  return true;
}

/** R14 the run's time, or the grace of something given up, is over. */
function expire(turn: Turn, event: Extract<Event, { type: 'fired' }>): boolean {
  if (event.timer === 'deadline') {
    const { deadline } = turn.state;
    if (deadline?.dueMs === undefined || event.atMs < deadline.dueMs) return false;
    turn.tasks.push({ do: 'end', status: 'failed', reason: 'deadline' });
    return true;
  }
  const target = drainAt(turn, event.at);
  if (!target) return false;
  cutDrain(turn, target.scope, target.drain);
  return true;
}

function drainAt(turn: Turn, at: Address): { scope: DrainScope; drain: Drain } | undefined {
  if (at.length === 0) return turn.state.drain && { scope: { of: 'run' }, drain: turn.state.drain };
  if (at.length % 2 === 0) {
    const level = locate(turn.state, turn.top, [...at, 0])?.level;
    return level?.frame.drain && { scope: { of: 'branch', level }, drain: level.frame.drain };
  }
  const level = locate(turn.state, turn.top, at)?.level;
  const index = at[at.length - 1] as number;
  const cell = level?.frame.cells[index];
  if (!level || cell === undefined || !isSpan(cell) || !cell.drain) return undefined;
  return { scope: { of: 'container', level, index }, drain: cell.drain };
}

/** Works off the tasks in order; what belongs to something that is being given up is dropped. */
function workOff(turn: Turn): void {
  const { tasks } = turn;
  for (let head = 0; head < tasks.length; head++) {
    const task = tasks[head] as Turn['tasks'][number];
    if (task.do === 'end') endRun(turn, task.status, task.reason, task.at);
    else if (task.do === 'drain') giveUp(turn, task.scope, task.why, task.cause);
    else if (task.do === 'close') close(turn, task.level, task.failed);
    else if (!isGivenUp(turn, task.level)) {
      if (task.do === 'settle') settleNode(turn, task.level, task.index, task.cell);
      else if (task.do === 'fail') failNode(turn, task.level, task.index, task.failure);
      else if (nodeAt(task.level.region, task.index).subflow) enterContainer(turn, task.level, task.index);
      else runTry(turn, task.level, task.index, 1);
    }
  }
  tasks.length = 0;
}

/** A branch that collects its error is itself given up when it closes, so only what is around it counts. */
function close(turn: Turn, level: Level, failed: Address | undefined): void {
  if (failed) delete level.frame.drain;
  if (!isGivenUp(turn, level)) closeFrame(turn, level, failed);
}

function giveUp(turn: Turn, scope: DrainScope, why: Drain['why'], cause: Address | undefined): void {
  if (scope.of === 'run' ? turn.state.drain !== undefined : isGivenUp(turn, scope.level)) return;
  if (scope.of === 'container' && (scope.level.frame.cells[scope.index] as { drain?: Drain }).drain) return;
  beginDrain(turn, scope, why, cause);
}

/** True when the frame of `level` is closed, or is part of something that is being given up. */
function isGivenUp(turn: Turn, level: Level): boolean {
  if (turn.state.phase !== 'running') return true;
  for (let inner = level; ; inner = inner.parent) {
    if (inner.frame.drain) return true;
    if (!inner.parent) return false;
    const span = inner.parent.frame.cells[inner.node];
    if (span === undefined || !isSpan(span) || span.drain || span.open[inner.turn] !== inner.frame)
      return true;
  }
}
