import type { CandidateSet } from './sets.ts';

/** Packages that cannot all be in these sets at once. The name is that of the PubGrub algorithm. */
export interface Incompatibility<Note> {
  readonly terms: ReadonlyMap<string, CandidateSet>;
  readonly cause: Fact<Note> | Derivation<Note>;
}

/** It follows from what a package or the author asks for. */
interface Fact<Note> {
  readonly kind: 'fact';
  readonly note: Note;
}

/** It follows from two others. */
interface Derivation<Note> {
  readonly kind: 'derived';
  readonly from: readonly [Incompatibility<Note>, Incompatibility<Note>];
}

/** The notes of the facts that an incompatibility follows from, each once, nearest first. */
export function factsOf<Note>(incompatibility: Incompatibility<Note>): Note[] {
  const seen = new Set<Incompatibility<Note>>();
  const notes = new Set<Note>();
  const waiting = [incompatibility];
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    if (seen.has(next)) continue;
    seen.add(next);
    if (next.cause.kind === 'fact') notes.add(next.cause.note);
    else waiting.push(...next.cause.from);
  }
  return [...notes];
}

/**
 * What follows from two incompatibilities with regard to one package: whichever candidate it has, one of the two applies,
 * so the others' terms of both cannot hold together. `full` is every candidate of the package.
 */
export function combine<Note>(
  a: Incompatibility<Note>,
  b: Incompatibility<Note>,
  pivot: { readonly id: string; readonly full: CandidateSet },
): Incompatibility<Note> {
  const terms = new Map(a.terms);
  for (const [id, set] of b.terms) terms.set(id, (terms.get(id) ?? set) & set);
  const either = (a.terms.get(pivot.id) ?? 0n) | (b.terms.get(pivot.id) ?? 0n);
  if (either === pivot.full) terms.delete(pivot.id);
  else terms.set(pivot.id, either);
  return { terms, cause: { kind: 'derived', from: [a, b] } };
}
