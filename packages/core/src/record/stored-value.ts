import type { Json, JsonObject } from '../json.ts';

/**
 * A value as journals and records store it: inline, or a reference into the value store.
 *
 * The envelope tells the two apart, so data that merely looks like a reference is never mistaken for a reference.
 */
export type StoredValue =
  | { v: Json }
  /** A value above the inline limit: its `key` in the value store, and its `bytes` of JSON text. */
  | { ref: { key: string; bytes: number } }
  /**
   * A container's `{results}`: per iteration or branch, the outputs of the blocks that ran in it. `control`: further
   * fields, such as `totalIterations`, which only the output of the run shows.
   */
  | { results: StoredValue[][]; control?: JsonObject };

/** Values with more bytes of JSON text go to the value store. */
export const INLINE_LIMIT_BYTES = 8192;

/**
 * Returns the value of `storedValue`. `load` returns values of the value store, which must have been fetched already.
 */
export function materialize(storedValue: StoredValue, load: (key: string) => Json): Json {
  if ('v' in storedValue) return storedValue.v;
  if ('ref' in storedValue) return load(storedValue.ref.key);
  return {
    results: storedValue.results.map((iteration) => iteration.map((output) => materialize(output, load))),
  };
}

/** Returns the keys that `materialize` will load. */
export function keysIn(storedValue: StoredValue): string[] {
  if ('v' in storedValue) return [];
  if ('ref' in storedValue) return [storedValue.ref.key];
  return storedValue.results.flatMap((iteration) => iteration.flatMap(keysIn));
}
