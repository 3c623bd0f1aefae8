import { createHash } from 'node:crypto';
import * as z from 'zod';
import { badRequest } from './errors.ts';
import { unstorableTexts } from './http/unstorable.ts';

/**
 * The opaque cursor of a page: where it ended, bound to sort and filters, so that a cursor cannot go on with another
 * query than it was given for.
 */
export function encodeCursor(position: readonly (string | number | null)[], query: object): string {
  return Buffer.from(JSON.stringify({ at: position, of: fingerprint(query) })).toString('base64url');
}

const envelope = z.object({ at: z.unknown(), of: z.string() });

/**
 * Returns the position of `cursor`, which has the form that positions in this list have. Throws 400 for a cursor that is
 * unreadable or forged, and for the cursor of another query.
 */
export function decodeCursor<Position>(cursor: string, query: object, form: z.ZodType<Position>): Position {
  const read = envelope.safeParse(jsonIn(cursor)).data;
  if (read && read.of !== fingerprint(query)) {
    throw badRequest('The cursor belongs to another sort or filter: start again without one.');
  }
  const position = form.safeParse(read?.at);
  if (position.success && unstorableTexts(form, position.data).length === 0) return position.data;
  throw badRequest('The cursor cannot be read: start again without one.');
}

function jsonIn(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
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
