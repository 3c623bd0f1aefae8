import type { CandidateSet } from './sets.ts';

/**
 * Sets of candidates, one per package, that cannot all be chosen together. The term comes from the PubGrub algorithm.
 */
export interface Incompatibility<Note> {
  readonly terms: ReadonlyMap<string, CandidateSet>;
  readonly cause: Fact<Note> | Derivation<Note>;
}

/** The cause of an incompatibility: a requirement of a package or of the author. */
interface Fact<Note> {
  readonly kind: 'fact';
  readonly note: Note;
}

/** The cause of an incompatibility: two others, from which it follows. */
interface Derivation<Note> {
  readonly kind: 'derived';
  readonly from: readonly [Incompatibility<Note>, Incompatibility<Note>];
}

/** Returns the notes of the facts from which an incompatibility follows, each once, nearest first. */
export function factsOf<Note>(incompatibility: Incompatibility<Note>): Note[] {
  const seen = new Set<Incompatibility<Note>>();
  const notes = new Set<Note>();
  const queue = [incompatibility];
  for (let next = queue.shift(); next; next = queue.shift()) {
    if (seen.has(next)) continue;
    seen.add(next);
    if (next.cause.kind === 'fact') notes.add(next.cause.note);
    else queue.push(...next.cause.from);
  }
  return [...notes];
}

/**
 * Resolves two incompatibilities on one package: whichever candidate the package has, one of the two applies, so the
 * other terms of both cannot hold together. `full` is the set of all candidates of the package.
 */
export function combine<Note>(
  a: Incompatibility<Note>,
  b: Incompatibility<Note>,
  pivot: { readonly id: string; readonly full: CandidateSet },
): Incompatibility<Note> {
  const terms = new Map(a.terms);
  for (const [id, set] of b.terms) terms.set(id, (terms.get(id) ?? set) & set);
  const union = (a.terms.get(pivot.id) ?? 0n) | (b.terms.get(pivot.id) ?? 0n);
  if (union === pivot.full) terms.delete(pivot.id);
  else terms.set(pivot.id, union);
  return { terms, cause: { kind: 'derived', from: [a, b] } };
}
