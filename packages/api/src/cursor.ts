import { createHash } from 'node:crypto';
import { badRequest } from './errors.ts';

/**
 * The opaque cursor of a page: where it ended, bound to sort and filters, so that a cursor cannot go on with another
 * query than it was given for.
 */
export function encodeCursor(position: readonly (string | number | null)[], query: object): string {
  return Buffer.from(JSON.stringify({ at: position, of: fingerprint(query) })).toString('base64url');
}

/** The position that `cursor` stands for. Throws 400 for one that is unreadable, or of another query. */
export function decodeCursor(cursor: string, query: object): (string | number | null)[] {
  const read = readCursor(cursor);
  if (!read) throw badRequest('The cursor cannot be read: start again without one.');
  if (read.of !== fingerprint(query)) {
    throw badRequest('The cursor belongs to another sort or filter: start again without one.');
  }
  return read.at;
}

function readCursor(cursor: string): { at: (string | number | null)[]; of: string } | undefined {
  try {
    const read = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as {
      at?: unknown;
      of?: unknown;
    };
    const { at, of } = read;
    if (!Array.isArray(at) || typeof of !== 'string') return undefined;
    const plain = at.every((part) => part === null || typeof part === 'string' || typeof part === 'number');
    return plain ? { at: at as (string | number | null)[], of } : undefined;
  } catch {
    return undefined;
  }
}

/** Of everything that the order and the choice of items depend on; `limit` and `cursor` may change. */
function fingerprint(query: object): string {
  const kept = Object.entries(query)
    .filter(([name, value]) => name !== 'limit' && name !== 'cursor' && value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(kept)).digest('base64url').slice(0, 16);
}
