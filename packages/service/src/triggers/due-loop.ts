/** How often the process looks whether something is due. It reads nothing until then. */
const BEAT_MS = 250;
/** How often the earliest due instant is read again, for changes of other processes. */
const POLL_MS = 5000;
/** How long work rests after an error. */
const REST_MS = 2000;

export interface DueLoopOptions {
  every: (ms: number, beat: () => void) => () => void;
  now: () => number;
  report: (error: unknown) => void;
  /** Handles everything that is due now. Resolves with the earliest instant at which something is due. */
  work: () => Promise<number | undefined>;
}

/** Works when something is due. It remembers only the earliest instant. */
export class DueLoop {
  readonly #options: DueLoopOptions;
  readonly #stop: () => void;
  /** When something is due, as far as this process knows. */
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

  /** Looks again at the next beat: something has changed. */
  wake(): void {
    this.#nextMs = -Infinity;
  }

  /** Looks again as soon as possible: something is due. */
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
    // A change from now on is noticed by the next beat.
    this.#nextMs = now() + POLL_MS;
    try {
      const earliest = await work();
      if (earliest !== undefined) this.#nextMs = Math.min(this.#nextMs, earliest);
    } catch (error) {
      report(error);
      this.#nextMs = now() + REST_MS;
    }
  }
}
