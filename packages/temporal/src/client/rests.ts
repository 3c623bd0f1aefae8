import type { RunRecord } from '@heddle/core';
import { isAtRest, isEnded } from '@heddle/engine/runtime';

/** A record is looked at again after this long at first, twice as long each time, and this long at most. */
const FIRST_MS = 10;
const MOST_MS = 1000;

/** Waits for runs that other processes run, by looking at the records that these have written, with the logs. */
export class Rests {
  private readonly find: (runId: string) => Promise<RunRecord | undefined>;
  private readonly waiting = new Map<string, Set<() => void>>();

  constructor(find: (runId: string) => Promise<RunRecord | undefined>) {
    this.find = find;
  }

  /** Look now: something has become of the run. */
  ring(runId: string): void {
    for (const look of this.waiting.get(runId) ?? []) look();
  }

  /** Resolves when the record has seen `seq` entries and says that the run is at rest. */
  until(runId: string, seq: number): Promise<void> {
    return this.look(runId, (record) => record !== undefined && record.seq >= seq && isAtRest(record));
  }

  /** Resolves when the record has seen more than `seq` entries, or the run has ended. */
  moved(runId: string, seq: number): Promise<void> {
    return this.look(runId, (record) => !record || record.seq > seq || isEnded(record.status));
  }

  private async look(runId: string, holds: (record: RunRecord | undefined) => boolean): Promise<void> {
    for (let waitMs = FIRST_MS; !holds(await this.find(runId)); waitMs = Math.min(MOST_MS, waitMs * 2))
      await this.pause(runId, waitMs);
  }

  /** By the machine's own clock: whatever time runs live in, other processes work in this one. */
  private pause(runId: string, waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const all = this.waiting.get(runId) ?? new Set();
      this.waiting.set(runId, all);
      const done = (): void => {
        clearTimeout(timer);
        all.delete(done);
        if (all.size === 0 && this.waiting.get(runId) === all) this.waiting.delete(runId);
        resolve();
      };
      const timer = setTimeout(done, waitMs);
      all.add(done);
    });
  }
}
