import type { Command } from './command.ts';
import { abortDrain } from './drain.ts';
import type { Address, Event, StartedEvent } from './event.ts';
import { locate } from './locate.ts';
import { isOpenContainer } from './state.ts';
import type { Drain } from './state.ts';
import type { DrainScope, StepContext } from './step-context.ts';

// R18: the end of a grace period. R26: the deadline of the run.

/** Sets the deadline of the run, if it has one. */
export function setDeadline(context: StepContext, event: StartedEvent): void {
  if (event.timeoutMs === undefined) return;
  const dueMs = event.atMs + event.timeoutMs;
  context.state.deadline = { dueMs, activeOnly: event.activeOnly === true };
  context.commands.push(deadlineCommand(dueMs));
}

/** R26: stops the deadline's clock while the run waits only for people, and starts it again afterwards. */
export function updateDeadline(context: StepContext): void {
  const { deadline } = context.state;
  if (!deadline?.activeOnly) return;
  const { busy, timers, humans } = context.state;
  const isIdle = busy === 0 && timers === 0 && humans > 0;
  if (isIdle && deadline.dueMs !== undefined) {
    deadline.leftMs = Math.max(0, deadline.dueMs - context.atMs);
    delete deadline.dueMs;
  } else if (!isIdle && deadline.leftMs !== undefined) {
    deadline.dueMs = context.atMs + deadline.leftMs;
    delete deadline.leftMs;
    context.commands.push(deadlineCommand(deadline.dueMs));
  }
}

export function deadlineCommand(dueMs: number): Command {
  return { type: 'timer', at: [], timer: 'deadline', dueMs };
}

/** Handles a deadline or grace timer that has fired. Returns false if the timer is no longer valid. */
export function expireTimer(context: StepContext, event: Extract<Event, { type: 'fired' }>): boolean {
  if (event.timer === 'deadline') return expireRun(context);
  const target = drainAt(context, event.at);
  if (target) abortDrain(context, target.scope, target.drain, target.drain.why);
  return target !== undefined;
}

/** A run that has failed or has a response keeps its outcome: the deadline only ends its grace period. */
function expireRun(context: StepContext): boolean {
  const { deadline, drain } = context.state;
  if (deadline?.dueMs === undefined || context.atMs < deadline.dueMs) return false;
  if (drain) abortDrain(context, { kind: 'run' }, drain, 'deadline');
  else context.tasks.push({ type: 'end', status: 'failed', reason: 'deadline' });
  return true;
}

function drainAt(context: StepContext, at: Address): { scope: DrainScope; drain: Drain } | undefined {
  if (at.length === 0) return context.state.drain && { scope: { kind: 'run' }, drain: context.state.drain };
  if (at.length % 2 === 1) return containerDrain(context, at);
  const framePath = locate(context.state, context.root, [...at, 0])?.framePath;
  return framePath?.frame.drain && { scope: { kind: 'branch', framePath }, drain: framePath.frame.drain };
}

function containerDrain(context: StepContext, at: Address): { scope: DrainScope; drain: Drain } | undefined {
  const framePath = locate(context.state, context.root, at)?.framePath;
  const index = at[at.length - 1] as number;
  const nodeState = framePath?.frame.cells[index];
  if (!framePath || nodeState === undefined || !isOpenContainer(nodeState) || !nodeState.drain)
    return undefined;
  return { scope: { kind: 'container', framePath, index }, drain: nodeState.drain };
}
