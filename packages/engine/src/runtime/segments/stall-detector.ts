import { AsyncLocalStorage } from 'node:async_hooks';
import { EngineError } from '@heddle/core';

/** A process that was stalled for this long may have lost its work: a server reassigns work after ten seconds. */
const STALL_MS = 7_000;
const CHECK_INTERVAL_MS = 500;

/**
 * Detects that this process was stalled: it was stopped, its machine was suspended, or its event loop was blocked. Then
 * its pending writes may be outdated and must not overwrite later writes of other workers.
 */
export class StallDetector {
  /** The number of stalls when the current work began. */
  readonly #stallsAtBegin = new AsyncLocalStorage<number>();
  readonly #now: () => number;
  #lastCheckMs = 0;
  #stalls = 0;
  #working = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `now`: a clock that advances while the process is stalled. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Runs `work`, which may write unless the process was stalled. */
  async watch<T>(work: () => Promise<T>): Promise<T> {
    if (this.#working++ === 0) {
      this.#lastCheckMs = this.#now();
      this.#timer = setInterval(() => this.#check(), CHECK_INTERVAL_MS);
    }
    try {
      return await this.#stallsAtBegin.run(this.#check(), work);
    } finally {
      if (--this.#working === 0) clearInterval(this.#timer);
    }
  }

  /** True if the process was stalled since the current work began. */
  get wasStalled(): boolean {
    const atBegin = this.#stallsAtBegin.getStore();
    return atBegin !== undefined && atBegin !== this.#check();
  }

  /** Throws RUN_ELSEWHERE if the process was stalled since the current work began. Called before each write. */
  expectNoStall(runId: string): void {
    if (!this.wasStalled) return;
    throw new EngineError(
      'RUN_ELSEWHERE',
      `This process was stalled for more than ${STALL_MS} ms: other workers may have taken over run ${runId}, so nothing of it is written here.`,
      { details: { runId } },
    );
  }

  #check(): number {
    const nowMs = this.#now();
    if (nowMs - this.#lastCheckMs > STALL_MS) this.#stalls++;
    this.#lastCheckMs = nowMs;
    return this.#stalls;
  }
}
