import { EngineError } from '@heddle/core';
import type { RunQuery } from '@heddle/core';

const DEFAULT_LIMIT = 50;
const HIGHEST_LIMIT = 1000;

/** Where a page of runs ends: the place in the order (newest first, then by id), so runs that come later shift nothing. */
export interface Cursor {
  createdMs: number;
  runId: string;
}

/** The cursor as callers hold it: opaque text. */
export function encodeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify([cursor.createdMs, cursor.runId])).toString('base64url');
}

/** The cursor of a query, or undefined for the first page; OPTIONS_INVALID for a text that no list returned. */
export function decodeCursor(query: RunQuery): Cursor | undefined {
  if (query.cursor === undefined) return undefined;
  try {
    const [createdMs, runId] = JSON.parse(Buffer.from(query.cursor, 'base64url').toString()) as unknown[];
    const isTime = Number.isSafeInteger(createdMs);
    // PostgreSQL has no NUL in its texts.
    const isId = typeof runId === 'string' && runId.isWellFormed() && !runId.includes('\0');
    if (isTime && isId) return { createdMs: createdMs as number, runId };
  } catch {
    // Falls through to the one error for every text that is not a cursor.
  }
  throw new EngineError(
    'OPTIONS_INVALID',
    `"${query.cursor}" is not a cursor of a list of runs. Pass the cursor that the page before returned, or none.`,
  );
}

/** Runs on a page: the query's limit, checked. */
export function pageLimit(query: RunQuery): number {
  const limit = query.limit ?? DEFAULT_LIMIT;
  if (Number.isInteger(limit) && limit >= 1 && limit <= HIGHEST_LIMIT) return limit;
  throw new EngineError(
    'OPTIONS_INVALID',
    `The limit of a list of runs is a whole number from 1 to ${HIGHEST_LIMIT}, not ${limit}.`,
  );
}
