/** Statistics of durations, in milliseconds. */
export interface Durations {
  readonly count: number;
  readonly totalMs: number;
  readonly maxMs: number;
}

/** Why a process ended. `died`: by itself; `failed`: before it was ready; otherwise the pool ended it. */
export type EndReason =
  | 'idle'
  /** It reached a recycling limit: jobs, age or memory. */
  | 'jobs'
  | 'age'
  | 'memory'
  /** Another pool key needed its slot: `evicted` if it was idle, `drained` if it was busy. */
  | 'evicted'
  | 'drained'
  /** Its only task was done. */
  | 'finished'
  /** A native job reached a limit. */
  | 'limit'
  | 'cancelled'
  /** It did not respond by the deadline of a job. */
  | 'unresponsive'
  /** It sent a message that the programs of this package never send. */
  | 'invalid_message'
  /** It was started before the isolation was determined, and its confinement does not match. */
  | 'isolation'
  | 'closed'
  | 'died'
  | 'failed';

/** Measurements of a pool since its start. */
export interface PoolMetrics {
  /** Time from a job's arrival until a process was assigned. */
  readonly queue: Durations;
  /** Time from a process's start until it was ready. */
  readonly start: Durations;
  /** CPU time of jobs, and time from the start of their code to their result. */
  readonly cpu: Durations;
  readonly wall: Durations;
  /** Peak memory of a process (for native jobs: of a process tree), in MiB. */
  readonly peakRssMiB: number;
  /** Numbers of ended processes, by reason. */
  readonly ended: Readonly<Partial<Record<EndReason, number>>>;
}

class DurationStats implements Durations {
  count = 0;
  totalMs = 0;
  maxMs = 0;

  add(ms: number): void {
    this.count++;
    this.totalMs += ms;
    this.maxMs = Math.max(this.maxMs, ms);
  }

  get value(): Durations {
    const { count, totalMs, maxMs } = this;
    return { count, totalMs, maxMs };
  }
}

/** Collects the measurements of a pool. */
export class Meter {
  readonly #queue = new DurationStats();
  readonly #start = new DurationStats();
  readonly #cpu = new DurationStats();
  readonly #wall = new DurationStats();
  readonly #ended: Partial<Record<EndReason, number>> = {};
  #peakRssMiB = 0;

  recordQueueTime(queuedAtMs: number): void {
    this.#queue.add(performance.now() - queuedAtMs);
  }

  recordStartTime(startedAtMs: number): void {
    this.#start.add(performance.now() - startedAtMs);
  }

  recordCompletedJob({ cpuMs, wallMs, rssMiB }: { cpuMs: number; wallMs: number; rssMiB: number }): void {
    this.#cpu.add(cpuMs);
    this.#wall.add(wallMs);
    this.#peakRssMiB = Math.max(this.#peakRssMiB, rssMiB);
  }

  recordProcessEnd(reason: EndReason): void {
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
