import { createHash } from 'node:crypto';
import * as z from 'zod';
import { badRequest } from './errors.ts';
import { unstorablePaths } from './http/unstorable-paths.ts';

/** Encodes the position at which a page ended as an opaque cursor. */
export interface CursorCodec<Position> {
  /**
   * Returns the cursor of `position`; null if there is no position. The cursor is valid only with the same sort and
   * filters as `query`.
   */
  encode(position: Readonly<Position> | undefined, query: object): string | null;
  /**
   * Returns the position of the cursor; undefined if there is no cursor. Throws 400 for a cursor that cannot be read or
   * has an invalid position, and for the cursor of another query.
   */
  decode(cursor: string | undefined, query: object): Position | undefined;
}

const envelope = z.object({ at: z.unknown(), of: z.string() });

/** Returns the codec of a list whose positions match `schema`. */
export function cursorCodec<Position>(schema: z.ZodType<Position>): CursorCodec<Position> {
  return {
    encode(position, query) {
      if (position === undefined) return null;
      return Buffer.from(JSON.stringify({ at: position, of: fingerprint(query) })).toString('base64url');
    },
    decode(cursor, query) {
      if (cursor === undefined) return undefined;
      const decodedCursor = envelope.safeParse(parseCursor(cursor)).data;
      if (decodedCursor && decodedCursor.of !== fingerprint(query)) {
        throw badRequest('The cursor belongs to another sort or filter: start again without one.');
      }
      const position = schema.safeParse(decodedCursor?.at);
      if (position.success && unstorablePaths(schema, position.data).length === 0) return position.data;
      throw badRequest('The cursor cannot be read: start again without one.');
    },
  };
}

function parseCursor(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Returns a hash of the sort and filters of a query; `limit` and `cursor` may change. */
function fingerprint(query: object): string {
  const filters = Object.entries(query)
    .filter(([name, value]) => name !== 'limit' && name !== 'cursor' && value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(filters)).digest('base64url').slice(0, 16);
}
