import { isBlockError, isEngineError } from '@heddle/core';
import type { Json } from '@heddle/core';
import type { BlockFailure } from '@heddle/core/run';
import type { Keeper } from '../records/sanitizer.ts';

/** What a try that has thrown leaves in the journal. */
export interface TryFailure {
  error: BlockFailure;
  retryAfterMs?: number;
}

/** The failure of a block whose executor has thrown `error`, whatever that is. */
export function failureOf(error: unknown, keeper: Keeper): TryFailure {
  if (isBlockError(error)) {
    const { code, message, retryable, details, retryAfterMs } = error;
    return {
      error: {
        code,
        message: keeper.text(message),
        retryable,
        ...(details !== undefined && { details: detailsOf(details, keeper) }),
      },
      ...(retryAfterMs !== undefined && Number.isFinite(retryAfterMs) && { retryAfterMs }),
    };
  }
  const code = isEngineError(error) ? error.code : 'BLOCK_FAILED';
  return { error: { code, message: keeper.text(messageOf(error)), retryable: !isEngineError(error) } };
}

function detailsOf(details: unknown, keeper: Keeper): Json {
  try {
    return keeper.json(details, 'The details of the error');
  } catch (error) {
    return messageOf(error);
  }
}

/** What was thrown, in words: executors may throw anything. */
function messageOf(error: unknown): string {
  if (error instanceof Error) return String(error.message) || error.name;
  if (typeof error === 'string') return error;
  try {
    return `The block has thrown ${JSON.stringify(error) ?? String(error)}, which is no error.`;
  } catch {
    return `The block has thrown a ${typeof error}, which is no error.`;
  }
}
