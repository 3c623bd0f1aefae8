/** Durations of one kind, in milliseconds. */
export interface Durations {
  readonly count: number;
  readonly totalMs: number;
  readonly mostMs: number;
}

/** Why a process ended: by our hand, or `died`, or `failed` before it was ready. */
export type EndReason =
  | 'idle'
  /** It had served so many jobs, lived so long, or grown so large. */
  | 'jobs'
  | 'age'
  | 'memory'
  /** Another pool key needed its place: `room` while it was idle, `drained` while it was busy. */
  | 'room'
  | 'drained'
  /** It had done what it was started for. */
  | 'finished'
  /** A native job met one of its limits. */
  | 'limit'
  | 'cancelled'
  | 'overdue'
  | 'malformed'
  /** It was started before it was known how processes have to be confined. */
  | 'isolation'
  | 'closed'
  | 'died'
  | 'failed';

/** What a pool has measured since its start. */
export interface PoolMetrics {
  /** From a job's arrival until a process got it. */
  readonly queue: Durations;
  /** From the start of a process until it was ready. */
  readonly start: Durations;
  /** Processor time of jobs, and the time from their first entry to their answer. */
  readonly cpu: Durations;
  readonly wall: Durations;
  /** The most memory that a process has had, in MiB. */
  readonly peakRssMiB: number;
  /** Processes that have ended, by reason. */
  readonly ended: Readonly<Partial<Record<EndReason, number>>>;
}

class Tally implements Durations {
  count = 0;
  totalMs = 0;
  mostMs = 0;

  add(ms: number): void {
    this.count++;
    this.totalMs += ms;
    this.mostMs = Math.max(this.mostMs, ms);
  }

  get value(): Durations {
    const { count, totalMs, mostMs } = this;
    return { count, totalMs, mostMs };
  }
}

/** Measures a pool. */
export class Meter {
  readonly #queue = new Tally();
  readonly #start = new Tally();
  readonly #cpu = new Tally();
  readonly #wall = new Tally();
  readonly #ended: Partial<Record<EndReason, number>> = {};
  #peakRssMiB = 0;

  queued(sinceMs: number): void {
    this.#queue.add(performance.now() - sinceMs);
  }

  started(sinceMs: number): void {
    this.#start.add(performance.now() - sinceMs);
  }

  done({ cpuMs, wallMs, rssMiB }: { cpuMs: number; wallMs: number; rssMiB: number }): void {
    this.#cpu.add(cpuMs);
    this.#wall.add(wallMs);
    this.#peakRssMiB = Math.max(this.#peakRssMiB, rssMiB);
  }

  ended(reason: EndReason): void {
    this.#ended[reason] = (this.#ended[reason] ?? 0) + 1;
  }

  get metrics(): PoolMetrics {
    return {
      queue: this.#queue.value,
      start: this.#start.value,
      cpu: this.#cpu.value,
      wall: this.#wall.value,
      peakRssMiB: this.#peakRssMiB,
      ended: { ...this.#ended },
    };
  }
}
