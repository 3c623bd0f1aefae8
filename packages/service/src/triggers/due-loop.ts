/** How often the loop compares the clock with the earliest due instant. It reads the database only when that is reached. */
const BEAT_MS = 250;
/** How often the earliest due instant is read again, in case other processes have changed it. */
const POLL_MS = 5000;
/** Delay before the next attempt after an error. */
const RETRY_MS = 2000;

export interface DueLoopOptions {
  every: (ms: number, beat: () => void) => () => void;
  now: () => number;
  report: (error: unknown) => void;
  /** Handles everything that is due now. Resolves with the earliest instant at which something is due. */
  work: () => Promise<number | undefined>;
}

/** Calls `work` when something is due. It remembers only the earliest instant. */
export class DueLoop {
  readonly #options: DueLoopOptions;
  readonly #stop: () => void;
  /** The earliest due instant known to this process. */
  #nextMs = -Infinity;
  #working: Promise<void> | undefined;
  #isUrgent = false;
  #isClosed = false;

  constructor(options: DueLoopOptions) {
    this.#options = options;
    this.#stop = options.every(BEAT_MS, () => this.#beat());
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Calls `work` at the next beat, because something has changed. */
  wake(): void {
    this.#nextMs = -Infinity;
  }

  /** Calls `work` as soon as possible, because something is due. */
  hurry(): void {
    this.wake();
    if (this.#working) this.#isUrgent = true;
    else this.#beat();
  }

  /** Handles everything that is due now. */
  async run(): Promise<void> {
    await this.#working;
    await this.#work();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    await this.#working;
  }

  #beat(): void {
    if (this.#working || this.#isClosed || this.#options.now() < this.#nextMs) return;
    void this.#work();
  }

  #work(): Promise<void> {
    this.#working ??= this.#worked().finally(() => {
      this.#working = undefined;
      if (!this.#isUrgent) return;
      this.#isUrgent = false;
      this.#beat();
    });
    return this.#working;
  }

  async #worked(): Promise<void> {
    const { now, report, work } = this.#options;
    // A change during the work calls `wake()`, so the next beat notices it.
    this.#nextMs = now() + POLL_MS;
    try {
      const earliest = await work();
      if (earliest !== undefined) this.#nextMs = Math.min(this.#nextMs, earliest);
    } catch (error) {
      report(error);
      this.#nextMs = now() + RETRY_MS;
    }
  }
}
