/** What a contender has made ready: one run of the workload, or a measurement of its own. */
export type Prepared = Timed | Measured;

/** Timed from outside: as many runs as fit into a sample. */
export interface Timed {
  /** One run of the workload; it throws when its result is wrong. */
  once(): Promise<void> | void;
  /** What must not be timed: fresh stores, an empty folder. */
  between?(): Promise<void> | void;
  close?(): Promise<void> | void;
}

/** Measures itself, in milliseconds or MB as its row says. */
export interface Measured {
  sample(sampleMs: number): Promise<number>;
  close?(): Promise<void> | void;
}

/** What can be measured, each with a size: blocks, turns, branches, runs in flight. */
export type WorkloadName =
  | 'chain'
  | 'loop'
  | 'fan'
  | 'durable'
  | 'durable in flight'
  | 'sandbox'
  | 'sandbox in flight'
  | 'sandbox on two cores'
  | 'sandbox program'
  | 'sandbox start'
  | 'sandbox fresh'
  | 'sandbox packages'
  | 'sandbox memory'
  | 'expressions'
  | 'compile'
  | 'cold start'
  | 'memory at start'
  | 'memory of outputs'
  | 'agent'
  | 'durable agent'
  | 'steps'
  | 'first text'
  | 'first text elsewhere';

/** What one engine, or one floor, can do; what is missing it does not offer. */
export type Contender = {
  readonly [name in WorkloadName]?: (size: number) => Promise<Prepared> | Prepared;
};

/** What the bench asks of a contender's process, and what that answers. */
export type Request = { sampleMs: number } | 'close';
export type Reply = { ready: true } | { value: number } | { failed: string };

/** Steps of the chains, of memory and of disk. */
export const CHAIN = 10;

/** Throws unless a run has come to the right result: a wrong one is not worth timing. */
export function expectResult(got: unknown, expected: unknown): void {
  if (got !== expected) throw new Error(`the result is ${String(got)} and should be ${String(expected)}`);
}
