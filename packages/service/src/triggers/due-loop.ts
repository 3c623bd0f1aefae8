/** Interval at which the process compares its clock with the earliest due instant, without reading the database. */
const TICK_MS = 250;
/** Maximum time until the earliest due instant is read again, because another process may have changed it. */
const POLL_MS = 5000;
/** Pause after an error. */
const RETRY_MS = 2000;

export interface DueLoopOptions {
  every: (ms: number, tick: () => void) => () => void;
  now: () => number;
  report: (error: unknown) => void;
  /** Handles everything that is due now. Resolves with the earliest instant at which something is due. */
  work: () => Promise<number | undefined>;
}

/** Calls `work` when something is due. It stores only the earliest due instant. */
export class DueLoop {
  readonly #options: DueLoopOptions;
  readonly #stop: () => void;
  /** When `work` is called next: at the earliest known due instant, or to read the database again. */
  #nextMs = -Infinity;
  #working: Promise<void> | undefined;
  #isUrgent = false;
  #isClosed = false;

  constructor(options: DueLoopOptions) {
    this.#options = options;
    this.#stop = options.every(TICK_MS, () => this.#tick());
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Checks again at the next tick. Call it when something has changed. */
  wake(): void {
    this.#nextMs = -Infinity;
  }

  /** Checks again as soon as possible. Call it when something is due. */
  checkNow(): void {
    this.wake();
    if (this.#working) this.#isUrgent = true;
    else this.#tick();
  }

  /** Handles everything that is due now. */
  async run(): Promise<void> {
    await this.#working;
    await this.#startWork();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    await this.#working;
  }

  #tick(): void {
    if (this.#working || this.#isClosed || this.#options.now() < this.#nextMs) return;
    void this.#startWork();
  }

  #startWork(): Promise<void> {
    this.#working ??= this.#runWork().finally(() => {
      this.#working = undefined;
      if (!this.#isUrgent) return;
      this.#isUrgent = false;
      this.#tick();
    });
    return this.#working;
  }

  async #runWork(): Promise<void> {
    const { now, report, work } = this.#options;
    // Set before the work, so that the next tick notices a change that happens in the meantime.
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
