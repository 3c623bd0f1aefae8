import { EngineError } from '@heddle/core';
import type { RunRecord } from '@heddle/core';
import { isIdle, isEnded } from '@heddle/engine/runtime';

/** Delay before the second read of a record. It doubles with each read, up to the maximum. */
const FIRST_DELAY_MS = 10;
const MAX_DELAY_MS = 1000;

/**
 * Waits for runs of other processes by polling their records. Workers write a run's logs together with its record, so
 * callers can read both after the wait.
 */
export class RunWaiter {
  readonly #find: (runId: string) => Promise<RunRecord | undefined>;
  /** Functions that end the current delay, by run. */
  readonly #delays = new Map<string, Set<() => void>>();
  #isClosed = false;

  constructor(find: (runId: string) => Promise<RunRecord | undefined>) {
    this.#find = find;
  }

  /** Reads the run's record immediately, because it has probably changed. */
  notify(runId: string): void {
    for (const wake of this.#delays.get(runId) ?? []) wake();
  }

  /** Resolves when the record covers `seq` entries and the run is paused or has ended. */
  untilIdle(runId: string, seq: number): Promise<void> {
    return this.#poll(runId, (record) => record !== undefined && record.seq >= seq && isIdle(record));
  }

  /** Resolves when the record covers more than `seq` entries, the run has ended, or there is no record. */
  untilChanged(runId: string, seq: number): Promise<void> {
    return this.#poll(runId, (record) => !record || record.seq > seq || isEnded(record.status));
  }

  /** Ends all waits with ENGINE_CLOSED. The stores may be open for longer, if the host has opened them. */
  close(): void {
    this.#isClosed = true;
    for (const runId of this.#delays.keys()) this.notify(runId);
  }

  async #poll(runId: string, isMet: (record: RunRecord | undefined) => boolean): Promise<void> {
    for (let ms = FIRST_DELAY_MS; !isMet(await this.#find(runId)); ms = Math.min(MAX_DELAY_MS, ms * 2)) {
      if (this.#isClosed) throw new EngineError('ENGINE_CLOSED', 'The engine is closed: open another one.');
      await this.#delay(runId, ms);
    }
  }

  /** Uses the real clock: other processes work in real time, even if the runs use another clock. */
  #delay(runId: string, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const delays = this.#delays.get(runId) ?? new Set();
      this.#delays.set(runId, delays);
      const wake = (): void => {
        clearTimeout(timer);
        delays.delete(wake);
        if (delays.size === 0 && this.#delays.get(runId) === delays) this.#delays.delete(runId);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      delays.add(wake);
    });
  }
}
