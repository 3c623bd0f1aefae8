import { beginDrain } from './drain.ts';
import { startAttempt } from './join.ts';
import type { RetryPolicy } from './skeleton.ts';
import { addressOf, nodeAt } from './state.ts';
import type { FramePath } from './state.ts';
import type { DrainScope, Failure, StepContext } from './step-context.ts';

// R13: a failed attempt is retried, after a wait (R14). Else the error port is taken (R15), or the nearest handler
// around the node takes the failure (R16).

/** Handles a failed attempt: retries after a wait, or fails the node. */
export function failAttempt(
  context: StepContext,
  framePath: FramePath,
  index: number,
  failure: Failure & { attempt: number },
): void {
  const { retry } = nodeAt(framePath.region, index);
  if (!retry || failure.attempt >= retry.maxTries || failure.retryable === false) {
    failNode(context, framePath, index, failure);
    return;
  }
  const nextAttempt = failure.attempt + 1;
  const waitMs = retryWaitMs(retry, failure.attempt, failure);
  if (waitMs === 0) {
    startAttempt(context, framePath, index, nextAttempt);
    return;
  }
  const dueMs = context.atMs + waitMs;
  context.state.busy++;
  framePath.frame.cells[index] = { w: 'retry', try: nextAttempt, dueMs };
  context.commands.push({
    type: 'timer',
    at: addressOf(framePath, index),
    timer: 'retry',
    dueMs,
    try: nextAttempt,
  });
}

/**
 * Returns the milliseconds to wait after attempt `attempt` failed: exponential backoff with a ceiling, shortened by
 * the random jitter, and never shorter than the server's `Retry-After`.
 */
export function retryWaitMs(retry: RetryPolicy, attempt: number, failure: Failure): number {
  // Without this case, 0 times an infinite factor would be NaN.
  const backoffMs =
    retry.waitMs === 0 ? 0 : Math.min(retry.maxWaitMs, retry.waitMs * retry.backoff ** (attempt - 1));
  const jitteredMs = backoffMs * (1 - retry.jitter * (failure.jitter ?? 0));
  return Math.max(Math.round(jitteredMs), failure.retryAfterMs ?? 0);
}

/** Fails the node permanently. Its error port or the nearest handler around it takes the failure. */
export function failNode(context: StepContext, framePath: FramePath, index: number, failure: Failure): void {
  const { handlesError, subflow } = nodeAt(framePath.region, index);
  const at = addressOf(framePath, index);
  context.transitions.push({
    type: 'failed',
    at,
    handled: handlesError,
    ...(failure.limit !== undefined && { limit: failure.limit }),
    ...(failure.timedOut && { timedOut: true }),
  });
  if (handlesError && !subflow) {
    context.tasks.push({ type: 'settle', framePath, index, nodeState: 'error' });
    return;
  }
  if (!subflow) framePath.frame.cells[index] = 'error';
  beginDrain(
    context,
    handlesError ? { kind: 'container', framePath, index } : scopeThatHandles(framePath),
    'failed',
    at,
  );
}

/** R16: returns the scope that drains after an unhandled failure of a node in the frame of `framePath`. */
function scopeThatHandles(framePath: FramePath): DrainScope {
  for (let ancestor = framePath; ancestor.parent; ancestor = ancestor.parent) {
    const container = nodeAt(ancestor.parent.region, ancestor.node);
    if (container.subflow?.collectErrors) return { kind: 'branch', framePath: ancestor };
    if (container.handlesError)
      return { kind: 'container', framePath: ancestor.parent, index: ancestor.node };
  }
  return { kind: 'run' };
}
