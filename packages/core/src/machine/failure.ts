import { addressOf, nodeAt } from './state.ts';
import type { Level } from './state.ts';
import type { RetryPolicy } from './skeleton.ts';
import { runTry } from './join.ts';
import type { DrainScope, Failure, Turn } from './turn.ts';

// What comes of a failure? R10 another try; R11 the error port; R12 the nearest container that handles it; else the run fails.

/** A try has failed: the next one, after its wait, or the failure of the node. */
export function failTry(turn: Turn, level: Level, index: number, attempt: number, failure: Failure): void {
  const { retry } = nodeAt(level.region, index);
  if (!retry || attempt >= retry.maxTries || failure.retryable === false) {
    turn.tasks.push({ do: 'fail', level, index, failure });
    return;
  }
  const waitMs = retryWaitMs(retry, attempt, failure);
  if (waitMs === 0) {
    runTry(turn, level, index, attempt + 1);
    return;
  }
  const dueMs = turn.atMs + waitMs;
  turn.state.busy++;
  level.frame.cells[index] = { w: 'retry', try: attempt + 1, dueMs };
  turn.commands.push({ type: 'timer', at: addressOf(level, index), timer: 'retry', dueMs, try: attempt + 1 });
}

/**
 * Milliseconds until the next try: exponential backoff with a ceiling, shortened by the drawn jitter; never shorter
 * than what the other side asked for (`Retry-After`).
 */
export function retryWaitMs(retry: RetryPolicy, attempt: number, failure: Failure): number {
  const grown = Math.min(retry.maxWaitMs, retry.waitMs * retry.backoff ** (attempt - 1));
  const drawn = grown * (1 - retry.jitter * (failure.jitter ?? 0));
  return Math.max(Math.round(drawn), failure.retryAfterMs ?? 0);
}

/** The node has failed for good: its error port, or whatever around it handles it. */
export function failNode(turn: Turn, level: Level, index: number, failure: Failure): void {
  const node = nodeAt(level.region, index);
  const at = addressOf(level, index);
  turn.notices.push({
    type: 'failed',
    at,
    handled: node.handlesError,
    ...(failure.limit !== undefined && { limit: failure.limit }),
    ...(failure.timedOut && { timedOut: true }),
  });
  if (!node.subflow && node.handlesError) {
    turn.tasks.push({ do: 'settle', level, index, cell: 'error' });
    return;
  }
  if (!node.subflow) level.frame.cells[index] = 'error';
  const scope: DrainScope = node.handlesError ? { of: 'container', level, index } : handlerOf(level);
  turn.tasks.push({ do: 'drain', scope, why: 'failed', cause: at });
}

/** R12: what is given up when a failure in `level` is not handled where it happened. */
function handlerOf(level: Level): DrainScope {
  for (let inner = level; inner.parent; inner = inner.parent) {
    const container = nodeAt(inner.parent.region, inner.node);
    if (container.subflow?.collectErrors) return { of: 'branch', level: inner };
    if (container.handlesError) return { of: 'container', level: inner.parent, index: inner.node };
  }
  return { of: 'run' };
}
