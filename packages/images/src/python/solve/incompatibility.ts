import type { CandidateSet } from './sets.ts';

/**
 * Sets of candidates, one per package: no solution has a candidate from each of these sets, the terms. PubGrub uses the
 * same names.
 */
export interface Incompatibility<Reason> {
  readonly terms: ReadonlyMap<string, CandidateSet>;
  readonly cause: Fact<Reason> | Derivation<Reason>;
}

/** The cause of an incompatibility: a requirement of a package or of the author. */
interface Fact<Reason> {
  readonly kind: 'fact';
  readonly reason: Reason;
}

/** The cause of an incompatibility: two others, from which it follows. */
interface Derivation<Reason> {
  readonly kind: 'derived';
  readonly parents: readonly [Incompatibility<Reason>, Incompatibility<Reason>];
}

/** Returns the reasons of the facts from which an incompatibility follows, each once, nearest first. */
export function factsOf<Reason>(incompatibility: Incompatibility<Reason>): Reason[] {
  const seen = new Set<Incompatibility<Reason>>();
  const reasons = new Set<Reason>();
  const queue = [incompatibility];
  for (let next = queue.shift(); next; next = queue.shift()) {
    if (seen.has(next)) continue;
    seen.add(next);
    if (next.cause.kind === 'fact') reasons.add(next.cause.reason);
    else queue.push(...next.cause.parents);
  }
  return [...reasons];
}

/**
 * Derives an incompatibility from two others by resolution on the package `pivot`: whichever candidate it has, one of
 * the two applies, so the other terms of both cannot hold together. `allCandidates` is the set of all candidates of the
 * package.
 */
export function combine<Reason>(
  a: Incompatibility<Reason>,
  b: Incompatibility<Reason>,
  pivot: { readonly id: string; readonly allCandidates: CandidateSet },
): Incompatibility<Reason> {
  const terms = new Map(a.terms);
  for (const [id, set] of b.terms) terms.set(id, (terms.get(id) ?? set) & set);
  const union = (a.terms.get(pivot.id) ?? 0n) | (b.terms.get(pivot.id) ?? 0n);
  if (union === pivot.allCandidates) terms.delete(pivot.id);
  else terms.set(pivot.id, union);
  return { terms, cause: { kind: 'derived', parents: [a, b] } };
}
