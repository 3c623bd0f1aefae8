/**
 * Sets of candidates of one package, as bits: bit i is the candidate at place i, the bit above all candidates stands for
 * "not installed". So "at least 2.0" and "anything but 1.5, or nothing" are both sets, and logic is and, or, not.
 */
export type CandidateSet = bigint;

/** All candidates and "not installed". */
export function everything(size: number): CandidateSet {
  return (1n << BigInt(size + 1)) - 1n;
}

/** "Not installed" alone. */
export function absence(size: number): CandidateSet {
  return 1n << BigInt(size);
}

/** The set of one candidate. */
export function only(place: number): CandidateSet {
  return 1n << BigInt(place);
}

/** The set of the places for which `has` holds, without "not installed". */
export function setOf<T>(candidates: readonly T[], has: (candidate: T) => boolean): CandidateSet {
  let set = 0n;
  for (const [place, candidate] of candidates.entries()) if (has(candidate)) set |= only(place);
  return set;
}

/** Whether the set holds this candidate. */
export function contains(set: CandidateSet, place: number): boolean {
  return (set & only(place)) !== 0n;
}

/** The lowest place in the set, which is the best candidate; -1 for an empty one. */
export function best(set: CandidateSet): number {
  let place = 0;
  for (let rest = set; rest !== 0n; rest >>= 1n, place++) if ((rest & 1n) === 1n) return place;
  return -1;
}
