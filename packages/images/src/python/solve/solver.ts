import { combine, type Incompatibility } from './incompatibility.ts';
import { absence, best, type CandidateSet, contains, everything, only } from './sets.ts';
import { PartialSolution } from './partial-solution.ts';

/** `target` has to be in `allowed`, because of `note`. */
export interface Rule<Note> {
  readonly target: string;
  /** Empty: nothing will do. */
  readonly allowed: CandidateSet;
  readonly note: Note;
}

/** The packages to choose from. */
export interface Problem<Note> {
  /** How many candidates the package has; known once a rule has named it as a target. */
  sizeOf(id: string): number;
  /** What a candidate asks for. */
  rulesOf(id: string, place: number): Promise<readonly Rule<Note>[]>;
}

export type Solution<Note> =
  | { readonly ok: true; readonly chosen: ReadonlyMap<string, number> }
  /** `proof` follows from facts alone. */
  | { readonly ok: false; readonly proof: Incompatibility<Note> }
  | { readonly ok: false; readonly proof?: undefined };

/**
 * One candidate for every package that is needed, the best that go together, or the proof that there are none; without a
 * proof when `maxSteps` conflicts and decisions did not suffice. This is PubGrub (Weizenbaum, 2018) over finite sets.
 */
export async function solve<Note>(
  problem: Problem<Note>,
  wanted: readonly Rule<Note>[],
  maxSteps: number,
): Promise<Solution<Note>> {
  const solver = new Solver(problem);
  for (const rule of wanted) solver.add(rule);
  return solver.run(maxSteps);
}

class Solver<Note> {
  readonly #problem: Problem<Note>;
  readonly #solution: PartialSolution<Note>;
  readonly #byPackage = new Map<string, Incompatibility<Note>[]>();
  readonly #changed = new Set<string>();
  #proof: Incompatibility<Note> | undefined;

  constructor(problem: Problem<Note>) {
    this.#problem = problem;
    this.#solution = new PartialSolution((id) => problem.sizeOf(id));
  }

  /** A rule of the author, or of the candidate `of`. */
  add(rule: Rule<Note>, of?: { readonly id: string; readonly place: number }): void {
    if (of?.id === rule.target && contains(rule.allowed, of.place)) return;
    const terms = new Map<string, CandidateSet>();
    const full = everything(this.#problem.sizeOf(rule.target));
    // A term that is always true is left out: terms are what can still change.
    if (rule.allowed !== 0n) terms.set(rule.target, full & ~rule.allowed);
    if (of) terms.set(of.id, only(of.place));
    const incompatibility: Incompatibility<Note> = { terms, cause: { kind: 'fact', note: rule.note } };
    if (terms.size === 0) this.#proof = incompatibility;
    else this.#learn(incompatibility);
  }

  async run(maxSteps: number): Promise<Solution<Note>> {
    for (let steps = 0; steps < maxSteps; steps++) {
      this.#propagate();
      if (this.#proof) return { ok: false, proof: this.#proof };
      const id = this.#undecided();
      if (id === undefined) return { ok: true, chosen: this.#chosen() };
      await this.#decide(id);
    }
    return { ok: false };
  }

  #chosen(): Map<string, number> {
    return new Map([...this.#solution.decisions()].map(([id, set]) => [id, best(set)]));
  }

  /** A needed package without a decision: first those without a choice, then in the order in which they were asked for. */
  #undecided(): string | undefined {
    const open = [...this.#solution.ids()].filter(
      (id) => !this.#solution.decisions().has(id) && !this.#mayBeAbsent(id),
    );
    return open.find((id) => isSingle(this.#solution.known(id))) ?? open[0];
  }

  #mayBeAbsent(id: string): boolean {
    return (this.#solution.known(id) & absence(this.#problem.sizeOf(id))) !== 0n;
  }

  async #decide(id: string): Promise<void> {
    const place = best(this.#solution.known(id));
    const rules = await this.#problem.rulesOf(id, place);
    for (const rule of rules) this.add(rule, { id, place });
    this.#changed.add(id);
    const blocked = rules.some(({ target, allowed }) =>
      target === id ? !contains(allowed, place) : (this.#solution.known(target) & allowed) === 0n,
    );
    // A blocked candidate is ruled out by propagation, which knows the cause then.
    if (!blocked) this.#solution.decide(id, only(place));
  }

  #learn(incompatibility: Incompatibility<Note>): void {
    for (const id of incompatibility.terms.keys()) {
      const list = this.#byPackage.get(id);
      if (list) list.push(incompatibility);
      else this.#byPackage.set(id, [incompatibility]);
      this.#changed.add(id);
    }
  }

  /** Draws conclusions until there are none left, or a proof that nothing works. */
  #propagate(): void {
    for (;;) {
      const [id] = this.#changed;
      if (id === undefined || this.#proof) return;
      this.#changed.delete(id);
      const conflict = this.#concludeFrom(id);
      if (conflict) this.#resolve(conflict);
    }
  }

  /** Applies every incompatibility of the package, the newest first; returns one that came true. */
  #concludeFrom(id: string): Incompatibility<Note> | undefined {
    const list = this.#byPackage.get(id) ?? [];
    for (const incompatibility of list.toReversed()) {
      const open = this.#openTerm(incompatibility);
      if (open === 'none') return incompatibility;
      if (open !== 'several') this.#conclude(incompatibility, open);
    }
    return undefined;
  }

  /** The one term that is not true yet; 'several' also when the incompatibility cannot come true any more. */
  #openTerm({ terms }: Incompatibility<Note>): readonly [string, CandidateSet] | 'none' | 'several' {
    let open: readonly [string, CandidateSet] | 'none' = 'none';
    for (const term of terms) {
      const known = this.#solution.known(term[0]);
      if ((known & ~term[1]) === 0n) continue;
      if (open !== 'none' || (known & term[1]) === 0n) return 'several';
      open = term;
    }
    return open;
  }

  #conclude(incompatibility: Incompatibility<Note>, [id, set]: readonly [string, CandidateSet]): void {
    this.#solution.derive(id, everything(this.#problem.sizeOf(id)) & ~set, incompatibility);
    this.#changed.add(id);
  }

  /** Finds what a conflict follows from, goes back to where that could have been known, and learns it. */
  #resolve(conflict: Incompatibility<Note>): void {
    let current = conflict;
    while (current.terms.size > 0) {
      const { step, previousLevel } = this.#solution.satisfaction(current.terms);
      if (!step.cause || previousLevel < step.level) {
        this.#solution.backTo(previousLevel);
        if (current !== conflict) this.#learn(current);
        for (const id of current.terms.keys()) this.#changed.add(id);
        return;
      }
      current = combine(current, step.cause, {
        id: step.id,
        full: everything(this.#problem.sizeOf(step.id)),
      });
    }
    this.#proof = current;
  }
}

function isSingle(set: CandidateSet): boolean {
  return (set & (set - 1n)) === 0n;
}
