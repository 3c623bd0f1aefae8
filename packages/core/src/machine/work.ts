import type { Event } from './event.ts';
import { failNode, failAttempt } from './failure.ts';
import { startAttempt } from './join.ts';
import { answersExpand, nodeAt, removeFromCounters } from './state.ts';
import type { Level, OpenContainer, Work } from './state.ts';
import { expandContainer } from './subflow.ts';
import type { StepContext } from './step-context.ts';

// What does an event mean for the work it is about? False: nothing, it comes late or twice (R30).

/** News for an open container: its turns or branches, or the failure to know them. */
export function updateContainer(context: StepContext, level: Level, index: number, event: Event): boolean {
  const span = level.frame.cells[index] as OpenContainer;
  if (!answersExpand(span, event)) return false;
  span.asking = false;
  context.state.busy--;
  if (event.type === 'expanded') expandContainer(context, level, index, event.count);
  else failNode(context, level, index, {});
  return true;
}

/** News for a block with work in flight. */
export function updateWork(context: StepContext, level: Level, index: number, event: Event): boolean {
  const work = level.frame.cells[index] as Work;
  if (work.w === 'run' || work.w === 'blocked')
    return event.type === 'blocked'
      ? updateBlocked(context, level, index, event.on)
      : endAttempt(context, level, index, event);
  if (!isAwaited(work, event)) return false;
  removeFromCounters(context.state, work);
  if (work.w === 'retry') startAttempt(context, level, index, work.try);
  else context.tasks.push({ do: 'settle', level, index, cell: 'source' });
  return true;
}

/** True when `event` is what a pause, a wait or a try to come waits for. */
function isAwaited(work: Exclude<Work, { w: 'run' | 'blocked' }>, event: Event): boolean {
  if (work.w === 'pause') return event.type === 'resumed';
  if (event.type !== 'fired' || event.timer !== work.w) return false;
  return work.w === 'wait' || event.attempt === work.try;
}

/** The end of a try: by its result, its pause or its time-out (R21). */
function endAttempt(context: StepContext, level: Level, index: number, event: Event): boolean {
  const work = level.frame.cells[index] as Extract<Work, { w: 'run' | 'blocked' }>;
  if (!('attempt' in event) || event.attempt !== work.try) return false;
  if (event.type === 'fired' && (event.timer !== 'timeout' || work.dueMs === undefined)) return false;
  removeFromCounters(context.state, work);
  if (event.type === 'completed')
    context.tasks.push({ do: 'settle', level, index, cell: event.port ?? 'source' });
  else if (event.type === 'paused') pause(context, level, index, event);
  else if (event.type === 'failed') failAttempt(context, level, index, event);
  else {
    context.commands.push({ type: 'abort', at: event.at, why: 'timeout' });
    failAttempt(context, level, index, { attempt: work.try, timedOut: true });
  }
  return true;
}

/** R22 a person, or R23 a timer, ends the block. */
function pause(
  context: StepContext,
  level: Level,
  index: number,
  event: Extract<Event, { type: 'paused' }>,
): void {
  if (event.kind === 'time') {
    const dueMs = event.dueMs ?? event.atMs;
    context.state.timers++;
    level.frame.cells[index] = { w: 'wait', dueMs };
    context.commands.push({ type: 'timer', at: event.at, timer: 'wait', dueMs });
    return;
  }
  context.state.humans++;
  level.frame.cells[index] = { w: 'pause' };
  context.commands.push({ type: 'open', at: event.at });
}

/** R24: what blocks a child run blocks its parent's rest, not the try. */
function updateBlocked(
  context: StepContext,
  level: Level,
  index: number,
  on: 'human' | 'time' | null,
): boolean {
  const work = level.frame.cells[index] as Extract<Work, { w: 'run' | 'blocked' }>;
  const before = work.w === 'blocked' ? work.on : null;
  if (nodeAt(level.region, index).class !== 'child' || before === on) return false;
  removeFromCounters(context.state, work);
  const due = work.dueMs === undefined ? {} : { dueMs: work.dueMs };
  if (on === null) context.state.busy++;
  else if (on === 'time') context.state.timers++;
  else context.state.humans++;
  level.frame.cells[index] =
    on === null ? { w: 'run', try: work.try, ...due } : { w: 'blocked', try: work.try, on, ...due };
  return true;
}
