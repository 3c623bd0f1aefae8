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
  /** The number of stalls when the current work started. */
  readonly #stallCountAtStart = new AsyncLocalStorage<number>();
  readonly #now: () => number;
  #lastCheckMs = 0;
  #stallCount = 0;
  #activeWorkCount = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `now`: a clock that advances while the process is stalled. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Runs `work`, which may write unless the process was stalled. */
  async watch<T>(work: () => Promise<T>): Promise<T> {
    if (this.#activeWorkCount++ === 0) {
      this.#lastCheckMs = this.#now();
      this.#timer = setInterval(() => this.#countStalls(), CHECK_INTERVAL_MS);
    }
    try {
      return await this.#stallCountAtStart.run(this.#countStalls(), work);
    } finally {
      if (--this.#activeWorkCount === 0) clearInterval(this.#timer);
    }
  }

  /** True if the process was stalled since the current work began. */
  get wasStalled(): boolean {
    const countAtStart = this.#stallCountAtStart.getStore();
    return countAtStart !== undefined && countAtStart !== this.#countStalls();
  }

  /** Throws RUN_ELSEWHERE if the process was stalled since the current work began. Called before each write. */
  requireNoStall(runId: string): void {
    if (!this.wasStalled) return;
    throw new EngineError(
      'RUN_ELSEWHERE',
      `This process was stalled for more than ${STALL_MS} ms: other workers may have taken over run ${runId}, so this process no longer writes to it.`,
      { details: { runId } },
    );
  }

  #countStalls(): number {
    const nowMs = this.#now();
    if (nowMs - this.#lastCheckMs > STALL_MS) this.#stallCount++;
    this.#lastCheckMs = nowMs;
    return this.#stallCount;
  }
}
