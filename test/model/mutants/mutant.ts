/** A deliberate fault in the machine: in `file`, the text `from`, which occurs once, becomes `to`. */
export interface Mutant {
  file: string;
  from: string;
  to: string;
  /** The wrong behaviour of the faulty machine. */
  why: string;
}

/** Returns the faults of one file. */
export function faultsIn(file: string, faults: readonly Omit<Mutant, 'file'>[]): Mutant[] {
  return faults.map((fault) => ({ file, ...fault }));
}
