/**
 * Sets of candidates of one package as bit sets: bit i is candidate i, and the bit above all candidates means "not
 * installed". So "at least 2.0" and "anything but 1.5, or not installed" are both sets, and set operations are bitwise.
 */
export type CandidateSet = bigint;

/** Returns all candidates and "not installed". */
export function fullSet(size: number): CandidateSet {
  return (1n << BigInt(size + 1)) - 1n;
}

/** Returns the set with only "not installed". */
export function absentSet(size: number): CandidateSet {
  return 1n << BigInt(size);
}

/** Returns the set with one candidate. */
export function singleton(index: number): CandidateSet {
  return 1n << BigInt(index);
}

/** Returns the set of candidates for which `includes` returns true, without "not installed". */
export function setOf<T>(candidates: readonly T[], includes: (candidate: T) => boolean): CandidateSet {
  let set = 0n;
  for (const [index, candidate] of candidates.entries()) if (includes(candidate)) set |= singleton(index);
  return set;
}

/** Returns whether the set contains the candidate. */
export function contains(set: CandidateSet, index: number): boolean {
  return (set & singleton(index)) !== 0n;
}

/** Returns the lowest index in the set, which is the best candidate; -1 for an empty set. */
export function bestIndex(set: CandidateSet): number {
  let index = 0;
  for (let bits = set; bits !== 0n; bits >>= 1n, index++) if ((bits & 1n) === 1n) return index;
  return -1;
}
