import type { Event } from './event.ts';
import { failNode, failAttempt } from './failure.ts';
import { startAttempt } from './join.ts';
import { addressOf, answersExpand, attemptOf, isOfAttempt, nodeAt, removeFromCounters } from './state.ts';
import type { FramePath, OpenContainer, Work } from './state.ts';
import { expandContainer } from './subflow.ts';
import type { BlockClass } from './skeleton.ts';
import type { StepContext } from './step-context.ts';

/** Classes of blocks that can wait for child runs: calls of workflows, and agents, whose tools can call workflows. */
const CALLER_CLASSES: ReadonlySet<BlockClass> = new Set(['child', 'effect']);

// Applying events to the work that they address. Functions return false for late and duplicate events (R30).

/** Applies the answer to a container's `expand` command. */
export function updateContainer(
  context: StepContext,
  framePath: FramePath,
  index: number,
  event: Event,
): boolean {
  const container = framePath.frame.cells[index] as OpenContainer;
  if (!answersExpand(container, event)) return false;
  container.asking = false;
  context.state.busy--;
  if (event.type === 'expanded') expandContainer(context, framePath, index, event.count);
  else failNode(context, framePath, index, {});
  return true;
}

/** Applies an event to a block with work in flight. */
export function updateWork(context: StepContext, framePath: FramePath, index: number, event: Event): boolean {
  const work = framePath.frame.cells[index] as Work;
  if (work.w === 'run' || work.w === 'blocked')
    return event.type === 'blocked'
      ? updateBlocked(context, framePath, index, event.on)
      : endAttempt(context, framePath, index, event);
  if (!isAwaited(work, event)) return false;
  removeFromCounters(context.state, work);
  if (work.w === 'retry') startAttempt(context, framePath, index, work.try);
  else if (work.w === 'pause' && work.try !== undefined)
    continueAttempt(context, framePath, index, { ...work, try: work.try });
  else context.tasks.push({ type: 'settle', framePath, index, nodeState: 'source' });
  return true;
}

/** Returns true if a pause, a wait or a pending retry waits for `event`. */
function isAwaited(work: Exclude<Work, { w: 'run' | 'blocked' }>, event: Event): boolean {
  if (work.w === 'pause')
    return event.type === 'resumed' && event.attempt === work.try && event.resumes === work.resumes;
  if (event.type !== 'fired' || event.timer !== work.w) return false;
  return work.w === 'wait' || event.attempt === work.try;
}

/** Ends an attempt that completed, failed, paused or timed out (R21). */
function endAttempt(context: StepContext, framePath: FramePath, index: number, event: Event): boolean {
  const work = framePath.frame.cells[index] as Extract<Work, { w: 'run' | 'blocked' }>;
  if (!isOfAttempt(work, event)) return false;
  removeFromCounters(context.state, work);
  if (event.type === 'completed')
    context.tasks.push({ type: 'settle', framePath, index, nodeState: event.port ?? 'source' });
  else if (event.type === 'paused') pause(context, framePath, index, { work, event });
  else if (event.type === 'failed') failAttempt(context, framePath, index, event);
  else {
    context.commands.push({ type: 'abort', at: event.at, why: 'timeout' });
    failAttempt(context, framePath, index, { attempt: work.try, timedOut: true });
  }
  return true;
}

/** Suspends the block until a person resumes it (R22) or its timer fires (R23). */
function pause(
  context: StepContext,
  framePath: FramePath,
  index: number,
  {
    work,
    event,
  }: { work: Extract<Work, { w: 'run' | 'blocked' }>; event: Extract<Event, { type: 'paused' }> },
): void {
  if (event.kind === 'time') {
    const dueMs = event.dueMs ?? event.atMs;
    context.state.timers++;
    framePath.frame.cells[index] = { w: 'wait', dueMs };
    context.commands.push({ type: 'timer', at: event.at, timer: 'wait', dueMs });
    return;
  }
  context.state.humans++;
  if (!event.continues) {
    framePath.frame.cells[index] = { w: 'pause' };
    context.commands.push({ type: 'open', at: event.at });
    return;
  }
  // R46: the remaining timeout applies after the answer.
  const { dueMs } = work;
  const remainingTimeout = dueMs === undefined ? {} : { leftMs: Math.max(0, dueMs - event.atMs) };
  framePath.frame.cells[index] = { w: 'pause', ...attemptOf(work), ...remainingTimeout };
  context.commands.push({ type: 'open', at: event.at, ...attemptOf(work) });
}

/** R46: continues an attempt after a person's answer, with its remaining timeout. */
function continueAttempt(
  context: StepContext,
  framePath: FramePath,
  index: number,
  { try: attempt, resumes: previousResumes = 0, leftMs }: { try: number; resumes?: number; leftMs?: number },
): void {
  const at = addressOf(framePath, index);
  const resumes = previousResumes + 1;
  context.state.busy++;
  context.commands.push({ type: 'run', at, try: attempt, resumes });
  if (leftMs === undefined) {
    framePath.frame.cells[index] = { w: 'run', try: attempt, resumes };
    return;
  }
  const dueMs = context.atMs + leftMs;
  framePath.frame.cells[index] = { w: 'run', try: attempt, resumes, dueMs };
  context.commands.push({ type: 'timer', at, timer: 'timeout', dueMs, try: attempt });
}

/** R24: a block is blocked while its child runs are blocked. Its attempt continues. */
function updateBlocked(
  context: StepContext,
  framePath: FramePath,
  index: number,
  on: 'human' | 'time' | null,
): boolean {
  const work = framePath.frame.cells[index] as Extract<Work, { w: 'run' | 'blocked' }>;
  const previous = work.w === 'blocked' ? work.on : null;
  if (!CALLER_CLASSES.has(nodeAt(framePath.region, index).class) || previous === on) return false;
  removeFromCounters(context.state, work);
  const attempt = {
    ...attemptOf(work),
    try: work.try,
    ...(work.dueMs !== undefined && { dueMs: work.dueMs }),
  };
  if (on === null) context.state.busy++;
  else if (on === 'time') context.state.timers++;
  else context.state.humans++;
  framePath.frame.cells[index] = on === null ? { w: 'run', ...attempt } : { w: 'blocked', on, ...attempt };
  return true;
}
