import { createHash } from 'node:crypto';
import type { JsonObject } from '@heddle/core';
import type { ScheduleType } from './types.ts';

/** A run counts as missed if it is late by more than this time. */
const MISSED_AFTER_MS = 60_000;

/** A due instant that has been reached, and whether the previous run has ended. */
export interface DueState {
  type: ScheduleType;
  config: JsonObject;
  /** The earliest due instant that is not handled. */
  dueMs: number;
  /** Why the due instant has waited; null: it has not waited. */
  held: 'overlap' | 'limits' | null;
  nowMs: number;
  /** The delay of this trigger: see `jitterOf`. */
  jitterMs: number;
  /** Whether the previous run is still in progress. */
  isBusy: boolean;
}

/** The decision about a due instant. */
export type DueDecision =
  /** The due instants for which runs are started, possibly none. `nextMs`: the next due instant. */
  | { fire: readonly number[]; nextMs: number | undefined }
  /** The due instant is held until the previous run has ended. */
  | { heldDueMs: number };

/** Decides which runs are started at `dueMs`, by the policy of the trigger. */
export function decideDueRuns(state: DueState): DueDecision {
  const { type, config, dueMs, held, nowMs, jitterMs, isBusy } = state;
  const { overlap } = type.policyOf(config);
  const untilMs = nowMs - jitterMs;
  const instants = held === 'overlap' ? [dueMs] : instantsToFire(state, untilMs);
  // Without overlap, at most one run is started at a time.
  const [last] = instants.slice(-1);
  if (overlap === 'queue' && isBusy && last !== undefined) return { heldDueMs: last };
  const nextMs = type.nextDue(config, Math.max(untilMs, dueMs));
  if (overlap === 'allow') return { fire: instants, nextMs };
  return { fire: isBusy || last === undefined ? [] : [last], nextMs };
}

/** Returns the due instants up to `untilMs` for which runs are started. */
function instantsToFire({ type, config, dueMs, held }: DueState, untilMs: number): number[] {
  const { missed, missedLimit } = type.policyOf(config);
  const afterMs = dueMs - 1;
  // The configuration may have changed since `dueMs` was determined.
  const latest = type.lastDue(config, { afterMs, untilMs }) ?? dueMs;
  if (missed === 'none' && held === null && untilMs - latest > MISSED_AFTER_MS) return [];
  if (missed !== 'all') return [latest];
  const instants = [latest];
  for (let earliest = latest; instants.length < missedLimit;) {
    const previous = type.lastDue(config, { afterMs, untilMs: earliest - 1 });
    if (previous === undefined) break;
    instants.unshift(previous);
    earliest = previous;
  }
  return instants;
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
