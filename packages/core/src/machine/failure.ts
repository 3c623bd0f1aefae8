import { beginDrain } from './drain.ts';
import { runTry } from './join.ts';
import type { RetryPolicy } from './skeleton.ts';
import { addressOf, nodeAt } from './state.ts';
import type { Level } from './state.ts';
import type { DrainScope, Failure, Turn } from './turn.ts';

// What comes of a failure? R13 another try, after R14 a wait; else R15 the error port; else R16 what around it handles it.

/** Try `failure.try` has failed: the next one, after its wait, or the failure of the node. */
export function failTry(turn: Turn, level: Level, index: number, failure: Failure & { try: number }): void {
  const { retry } = nodeAt(level.region, index);
  if (!retry || failure.try >= retry.maxTries || failure.retryable === false) {
    failNode(turn, level, index, failure);
    return;
  }
  const next = failure.try + 1;
  const waitMs = retryWaitMs(retry, failure.try, failure);
  if (waitMs === 0) {
    runTry(turn, level, index, next);
    return;
  }
  const dueMs = turn.atMs + waitMs;
  turn.state.busy++;
  level.frame.cells[index] = { w: 'retry', try: next, dueMs };
  turn.commands.push({ type: 'timer', at: addressOf(level, index), timer: 'retry', dueMs, try: next });
}

/**
 * Milliseconds to wait after try `attempt` has failed: exponential backoff with a ceiling, shortened by the drawn
 * jitter; never shorter than what the other side asked for (`Retry-After`).
 */
export function retryWaitMs(retry: RetryPolicy, attempt: number, failure: Failure): number {
  // Without the first case, 0 times a factor grown past the largest number would be no number.
  const grown =
    retry.waitMs === 0 ? 0 : Math.min(retry.maxWaitMs, retry.waitMs * retry.backoff ** (attempt - 1));
  const drawn = grown * (1 - retry.jitter * (failure.jitter ?? 0));
  return Math.max(Math.round(drawn), failure.retryAfterMs ?? 0);
}

/** The node has failed for good: its error port, or whatever around it handles it. */
export function failNode(turn: Turn, level: Level, index: number, failure: Failure): void {
  const { handlesError, subflow } = nodeAt(level.region, index);
  const at = addressOf(level, index);
  turn.notices.push({
    type: 'failed',
    at,
    handled: handlesError,
    ...(failure.limit !== undefined && { limit: failure.limit }),
    ...(failure.timedOut && { timedOut: true }),
  });
  if (handlesError && !subflow) {
    turn.tasks.push({ do: 'settle', level, index, cell: 'error' });
    return;
  }
  if (!subflow) level.frame.cells[index] = 'error';
  beginDrain(turn, handlesError ? { of: 'container', level, index } : handlerOf(level), 'failed', at);
}

/** R16: what is given up when a failure in `level` is not handled where it happened. */
function handlerOf(level: Level): DrainScope {
  for (let inner = level; inner.parent; inner = inner.parent) {
    const container = nodeAt(inner.parent.region, inner.node);
    if (container.subflow?.collectErrors) return { of: 'branch', level: inner };
    if (container.handlesError) return { of: 'container', level: inner.parent, index: inner.node };
  }
  return { of: 'run' };
}
