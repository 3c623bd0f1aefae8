/** A deliberate error in the machine: in `file`, the text `from`, which occurs once, becomes `to`. */
export interface Mutant {
  file: string;
  from: string;
  to: string;
  /** The wrong behaviour of the mutant. */
  effect: string;
}

/** Returns the mutants of one file. */
export function mutantsOf(file: string, changes: readonly Omit<Mutant, 'file'>[]): Mutant[] {
  return changes.map((change) => ({ file, ...change }));
}
