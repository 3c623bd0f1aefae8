import { cutDrain } from './drain.ts';
import type { Address, Event, StartedEvent } from './event.ts';
import { locate } from './locate.ts';
import { deadlineTimer } from './rest.ts';
import { isSpan } from './state.ts';
import type { Drain } from './state.ts';
import type { DrainScope, Turn } from './turn.ts';

// What when time is up? R18 the grace of something that is given up; R26 the run's deadline.

/** Sets the time by which the run has to be over. */
export function setDeadline(turn: Turn, event: StartedEvent): void {
  if (event.timeoutMs === undefined) return;
  const dueMs = event.atMs + event.timeoutMs;
  turn.state.deadline = { dueMs, activeOnly: event.activeOnly === true };
  turn.commands.push(deadlineTimer(dueMs));
}

/** The deadline, or a grace timer, has fired. */
export function expire(turn: Turn, event: Extract<Event, { type: 'fired' }>): boolean {
  if (event.timer === 'deadline') return expireRun(turn);
  const target = drainAt(turn, event.at);
  if (target) cutDrain(turn, target.scope, target.drain, target.drain.why);
  return target !== undefined;
}

/** A run that has failed or answered keeps its outcome: the deadline only cuts its grace. */
function expireRun(turn: Turn): boolean {
  const { deadline, drain } = turn.state;
  if (deadline?.dueMs === undefined || turn.atMs < deadline.dueMs) return false;
  if (drain) cutDrain(turn, { of: 'run' }, drain, 'deadline');
  else turn.tasks.push({ do: 'end', status: 'failed', reason: 'deadline' });
  return true;
}

function drainAt(turn: Turn, at: Address): { scope: DrainScope; drain: Drain } | undefined {
  if (at.length === 0) return turn.state.drain && { scope: { of: 'run' }, drain: turn.state.drain };
  if (at.length % 2 === 1) return containerDrain(turn, at);
  const level = locate(turn.state, turn.top, [...at, 0])?.level;
  return level?.frame.drain && { scope: { of: 'branch', level }, drain: level.frame.drain };
}

function containerDrain(turn: Turn, at: Address): { scope: DrainScope; drain: Drain } | undefined {
  const level = locate(turn.state, turn.top, at)?.level;
  const index = at[at.length - 1] as number;
  const cell = level?.frame.cells[index];
  if (!level || cell === undefined || !isSpan(cell) || !cell.drain) return undefined;
  return { scope: { of: 'container', level, index }, drain: cell.drain };
}
