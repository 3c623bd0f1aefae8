import { beginDrain } from './drain.ts';
import { startAttempt } from './join.ts';
import type { RetryPolicy } from './skeleton.ts';
import { addressOf, nodeAt } from './state.ts';
import type { Level } from './state.ts';
import type { DrainScope, Failure, StepContext } from './step-context.ts';

// What comes of a failure? R13 another try, after R14 a wait; else R15 the error port; else R16 what around it handles it.

/** Try `failure.attempt` has failed: the next one, after its wait, or the failure of the node. */
export function failAttempt(
  context: StepContext,
  level: Level,
  index: number,
  failure: Failure & { attempt: number },
): void {
  const { retry } = nodeAt(level.region, index);
  if (!retry || failure.attempt >= retry.maxTries || failure.retryable === false) {
    failNode(context, level, index, failure);
    return;
  }
  const next = failure.attempt + 1;
  const waitMs = retryWaitMs(retry, failure.attempt, failure);
  if (waitMs === 0) {
    startAttempt(context, level, index, next);
    return;
  }
  const dueMs = context.atMs + waitMs;
  context.state.busy++;
  level.frame.cells[index] = { w: 'retry', try: next, dueMs };
  context.commands.push({ type: 'timer', at: addressOf(level, index), timer: 'retry', dueMs, try: next });
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
export function failNode(context: StepContext, level: Level, index: number, failure: Failure): void {
  const { handlesError, subflow } = nodeAt(level.region, index);
  const at = addressOf(level, index);
  context.notices.push({
    type: 'failed',
    at,
    handled: handlesError,
    ...(failure.limit !== undefined && { limit: failure.limit }),
    ...(failure.timedOut && { timedOut: true }),
  });
  if (handlesError && !subflow) {
    context.tasks.push({ do: 'settle', level, index, cell: 'error' });
    return;
  }
  if (!subflow) level.frame.cells[index] = 'error';
  beginDrain(
    context,
    handlesError ? { of: 'container', level, index } : scopeThatHandles(level),
    'failed',
    at,
  );
}

/** R16: what is given up when a failure in `level` is not handled where it happened. */
function scopeThatHandles(level: Level): DrainScope {
  for (let inner = level; inner.parent; inner = inner.parent) {
    const container = nodeAt(inner.parent.region, inner.node);
    if (container.subflow?.collectErrors) return { of: 'branch', level: inner };
    if (container.handlesError) return { of: 'container', level: inner.parent, index: inner.node };
  }
  return { of: 'run' };
}
