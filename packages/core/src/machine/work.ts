import type { Event } from './event.ts';
import { failNode, failTry } from './failure.ts';
import { runTry } from './join.ts';
import { endsAsking, nodeAt, uncount } from './state.ts';
import type { Level, Span, Work } from './state.ts';
import { expandContainer } from './subflow.ts';
import type { Turn } from './turn.ts';

// What does an event mean for the work it is about? False: nothing, it comes late or twice (R30).

/** News for an open container: its turns or branches, or the failure to know them. */
export function answerSpan(turn: Turn, level: Level, index: number, event: Event): boolean {
  const span = level.frame.cells[index] as Span;
  if (!endsAsking(span, event)) return false;
  span.asking = false;
  turn.state.busy--;
  if (event.type === 'expanded') expandContainer(turn, level, index, event.count);
  else failNode(turn, level, index, {});
  return true;
}

/** News for a block with work in flight. */
export function answerWork(turn: Turn, level: Level, index: number, event: Event): boolean {
  const work = level.frame.cells[index] as Work;
  if (work.w === 'run' || work.w === 'blocked')
    return event.type === 'blocked'
      ? blockTry(turn, level, index, event.on)
      : endTry(turn, level, index, event);
  if (!isAwaited(work, event)) return false;
  uncount(turn.state, work);
  if (work.w === 'retry') runTry(turn, level, index, work.try);
  else turn.tasks.push({ do: 'settle', level, index, cell: 'source' });
  return true;
}

/** True when `event` is what a pause, a wait or a try to come waits for. */
function isAwaited(work: Exclude<Work, { w: 'run' | 'blocked' }>, event: Event): boolean {
  if (work.w === 'pause') return event.type === 'resumed';
  if (event.type !== 'fired' || event.timer !== work.w) return false;
  return work.w === 'wait' || event.try === work.try;
}

/** The end of a try: by its result, its pause or its time-out (R21). */
function endTry(turn: Turn, level: Level, index: number, event: Event): boolean {
  const work = level.frame.cells[index] as Extract<Work, { w: 'run' | 'blocked' }>;
  if (!('try' in event) || event.try !== work.try) return false;
  if (event.type === 'fired' && (event.timer !== 'timeout' || work.dueMs === undefined)) return false;
  uncount(turn.state, work);
  if (event.type === 'completed')
    turn.tasks.push({ do: 'settle', level, index, cell: event.port ?? 'source' });
  else if (event.type === 'paused') pause(turn, level, index, event);
  else if (event.type === 'failed') failTry(turn, level, index, event);
  else {
    turn.commands.push({ type: 'abort', at: event.at, why: 'timeout' });
    failTry(turn, level, index, { try: work.try, timedOut: true });
  }
  return true;
}

/** R22 a person, or R23 a timer, ends the block. */
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

/** R24: what blocks a child run blocks its parent's rest, not the try. */
function blockTry(turn: Turn, level: Level, index: number, on: 'human' | 'time' | null): boolean {
  const work = level.frame.cells[index] as Extract<Work, { w: 'run' | 'blocked' }>;
  const before = work.w === 'blocked' ? work.on : null;
  if (nodeAt(level.region, index).class !== 'child' || before === on) return false;
  uncount(turn.state, work);
  const due = work.dueMs === undefined ? {} : { dueMs: work.dueMs };
  if (on === null) turn.state.busy++;
  else if (on === 'time') turn.state.timers++;
  else turn.state.humans++;
  level.frame.cells[index] =
    on === null ? { w: 'run', try: work.try, ...due } : { w: 'blocked', try: work.try, on, ...due };
  return true;
}
