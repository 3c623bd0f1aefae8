/** A workload that is ready to be measured. */
export type Workload = TimedWorkload | SelfMeasuringWorkload;

/** A workload that the benchmark times, with as many runs as fit into a sample. */
export interface TimedWorkload {
  /** Executes the workload once. Throws if its result is wrong. */
  runOnce(): Promise<void> | void;
  /** Prepares a sample, for example with new stores. The preparation is not timed. */
  beforeSample?(): Promise<void> | void;
  close?(): Promise<void> | void;
}

/** A workload that measures itself. Its samples are milliseconds, MB, or another unit that its row converts. */
export interface SelfMeasuringWorkload {
  sample(sampleMs: number): Promise<number>;
  close?(): Promise<void> | void;
}

/** The workloads. Each has a size: a number of blocks, iterations, branches, schedules or concurrent runs. */
export type WorkloadName =
  | 'chain'
  | 'loop'
  | 'fan-out'
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
  | 'first text in another process'
  | 'schedules due together'
  | 'schedules due'
  | 'schedules idle'
  | 'schedules memory';

/** The workloads that a contender supports. */
export type Contender = {
  readonly [name in WorkloadName]?: (size: number) => Promise<Workload> | Workload;
};

/** Requests of the benchmark to the process of a contender, and their responses. */
export type Request = { sampleMs: number } | 'close';
export type Reply = { ready: true } | { value: number } | { errorMessage: string };

/** Number of steps of the durable chains. */
export const DURABLE_CHAIN_LENGTH = 10;

/** Throws if the result of a run is wrong. */
export function expectResult(actual: unknown, expected: unknown): void {
  if (actual !== expected)
    throw new Error(`The result is ${String(actual)}, but ${String(expected)} was expected.`);
}
