import { abortDrain } from './drain.ts';
import type { Address, Event, StartedEvent } from './event.ts';
import { locate } from './locate.ts';
import { deadlineCommand } from './idle-state.ts';
import { isOpenContainer } from './state.ts';
import type { Drain } from './state.ts';
import type { DrainScope, StepContext } from './step-context.ts';

// What when time is up? R18 the grace of something that is given up; R26 the run's deadline.

/** Sets the time by which the run has to be over. */
export function setDeadline(context: StepContext, event: StartedEvent): void {
  if (event.timeoutMs === undefined) return;
  const dueMs = event.atMs + event.timeoutMs;
  context.state.deadline = { dueMs, activeOnly: event.activeOnly === true };
  context.commands.push(deadlineCommand(dueMs));
}

/** The deadline, or a grace timer, has fired. */
export function expire(context: StepContext, event: Extract<Event, { type: 'fired' }>): boolean {
  if (event.timer === 'deadline') return expireRun(context);
  const target = drainAt(context, event.at);
  if (target) abortDrain(context, target.scope, target.drain, target.drain.why);
  return target !== undefined;
}

/** A run that has failed or answered keeps its outcome: the deadline only cuts its grace. */
function expireRun(context: StepContext): boolean {
  const { deadline, drain } = context.state;
  if (deadline?.dueMs === undefined || context.atMs < deadline.dueMs) return false;
  if (drain) abortDrain(context, { of: 'run' }, drain, 'deadline');
  else context.tasks.push({ do: 'end', status: 'failed', reason: 'deadline' });
  return true;
}

function drainAt(context: StepContext, at: Address): { scope: DrainScope; drain: Drain } | undefined {
  if (at.length === 0) return context.state.drain && { scope: { of: 'run' }, drain: context.state.drain };
  if (at.length % 2 === 1) return containerDrain(context, at);
  const level = locate(context.state, context.root, [...at, 0])?.level;
  return level?.frame.drain && { scope: { of: 'branch', level }, drain: level.frame.drain };
}

function containerDrain(context: StepContext, at: Address): { scope: DrainScope; drain: Drain } | undefined {
  const level = locate(context.state, context.root, at)?.level;
  const index = at[at.length - 1] as number;
  const cell = level?.frame.cells[index];
  if (!level || cell === undefined || !isOpenContainer(cell) || !cell.drain) return undefined;
  return { scope: { of: 'container', level, index }, drain: cell.drain };
}
