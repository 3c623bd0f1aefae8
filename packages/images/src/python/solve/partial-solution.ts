import type { Incompatibility } from './incompatibility.ts';
import { type CandidateSet, fullSet } from './sets.ts';

/** An assignment: the candidate of the package is in `set`. An assignment without a cause is a decision. */
export interface Assignment<Reason> {
  readonly id: string;
  readonly set: CandidateSet;
  readonly level: number;
  readonly cause?: Incompatibility<Reason>;
}

/** The assignment with which an incompatibility became satisfied. */
export interface Satisfier<Reason> {
  readonly assignment: Assignment<Reason>;
  /** The level at which the incompatibility's other terms were already satisfied. */
  readonly previousLevel: number;
}

/** The assignments so far, in order. */
export class PartialSolution<Reason> {
  readonly #assignments: Assignment<Reason>[] = [];
  readonly #remainingCandidates = new Map<string, CandidateSet>();
  readonly #decisions = new Map<string, CandidateSet>();
  readonly #sizeOf: (id: string) => number;
  #level = 0;

  constructor(sizeOf: (id: string) => number) {
    this.#sizeOf = sizeOf;
  }

  /** Returns the remaining candidates, including "not installed" if possible. */
  remainingCandidates(id: string): CandidateSet {
    return this.#remainingCandidates.get(id) ?? fullSet(this.#sizeOf(id));
  }

  decisions(): ReadonlyMap<string, CandidateSet> {
    return this.#decisions;
  }

  /** Returns the packages with assignments, in order of their first one. */
  ids(): IterableIterator<string> {
    return this.#remainingCandidates.keys();
  }

  decide(id: string, set: CandidateSet): void {
    this.#level += 1;
    this.#decisions.set(id, set);
    this.#add({ id, set, level: this.#level });
  }

  derive(id: string, set: CandidateSet, cause: Incompatibility<Reason>): void {
    this.#add({ id, set, level: this.#level, cause });
  }

  #add(assignment: Assignment<Reason>): void {
    this.#remainingCandidates.set(assignment.id, this.remainingCandidates(assignment.id) & assignment.set);
    this.#assignments.push(assignment);
  }

  /** Removes assignments above a level. */
  backtrackTo(level: number): void {
    const assignments = this.#assignments.filter((assignment) => assignment.level <= level);
    this.#assignments.length = 0;
    this.#remainingCandidates.clear();
    this.#decisions.clear();
    for (const assignment of assignments) {
      this.#add(assignment);
      if (!assignment.cause) this.#decisions.set(assignment.id, assignment.set);
    }
    this.#level = level;
  }

  /** Returns the first assignment after which all terms of a satisfied incompatibility hold. */
  findSatisfier(terms: ReadonlyMap<string, CandidateSet>): Satisfier<Reason> {
    const indexes = new Map([...terms].map(([id, set]) => [id, this.#indexOf(id, set)]));
    const index = Math.max(...indexes.values());
    const assignment = this.#assignments[index];
    if (!assignment) throw new Error('The incompatibility is not satisfied.');
    const ownIndex = this.#indexOf(assignment.id, terms.get(assignment.id) ?? 0n, assignment.set);
    const otherIndexes = [...indexes]
      .filter(([id]) => id !== assignment.id)
      .map(([, otherIndex]) => otherIndex);
    const previousAssignment = this.#assignments[Math.max(ownIndex, ...otherIndexes, -1)];
    return { assignment, previousLevel: previousAssignment?.level ?? 0 };
  }

  /**
   * Returns the index of the first assignment after which all remaining candidates of the package are in `set`. Returns
   * -1 if they are in it before the first assignment, and the number of assignments if they never are. `initial` is a
   * set that is known to contain the candidate.
   */
  #indexOf(id: string, set: CandidateSet, initial?: CandidateSet): number {
    let remaining = fullSet(this.#sizeOf(id)) & (initial ?? -1n);
    if ((remaining & ~set) === 0n) return -1;
    for (const [index, assignment] of this.#assignments.entries()) {
      if (assignment.id !== id) continue;
      remaining &= assignment.set;
      if ((remaining & ~set) === 0n) return index;
    }
    return this.#assignments.length;
  }
}
