import type { AreaContext } from '@heddle/api';
/** Interval at which the process compares its clock with the earliest due time, without reading the database. */
const TICK_MS = 250;
/** Maximum time until the earliest due time is read again, because another process may have changed it. */
const POLL_MS = 5000;
/** Pause after an error. */
const RETRY_MS = 2000;

export interface TimerLoopOptions {
  repeat: AreaContext['repeat'];
  now: () => number;
  onError: (error: unknown) => void;
  /** Handles everything that is due now. Resolves with the earliest time at which something is due. */
  work: () => Promise<number | undefined>;
}

/** Calls `work` when something is due. It stores only the earliest due time. */
export class TimerLoop {
  readonly #options: TimerLoopOptions;
  readonly #stopTimer: () => void;
  /** When `work` is called next: at the earliest known due time, or to read the database again. */
  #nextCheckMs = -Infinity;
  #currentWork: Promise<void> | undefined;
  #mustCheckAgain = false;
  #isClosed = false;

  constructor(options: TimerLoopOptions) {
    this.#options = options;
    this.#stopTimer = options.repeat(TICK_MS, () => this.#tick());
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Checks again at the next tick. Call it when something has changed. */
  wake(): void {
    this.#nextCheckMs = -Infinity;
  }

  /** Checks again as soon as possible. Call it when something is due. */
  checkNow(): void {
    this.wake();
    if (this.#currentWork) this.#mustCheckAgain = true;
    else this.#tick();
  }

  /** Handles everything that is due now. */
  async run(): Promise<void> {
    await this.#currentWork;
    await this.#startWork();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer();
    await this.#currentWork;
  }

  #tick(): void {
    if (this.#currentWork || this.#isClosed || this.#options.now() < this.#nextCheckMs) return;
    void this.#startWork();
  }

  #startWork(): Promise<void> {
    this.#currentWork ??= this.#runWork().finally(() => {
      this.#currentWork = undefined;
      if (!this.#mustCheckAgain) return;
      this.#mustCheckAgain = false;
      this.#tick();
    });
    return this.#currentWork;
  }

  async #runWork(): Promise<void> {
    const { now, onError, work } = this.#options;
    // Set before the work, so that the next tick notices a change that happens in the meantime.
    this.#nextCheckMs = now() + POLL_MS;
    try {
      const earliestDueMs = await work();
      if (earliestDueMs !== undefined) this.#nextCheckMs = Math.min(this.#nextCheckMs, earliestDueMs);
    } catch (error) {
      onError(error);
      this.#nextCheckMs = now() + RETRY_MS;
    }
  }
}
