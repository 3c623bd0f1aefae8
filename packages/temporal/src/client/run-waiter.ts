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
  readonly #findRecord: (runId: string) => Promise<RunRecord | undefined>;
  /** Functions that end the current delays, by run. */
  readonly #wakeCallbacks = new Map<string, Set<() => void>>();
  #isClosed = false;

  constructor(findRecord: (runId: string) => Promise<RunRecord | undefined>) {
    this.#findRecord = findRecord;
  }

  /** Reads the run's record immediately, because it has probably changed. */
  notify(runId: string): void {
    for (const wake of this.#wakeCallbacks.get(runId) ?? []) wake();
  }

  /** Resolves when the record covers `seq` entries and the run is paused or has ended. */
  waitUntilIdle(runId: string, seq: number): Promise<void> {
    return this.#poll(runId, (record) => record !== undefined && record.seq >= seq && isIdle(record));
  }

  /** Resolves when the record covers more than `seq` entries, the run has ended, or there is no record. */
  waitUntilChanged(runId: string, seq: number): Promise<void> {
    return this.#poll(runId, (record) => !record || record.seq > seq || isEnded(record.status));
  }

  /** Ends all waits with ENGINE_CLOSED. Otherwise they would keep polling stores that the host leaves open. */
  close(): void {
    this.#isClosed = true;
    for (const runId of this.#wakeCallbacks.keys()) this.notify(runId);
  }

  async #poll(runId: string, isMet: (record: RunRecord | undefined) => boolean): Promise<void> {
    for (
      let delayMs = FIRST_DELAY_MS;
      !isMet(await this.#findRecord(runId));
      delayMs = Math.min(MAX_DELAY_MS, delayMs * 2)
    ) {
      if (this.#isClosed) throw new EngineError('ENGINE_CLOSED', 'The engine is closed: open another one.');
      await this.#delay(runId, delayMs);
    }
  }

  /** Uses the real clock: other processes work in real time, even if the runs use another clock. */
  #delay(runId: string, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const callbacks = this.#wakeCallbacks.get(runId) ?? new Set();
      this.#wakeCallbacks.set(runId, callbacks);
      const wake = (): void => {
        clearTimeout(timer);
        callbacks.delete(wake);
        if (callbacks.size === 0 && this.#wakeCallbacks.get(runId) === callbacks)
          this.#wakeCallbacks.delete(runId);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      callbacks.add(wake);
    });
  }
}
