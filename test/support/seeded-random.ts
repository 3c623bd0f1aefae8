/** Returns a generator of numbers in [0, 1), equal for equal seeds (mulberry32, public domain). */
export function createSeededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a generator of numbers in [0, 1), equal for equal seeds and values (FNV-1a). */
export function createSeededRandomFor(seed: number, values: Iterable<number>): () => number {
  let hash = 2166136261 ^ seed;
  for (const value of values) hash = Math.imul(hash ^ (value + 1), 16777619);
  return createSeededRandom(hash);
}

/**
 * Returns whether the item at `index` is in the sample. The sample has `share` of all items, evenly spaced: one in
 * every `1 / share` consecutive items. `offset`, in [0, 1), determines the first item.
 */
export function isSampled(index: number, share: number, offset: number): boolean {
  return Math.floor(offset + (index + 1) * share) > Math.floor(offset + index * share);
}
