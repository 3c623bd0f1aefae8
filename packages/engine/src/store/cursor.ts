import { EngineError } from '@heddle/core';
import type { RunQuery } from '@heddle/core';
import { isStorable } from './stores.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;

/**
 * The position of the last run of a page, in the order of lists (creation time, then id). The next page begins after
 * it, so that new runs do not shift later pages.
 */
export interface Cursor {
  createdMs: number;
  runId: string;
}

/** Returns the cursor as opaque text for callers. */
export function encodeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify([cursor.createdMs, cursor.runId])).toString('base64url');
}

/**
 * Returns the cursor of a query; undefined for the first page. Throws OPTIONS_INVALID for text that is not a cursor.
 */
export function decodeCursor(query: RunQuery): Cursor | undefined {
  if (query.cursor === undefined) return undefined;
  try {
    const [createdMs, runId] = JSON.parse(Buffer.from(query.cursor, 'base64url').toString()) as unknown[];
    const isTime = Number.isSafeInteger(createdMs);
    // PostgreSQL text cannot contain NUL.
    const isId = typeof runId === 'string' && isStorable(runId);
    if (isTime && isId) return { createdMs: createdMs as number, runId };
  } catch {
    // Text that is not JSON gets the same error as other invalid cursors.
  }
  throw new EngineError(
    'OPTIONS_INVALID',
    `"${query.cursor}" is not a cursor of a list of runs. Pass the cursor that the previous page returned, or none.`,
  );
}

/** Returns the number of runs on a page. Throws OPTIONS_INVALID. */
export function pageLimit(query: RunQuery): number {
  const limit = query.limit ?? DEFAULT_LIMIT;
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new EngineError(
    'OPTIONS_INVALID',
    `The limit of a list of runs is a whole number from 1 to ${MAX_LIMIT}, not ${limit}.`,
  );
}
