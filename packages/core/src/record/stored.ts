import type { Json, JsonObject } from '../json.ts';

/**
 * A value as the journal and the records hold it: inline, or a reference into the value store.
 *
 * The envelope is what tells the two apart, so data that merely looks like a reference is never taken for one.
 */
export type Stored =
  | { v: Json }
  /** Over the inline limit: `key` in the value store, `bytes` of JSON text. */
  | { ref: { key: string; bytes: number } }
  /**
   * A container's `{results}`: per turn or branch, the outputs of the blocks that ran in it. `control` joins it only
   * where the container's output is the output of the run.
   */
  | { results: Stored[][]; control?: JsonObject };

/** Values whose JSON text is longer than this (bytes) go to the value store. */
export const INLINE_LIMIT_BYTES = 8192;

/** The value, when it is at hand: inline, or made of inline values. `load` gives the text of a reference that was fetched before. */
export function materialize(stored: Stored, load: (key: string) => Json): Json {
  if ('v' in stored) return stored.v;
  if ('ref' in stored) return load(stored.ref.key);
  return { results: stored.results.map((turn) => turn.map((output) => materialize(output, load))) };
}

/** Keys of the value store that `materialize` will ask for. */
export function keysIn(stored: Stored): string[] {
  if ('v' in stored) return [];
  if ('ref' in stored) return [stored.ref.key];
  return stored.results.flatMap((turn) => turn.flatMap(keysIn));
}
