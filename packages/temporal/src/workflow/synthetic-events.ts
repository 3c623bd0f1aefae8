import type { Address, Region, TimerName } from '@heddle/core/machine';
import type { ChildMessage, EventBatch } from '../messages.ts';
import { placeOf } from './run-history.ts';

// Events that arise in the workflow itself rather than in an activity, with their journal entries.

/** Returns the batch for a timer that fired. The time of its event is the due time of the timer. */
export function createTimerBatch(
  skeleton: Region,
  {
    at,
    timer,
    dueMs,
    attempt,
  }: { at: Address; timer: TimerName; dueMs: number; attempt: number | undefined },
): EventBatch {
  // An address of even length ends with the index of a branch.
  const branch = at.length > 0 && at.length % 2 === 0 ? at[at.length - 1] : undefined;
  const nodeAddress = branch === undefined ? at : at.slice(0, -1);
  return {
    id: `${timer}:${at.join('.')}:${dueMs}`,
    chunk: {
      v: [
        {
          atMs: dueMs,
          type: 'fired',
          timer,
          ...(nodeAddress.length > 0 && { ...placeOf(skeleton, nodeAddress) }),
          ...(branch !== undefined && { branch }),
          ...(attempt !== undefined && { try: attempt }),
        },
      ],
    },
    events: [{ type: 'fired', at, atMs: dueMs, timer, ...(attempt !== undefined && { attempt }) }],
  };
}

/** Returns the batch for a child run that reported what it waits for, or that it runs again. */
export function createBlockedEventBatch(
  skeleton: Region,
  { at, runId, on, atMs }: ChildMessage,
  id = `blocked:${runId}:${atMs}:${on}`,
): EventBatch {
  return {
    id,
    chunk: { v: [{ atMs, type: 'blocked', ...placeOf(skeleton, at), childRunId: runId, on }] },
    events: [{ type: 'blocked', at, atMs, on }],
  };
}

/** Returns the batch for a child run that was terminated or timed out on the server. Its record has no end. */
export function createLostChildBatch(
  skeleton: Region,
  {
    at,
    runId,
    atMs,
    attempt,
    resumes,
  }: { at: Address; runId: string; atMs: number; attempt: number; resumes?: number },
): EventBatch {
  const error = {
    code: 'CHILD_FAILED',
    message: `The child run ${runId} was terminated or timed out on the Temporal server.`,
    retryable: false,
    details: { childRunId: runId },
  };
  const resumesField = resumes === undefined ? {} : { resumes };
  return {
    id: `lost:${runId}`,
    chunk: {
      v: [
        {
          atMs,
          type: 'failed',
          ...placeOf(skeleton, at),
          try: attempt,
          ...resumesField,
          startedMs: atMs,
          error,
        },
      ],
    },
    events: [{ type: 'failed', at, atMs, attempt, ...resumesField, retryable: false }],
  };
}

/** Returns the batch for a workflow that was cancelled on the server, without a cancel signal from Heddle. */
export function createCancelBatch(atMs: number): EventBatch {
  return {
    id: 'cancelled:outside',
    chunk: { v: [{ atMs, type: 'cancelled', reason: 'The workflow was cancelled on the server.' }] },
    events: [{ type: 'cancelled', atMs }],
  };
}
