import type { Json } from '../json.ts';

/**
 * A value as the journal and the records hold it: inline, or a reference into the value store.
 *
 * The envelope is what tells the two apart, so data that merely looks like a reference is never taken for one.
 */
export type Stored =
  | { v: Json }
  /** Over the inline limit: `key` in the value store, `bytes` of JSON text. */
  | { ref: { key: string; bytes: number } }
  /** A container's `{results}`: per turn or branch, the outputs of the blocks that ran in it. */
  | { results: Stored[][] };

/** Values whose JSON text is longer than this (bytes) go to the value store. */
export const INLINE_LIMIT_BYTES = 8192;
