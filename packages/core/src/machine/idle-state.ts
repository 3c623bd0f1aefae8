import type { Command } from './command.ts';
import type { State } from './state.ts';
import type { StepContext } from './step-context.ts';

/** What a run does: it moves, waits for a person, waits for a time, or has ended. */
export type IdleState = 'running' | 'human' | 'time' | 'ended';

/** What the run does (R25): it rests when nothing runs and a person is needed (`human`), or only timers are left (`time`). */
export function idleState(state: State): IdleState {
  if (state.phase === 'ended') return 'ended';
  if (state.busy > 0) return 'running';
  return state.humans > 0 ? 'human' : state.timers > 0 ? 'time' : 'running';
}

/** R26: stops the deadline's clock while only a person can move the run, and starts it again after. */
export function updateDeadline(context: StepContext): void {
  const { deadline } = context.state;
  if (!deadline?.activeOnly) return;
  const { busy, timers, humans } = context.state;
  const resting = busy === 0 && timers === 0 && humans > 0;
  if (resting && deadline.dueMs !== undefined) {
    deadline.leftMs = Math.max(0, deadline.dueMs - context.atMs);
    delete deadline.dueMs;
  } else if (!resting && deadline.leftMs !== undefined) {
    deadline.dueMs = context.atMs + deadline.leftMs;
    delete deadline.leftMs;
    context.commands.push(deadlineCommand(deadline.dueMs));
  }
}

export function deadlineCommand(dueMs: number): Command {
  return { type: 'timer', at: [], timer: 'deadline', dueMs };
}
