import { createHash } from 'node:crypto';
import type { JsonObject } from '@heddle/core';
import type { ScheduleType } from './types.ts';

/** A run that is later than this counts as missed. */
const ON_TIME_MS = 60_000;

/** A due instant that has been reached, with the state of the previous run. */
export interface DueCall {
  type: ScheduleType;
  config: JsonObject;
  /** The earliest due instant that is not handled. */
  dueMs: number;
  /** The reason for which the due instant has waited. */
  held: 'overlap' | 'limits' | null;
  nowMs: number;
  /** The delay of this trigger. */
  jitterMs: number;
  /** The previous run has not ended. */
  isBusy: boolean;
}

/** The decision about a due instant. */
export type DueDecision =
  /** Runs are started for the due instants, possibly none; `nextMs` is the next one. */
  | { fire: readonly number[]; nextMs: number | undefined }
  /** The due instant waits until the previous run has ended. */
  | { waits: number };

/** Decides which runs are started at `dueMs`, by the policy of the trigger. */
export function decide(call: DueCall): DueDecision {
  const { type, config, dueMs, held, nowMs, jitterMs, isBusy } = call;
  const { overlap } = type.policyOf(config);
  const untilMs = nowMs - jitterMs;
  const wanted = held === 'overlap' ? [dueMs] : wantedOf(call, untilMs);
  // Without overlap, at most one run is started at a time.
  const [last] = wanted.slice(-1);
  if (overlap === 'queue' && isBusy && last !== undefined) return { waits: last };
  const nextMs = type.nextDue(config, Math.max(untilMs, dueMs));
  if (overlap === 'allow') return { fire: wanted, nextMs };
  return { fire: isBusy || last === undefined ? [] : [last], nextMs };
}

/** Returns the due instants up to `untilMs` for which runs are started. */
function wantedOf({ type, config, dueMs, held }: DueCall, untilMs: number): number[] {
  const { missed, missedLimit } = type.policyOf(config);
  const afterMs = dueMs - 1;
  // The configuration may have changed since `dueMs` was determined.
  const latest = type.lastDue(config, { afterMs, untilMs }) ?? dueMs;
  if (missed === 'none' && held === null && untilMs - latest > ON_TIME_MS) return [];
  if (missed !== 'all') return [latest];
  const found = [latest];
  for (let earliest = latest; found.length < missedLimit;) {
    const previous = type.lastDue(config, { afterMs, untilMs: earliest - 1 });
    if (previous === undefined) break;
    found.unshift(previous);
    earliest = previous;
  }
  return found;
}

/** Returns the delay of a trigger: always the same for one trigger, and different between triggers. */
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
