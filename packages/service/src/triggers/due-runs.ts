import { createHash } from 'node:crypto';
import type { JsonObject } from '@heddle/core';
import type { ScheduleType } from './types.ts';

/** A run counts as missed if it is late by more than this time. */
const MISSED_AFTER_MS = 60_000;

/** A due time that has been reached, and whether the previous run has ended. */
export interface DueState {
  type: ScheduleType;
  config: JsonObject;
  /** The earliest due time that is not handled. */
  dueMs: number;
  /** Why the due time has waited; null: it has not waited. */
  holdReason: 'overlap' | 'limits' | null;
  nowMs: number;
  /** The delay of this trigger: see `jitterOf`. */
  jitterMs: number;
  /** Whether the previous run is still in progress. */
  isInProgress: boolean;
}

/** The decision about a due time. */
export type DueDecision =
  /** The due times for which runs are started, possibly none. `nextMs`: the next due time. */
  | { firedDueMs: readonly number[]; nextMs: number | undefined }
  /** The due time is held until the previous run has ended. */
  | { heldDueMs: number };

/** Decides which runs are started at `dueMs`, by the policy of the trigger. */
export function decideDueRuns(state: DueState): DueDecision {
  const { type, config, dueMs, holdReason, nowMs, jitterMs, isInProgress } = state;
  const { overlap } = type.policyOf(config);
  const untilMs = nowMs - jitterMs;
  const dueTimes = holdReason === 'overlap' ? [dueMs] : timesToFire(state, untilMs);
  // Without overlap, at most one run is started at a time.
  const [lastMs] = dueTimes.slice(-1);
  if (overlap === 'queue' && isInProgress && lastMs !== undefined) return { heldDueMs: lastMs };
  const nextMs = type.nextDueTime(config, Math.max(untilMs, dueMs));
  if (overlap === 'allow') return { firedDueMs: dueTimes, nextMs };
  return { firedDueMs: isInProgress || lastMs === undefined ? [] : [lastMs], nextMs };
}

/** Returns the due times up to `untilMs` for which runs are started. */
function timesToFire({ type, config, dueMs, holdReason }: DueState, untilMs: number): number[] {
  const { missed, missedLimit } = type.policyOf(config);
  const afterMs = dueMs - 1;
  // The configuration may have changed since `dueMs` was determined.
  const latestMs = type.lastDueTime(config, { afterMs, untilMs }) ?? dueMs;
  if (missed === 'none' && holdReason === null && untilMs - latestMs > MISSED_AFTER_MS) return [];
  if (missed !== 'all') return [latestMs];
  const dueTimes = [latestMs];
  for (let earliestMs = latestMs; dueTimes.length < missedLimit;) {
    const previousMs = type.lastDueTime(config, { afterMs, untilMs: earliestMs - 1 });
    if (previousMs === undefined) break;
    dueTimes.unshift(previousMs);
    earliestMs = previousMs;
  }
  return dueTimes;
}

/** Returns the delay of the runs of a trigger in milliseconds. It is always the same for one trigger. */
export function jitterOf(
  type: ScheduleType,
  config: JsonObject,
  { workflow_id: workflowId, block_id: blockId }: { workflow_id: string; block_id: string },
): number {
  const { jitterMs } = type.policyOf(config);
  if (jitterMs === 0) return 0;
  const hash = createHash('sha256')
    .update(JSON.stringify([workflowId, blockId]))
    .digest();
  return hash.readUInt32BE(0) % (jitterMs + 1);
}
