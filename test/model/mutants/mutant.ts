/** A fault put into the machine by hand: in `file` of its folder `from`, which stands there once, becomes `to`. */
export interface Mutant {
  file: string;
  from: string;
  to: string;
  /** What the machine does wrong then. */
  why: string;
}

/** The faults of one file. */
export function faultsIn(file: string, faults: readonly Omit<Mutant, 'file'>[]): Mutant[] {
  return faults.map((fault) => ({ file, ...fault }));
}
