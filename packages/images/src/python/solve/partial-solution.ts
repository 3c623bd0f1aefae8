import type { Incompatibility } from './incompatibility.ts';
import { type CandidateSet, everything } from './sets.ts';

/** One step: from here on the package is in `set`. Without a cause it was a decision. */
export interface Step<Note> {
  readonly id: string;
  readonly set: CandidateSet;
  readonly level: number;
  readonly cause?: Incompatibility<Note>;
}

/** Where in the trail an incompatibility came true. */
export interface Satisfaction<Note> {
  readonly step: Step<Note>;
  /** The level at which all else of it was true already. */
  readonly previousLevel: number;
}

/** What is known so far, in the order in which it became known. */
export class PartialSolution<Note> {
  readonly #steps: Step<Note>[] = [];
  readonly #known = new Map<string, CandidateSet>();
  readonly #decided = new Map<string, CandidateSet>();
  readonly #sizeOf: (id: string) => number;
  #level = 0;

  constructor(sizeOf: (id: string) => number) {
    this.#sizeOf = sizeOf;
  }

  /** The candidates that are left, and "not installed" where that is left. */
  known(id: string): CandidateSet {
    return this.#known.get(id) ?? everything(this.#sizeOf(id));
  }

  decisions(): ReadonlyMap<string, CandidateSet> {
    return this.#decided;
  }

  /** Packages that something was learned of, in that order. */
  ids(): IterableIterator<string> {
    return this.#known.keys();
  }

  decide(id: string, set: CandidateSet): void {
    this.#level += 1;
    this.#decided.set(id, set);
    this.#add({ id, set, level: this.#level });
  }

  derive(id: string, set: CandidateSet, cause: Incompatibility<Note>): void {
    this.#add({ id, set, level: this.#level, cause });
  }

  #add(step: Step<Note>): void {
    this.#known.set(step.id, this.known(step.id) & step.set);
    this.#steps.push(step);
  }

  /** Forgets what was learned above the level. */
  backTo(level: number): void {
    const kept = this.#steps.filter((step) => step.level <= level);
    this.#steps.length = 0;
    this.#known.clear();
    this.#decided.clear();
    for (const step of kept) {
      this.#add(step);
      if (!step.cause) this.#decided.set(step.id, step.set);
    }
    this.#level = level;
  }

  /** The first step at which every term of a satisfied incompatibility was true. */
  satisfaction(terms: ReadonlyMap<string, CandidateSet>): Satisfaction<Note> {
    const places = new Map([...terms].map(([id, set]) => [id, this.#placeOf(id, set)]));
    const place = Math.max(...places.values());
    const step = this.#steps[place];
    if (!step) throw new Error('An incompatibility was taken for true that is not.');
    const own = this.#placeOf(step.id, terms.get(step.id) ?? 0n, step.set);
    const others = [...places].filter(([id]) => id !== step.id).map(([, at]) => at);
    const previous = this.#steps[Math.max(own, ...others, -1)];
    return { step, previousLevel: previous?.level ?? 0 };
  }

  /** The place of the step from which on the package is in the set, given that it is in `given`; -1: from the start. */
  #placeOf(id: string, set: CandidateSet, given?: CandidateSet): number {
    let left = everything(this.#sizeOf(id)) & (given ?? -1n);
    if ((left & ~set) === 0n) return -1;
    for (const [place, step] of this.#steps.entries()) {
      if (step.id !== id) continue;
      left &= step.set;
      if ((left & ~set) === 0n) return place;
    }
    return this.#steps.length;
  }
}
