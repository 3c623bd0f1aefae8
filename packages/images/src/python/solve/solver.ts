import { combine, type Incompatibility } from './incompatibility.ts';
import { absentSet, bestIndex, type CandidateSet, contains, fullSet, singleton } from './sets.ts';
import { PartialSolution } from './partial-solution.ts';

/** Requires that the candidate of the package `target` is in `allowedSet`. */
export interface Rule<Reason> {
  readonly target: string;
  /** Empty if nothing is allowed. */
  readonly allowedSet: CandidateSet;
  /** Why the rule exists; proofs consist of these reasons. */
  readonly reason: Reason;
}

/** The packages and their rules. */
export interface Problem<Reason> {
  /** Returns the package's number of candidates; available once a rule has named it as a target. */
  sizeOf(id: string): number;
  /** Returns the requirements of a candidate. */
  rulesOf(id: string, index: number): Promise<readonly Rule<Reason>[]>;
}

export type Solution<Reason> =
  | { readonly ok: true; readonly chosenIndexes: ReadonlyMap<string, number> }
  /** `proof` is an incompatibility that follows from facts alone. */
  | { readonly ok: false; readonly proof: Incompatibility<Reason> }
  | { readonly ok: false; readonly proof?: undefined };

/**
 * Returns the best compatible candidates for all required packages, a proof that there are none, or neither if
 * `maxSteps` was reached. Implements PubGrub (Weizenbaum, 2018) over finite sets.
 */
export async function solve<Reason>(
  problem: Problem<Reason>,
  rootRules: readonly Rule<Reason>[],
  maxSteps: number,
): Promise<Solution<Reason>> {
  const solver = new Solver(problem);
  for (const rule of rootRules) solver.addRule(rule);
  return solver.run(maxSteps);
}

class Solver<Reason> {
  readonly #problem: Problem<Reason>;
  readonly #solution: PartialSolution<Reason>;
  /** By package. */
  readonly #incompatibilities = new Map<string, Incompatibility<Reason>[]>();
  /** Packages whose incompatibilities have to be applied. */
  readonly #changedPackages = new Set<string>();
  #proof: Incompatibility<Reason> | undefined;

  constructor(problem: Problem<Reason>) {
    this.#problem = problem;
    this.#solution = new PartialSolution((id) => problem.sizeOf(id));
  }

  /** Adds a rule of the author, or of a candidate. */
  addRule(rule: Rule<Reason>, candidate?: { readonly id: string; readonly index: number }): void {
    if (candidate?.id === rule.target && contains(rule.allowedSet, candidate.index)) return;
    const terms = new Map<string, CandidateSet>();
    const allCandidates = fullSet(this.#problem.sizeOf(rule.target));
    // Terms that are always true are omitted, because they cannot change.
    if (rule.allowedSet !== 0n) terms.set(rule.target, allCandidates & ~rule.allowedSet);
    if (candidate) terms.set(candidate.id, singleton(candidate.index));
    const incompatibility: Incompatibility<Reason> = { terms, cause: { kind: 'fact', reason: rule.reason } };
    if (terms.size === 0) this.#proof = incompatibility;
    else this.#learn(incompatibility);
  }

  async run(maxSteps: number): Promise<Solution<Reason>> {
    for (let steps = 0; steps < maxSteps; steps++) {
      this.#propagate();
      if (this.#proof) return { ok: false, proof: this.#proof };
      const id = this.#nextUndecidedId();
      if (id === undefined) return { ok: true, chosenIndexes: this.#chosenIndexes() };
      await this.#decide(id);
    }
    return { ok: false };
  }

  #chosenIndexes(): Map<string, number> {
    return new Map([...this.#solution.decisions()].map(([id, set]) => [id, bestIndex(set)]));
  }

  /**
   * Returns a required package without a decision: one with a single remaining candidate, otherwise the one that was
   * required first.
   */
  #nextUndecidedId(): string | undefined {
    const undecidedIds = [...this.#solution.ids()].filter(
      (id) => !this.#solution.decisions().has(id) && !this.#mayBeAbsent(id),
    );
    return undecidedIds.find((id) => isSingle(this.#solution.remainingCandidates(id))) ?? undecidedIds[0];
  }

  #mayBeAbsent(id: string): boolean {
    return (this.#solution.remainingCandidates(id) & absentSet(this.#problem.sizeOf(id))) !== 0n;
  }

  async #decide(id: string): Promise<void> {
    const index = bestIndex(this.#solution.remainingCandidates(id));
    const rules = await this.#problem.rulesOf(id, index);
    for (const rule of rules) this.addRule(rule, { id, index });
    this.#changedPackages.add(id);
    const isBlocked = rules.some(({ target, allowedSet }) =>
      target === id
        ? !contains(allowedSet, index)
        : (this.#solution.remainingCandidates(target) & allowedSet) === 0n,
    );
    // A blocked candidate is left to propagation, which records the cause.
    if (!isBlocked) this.#solution.decide(id, singleton(index));
  }

  #learn(incompatibility: Incompatibility<Reason>): void {
    for (const id of incompatibility.terms.keys()) {
      const incompatibilities = this.#incompatibilities.get(id);
      if (incompatibilities) incompatibilities.push(incompatibility);
      else this.#incompatibilities.set(id, [incompatibility]);
      this.#changedPackages.add(id);
    }
  }

  /** Derives consequences until there are none left, or there is a proof that no solution exists. */
  #propagate(): void {
    for (;;) {
      const [id] = this.#changedPackages;
      if (id === undefined || this.#proof) return;
      this.#changedPackages.delete(id);
      const conflict = this.#applyIncompatibilities(id);
      if (conflict) this.#resolveConflict(conflict);
    }
  }

  /** Applies all incompatibilities of the package, the newest first. Returns one that is satisfied, or undefined. */
  #applyIncompatibilities(id: string): Incompatibility<Reason> | undefined {
    const incompatibilities = this.#incompatibilities.get(id) ?? [];
    for (const incompatibility of incompatibilities.toReversed()) {
      const term = this.#unsatisfiedTerm(incompatibility);
      if (term === 'none') return incompatibility;
      if (term !== 'inconclusive') this.#derive(incompatibility, term);
    }
    return undefined;
  }

  /**
   * Returns the single term that is not satisfied yet, or 'none' if all terms are satisfied. Returns 'inconclusive' if
   * several terms are not satisfied, or if the incompatibility can no longer be satisfied.
   */
  #unsatisfiedTerm({
    terms,
  }: Incompatibility<Reason>): readonly [string, CandidateSet] | 'none' | 'inconclusive' {
    let unsatisfiedTerm: readonly [string, CandidateSet] | 'none' = 'none';
    for (const term of terms) {
      const remaining = this.#solution.remainingCandidates(term[0]);
      if ((remaining & ~term[1]) === 0n) continue;
      if (unsatisfiedTerm !== 'none' || (remaining & term[1]) === 0n) return 'inconclusive';
      unsatisfiedTerm = term;
    }
    return unsatisfiedTerm;
  }

  #derive(incompatibility: Incompatibility<Reason>, [id, set]: readonly [string, CandidateSet]): void {
    this.#solution.derive(id, fullSet(this.#problem.sizeOf(id)) & ~set, incompatibility);
    this.#changedPackages.add(id);
  }

  /** Derives the root cause of a conflict, backtracks to the level at which it applies, and learns it. */
  #resolveConflict(conflict: Incompatibility<Reason>): void {
    let current = conflict;
    while (current.terms.size > 0) {
      const { assignment, previousLevel } = this.#solution.findSatisfier(current.terms);
      if (!assignment.cause || previousLevel < assignment.level) {
        this.#solution.backtrackTo(previousLevel);
        if (current !== conflict) this.#learn(current);
        for (const id of current.terms.keys()) this.#changedPackages.add(id);
        return;
      }
      current = combine(current, assignment.cause, {
        id: assignment.id,
        allCandidates: fullSet(this.#problem.sizeOf(assignment.id)),
      });
    }
    this.#proof = current;
  }
}

function isSingle(set: CandidateSet): boolean {
  return (set & (set - 1n)) === 0n;
}
