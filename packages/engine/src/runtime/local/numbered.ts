import type { Entry, EntryBody } from '@heddle/core/run';

/**
 * The entry with this body.
 *
 * Entries are kept as they are by stores in memory, so it counts how many objects they are: what is added to a copy
 * stands in an object of its own. The entry of almost every block is therefore made in one piece.
 */
export function numbered(body: EntryBody, seq: number, atMs: number): Entry {
  if (body.type === 'completed' && body.input && body.port === undefined && body.set === undefined) {
    const { type, block, scope, try: attempt, startedMs, input, output } = body;
    return { seq, atMs, type, block, scope, try: attempt, startedMs, input, output };
  }
  return { ...body, seq, atMs };
}
