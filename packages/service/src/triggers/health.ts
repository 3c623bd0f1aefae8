import type { LastRunState } from './run-state.ts';
import type { TriggerRow } from './tables.ts';

/** Number of consecutive failures after which a trigger is suspended, unless the first of them is too recent. */
const MAX_FAILURES = 10;
/** Minimum time from the first of these failures to the suspension. */
const MIN_FAILING_MS = 24 * 3_600_000;
const MAX_ERROR_CHARACTERS = 500;

/** Returns the message, shortened for the column `last_error`. */
export function shortenMessage(message: string): string {
  return message.slice(0, MAX_ERROR_CHARACTERS);
}

/** Returns whether the reason of an aborted signal is that of `AbortSignal.timeout`. */
export function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}

/** The health after a success. */
export const HEALTHY_COLUMNS = { failures: 0, failing_since_ms: null, last_error: null } as const;

/**
 * Returns the columns of the health that change when a run is started or refused. A failure of the previous run or of
 * this start is counted, and a trigger that keeps failing is suspended.
 */
export function healthAfterStart(
  trigger: TriggerRow,
  {
    lastRunState,
    refusal,
    nowMs,
  }: { lastRunState: LastRunState; refusal: string | undefined; nowMs: number },
): Partial<TriggerRow> {
  const error = refusal ?? lastRunState.error;
  if (error === undefined) return lastRunState.isInProgress || lastRunState.isUnknown ? {} : HEALTHY_COLUMNS;
  return healthAfterFailure(trigger, error, nowMs);
}

/** Returns the columns of the health that change after a failure. A trigger that keeps failing is suspended. */
export function healthAfterFailure(trigger: TriggerRow, message: string, nowMs: number): Partial<TriggerRow> {
  const failures = trigger.failures + 1;
  const failingSinceMs = trigger.failing_since_ms ?? nowMs;
  const columns = { failures, failing_since_ms: failingSinceMs, last_error: shortenMessage(message) };
  if (failures < MAX_FAILURES || nowMs - failingSinceMs < MIN_FAILING_MS) return columns;
  return { ...columns, state: 'suspended', due_ms: null, fire_ms: null };
}
