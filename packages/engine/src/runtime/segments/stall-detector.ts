import { AsyncLocalStorage } from 'node:async_hooks';
import { EngineError } from '@heddle/core';

/** Whoever has stood still for so long may have lost what it had begun: a server gives that to others after ten seconds. */
const STILL_MS = 7_000;
const LOOK_MS = 500;

/**
 * Notices that this process has stood still: it was stopped, its machine was put to sleep, or something has blocked it.
 * What it was about to write may be history by then, and must not replace what others have written since.
 */
export class Pulse {
  /** How often the process had stood still when the work began that asks. */
  private readonly begun = new AsyncLocalStorage<number>();
  private readonly now: () => number;
  private lastMs = 0;
  private stops = 0;
  private working = 0;
  private timer: NodeJS.Timeout | undefined;

  /** `now`: a clock that goes on while the process stands still. */
  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  /** Does `work`, which may write as long as the process does not stand still. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.working++ === 0) {
      this.lastMs = this.now();
      this.timer = setInterval(() => this.look(), LOOK_MS);
    }
    try {
      return await this.begun.run(this.look(), work);
    } finally {
      if (--this.working === 0) clearInterval(this.timer);
    }
  }

  /** True for work that the process has stood still in. */
  get missed(): boolean {
    const begun = this.begun.getStore();
    return begun !== undefined && begun !== this.look();
  }

  /** Throws RUN_ELSEWHERE for work that the process has stood still in. To be called where something is written. */
  expectBeating(runId: string): void {
    if (!this.missed) return;
    throw new EngineError(
      'RUN_ELSEWHERE',
      `This process stood still for more than ${STILL_MS} ms: others may have taken over what it did of run ${runId}, and nothing of it is written here.`,
      { details: { runId } },
    );
  }

  private look(): number {
    const nowMs = this.now();
    if (nowMs - this.lastMs > STILL_MS) this.stops++;
    this.lastMs = nowMs;
    return this.stops;
  }
}
