import type { Address, Region, TimerName } from '@heddle/core/machine';
import type { ChildMessage, Happened } from '../messages.ts';
import { placeOf } from './places.ts';

// What happens in the workflow itself, with the journal entries that tell it.

/** A timer has fired, at the very time it was set for. */
export function fired(
  skeleton: Region,
  {
    at,
    timer,
    dueMs,
    attempt,
  }: { at: Address; timer: TimerName; dueMs: number; attempt: number | undefined },
): Happened {
  const branch = at.length > 0 && at.length % 2 === 0 ? at[at.length - 1] : undefined;
  const node = branch === undefined ? at : at.slice(0, -1);
  return {
    id: `${timer}:${at.join('.')}:${dueMs}`,
    chunk: {
      v: [
        {
          atMs: dueMs,
          type: 'fired',
          timer,
          ...(node.length > 0 && { ...placeOf(skeleton, node) }),
          ...(branch !== undefined && { branch }),
          ...(attempt !== undefined && { try: attempt }),
        },
      ],
    },
    events: [{ type: 'fired', at, atMs: dueMs, timer, ...(attempt !== undefined && { attempt }) }],
  };
}

/** A child run has told what it is blocked on. */
export function blocked(skeleton: Region, { at, runId, on, atMs }: ChildMessage): Happened {
  return {
    id: `blocked:${runId}:${atMs}:${on}`,
    chunk: { v: [{ atMs, type: 'blocked', ...placeOf(skeleton, at), childRunId: runId, on }] },
    events: [{ type: 'blocked', at, atMs, on }],
  };
}

/** The child run of a block was ended from outside, with no record of an end. */
export function lostChild(
  skeleton: Region,
  { at, runId, atMs, attempt }: { at: Address; runId: string; atMs: number; attempt: number },
): Happened {
  const error = {
    code: 'CHILD_FAILED',
    message: `The child run ${runId} was ended from outside: it was terminated, or ran out of the server's time.`,
    retryable: false,
    details: { childRunId: runId },
  };
  return {
    id: `lost:${runId}`,
    chunk: {
      v: [{ atMs, type: 'failed', ...placeOf(skeleton, at), try: attempt, startedMs: atMs, error }],
    },
    events: [{ type: 'failed', at, atMs, attempt, retryable: false }],
  };
}

/** Somebody has cancelled the workflow itself, past the engine. */
export function cancelledOutside(atMs: number): Happened {
  return {
    id: 'cancelled:outside',
    chunk: { v: [{ atMs, type: 'cancelled', reason: 'The workflow was cancelled on the server.' }] },
    events: [{ type: 'cancelled', atMs }],
  };
}
