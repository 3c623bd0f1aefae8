import type { BlockLog, Clock, RunRecord } from '@heddle/core';
import type { SavedRun } from '../store/stores.ts';
import type { Fed } from './driver-parts.ts';

/** Readers of records see what has happened within this time. */
const DELAY_MS = 500;

export interface SaverParts {
  clock: Clock;
  record(): RunRecord;
  save(record: RunRecord, logs: readonly BlockLog[]): Promise<void> | void;
  /** True while the run is ahead of its journal. */
  writing(): boolean;
  /** True for a run that has ended or waits. */
  resting(): boolean;
  report: (error: unknown) => void;
}

/** Writes the record and the logs of a run behind its journal, between two entries: they never say more than it does. */
export class Saver {
  private readonly parts: SaverParts;
  private readonly logs = new Map<number, BlockLog>();
  private readonly waiting: { begin: () => void; reject: (error: Error) => void }[] = [];
  private abandoned: Error | undefined;
  private cancelDelay: (() => void) | undefined;
  private dirty = true;
  private last: Promise<void> = Promise.resolve();

  constructor(parts: SaverParts) {
    this.parts = parts;
  }

  changed(logs: readonly BlockLog[]): void {
    this.dirty = true;
    for (const log of logs) this.logs.set(log.executionOrder, log);
  }

  /** Saves within the time that readers are promised. */
  soon(): void {
    if (!this.dirty) return;
    const { clock, report } = this.parts;
    this.cancelDelay ??= clock.at(clock.now() + DELAY_MS, () => {
      this.save().catch(report);
    });
  }

  /** Resolves when what the run says now is saved. */
  save(): Promise<void> {
    return this.between(() => {
      if (this.dirty) this.last = this.write();
      return this.last;
    });
  }

  /** What is to be saved in one commit with entries: what they lead to, where they bring the run to rest. */
  along(batch: readonly Fed[]): SavedRun | undefined {
    for (const { applied } of batch) this.changed(applied.logs);
    return this.parts.resting() ? this.take() : undefined;
  }

  private take(): SavedRun {
    this.stop();
    const logs = [...this.logs.values()];
    this.logs.clear();
    this.dirty = false;
    return { record: this.parts.record(), logs };
  }

  /** What is stored is up to date. */
  clean(): void {
    this.dirty = false;
  }

  /** Does `work` when what the run says is what its journal says: now, or after the entry that is being written. */
  between<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.abandoned) return Promise.reject(this.abandoned);
    return new Promise<T>((resolve, reject) => {
      const begin = (): void => {
        try {
          resolve(work());
        } catch (error) {
          reject(error as Error);
        }
      };
      if (this.parts.writing()) this.waiting.push({ begin, reject });
      else begin();
    });
  }

  /** The entry is written. */
  written(): void {
    if (this.waiting.length > 0) for (const { begin } of this.waiting.splice(0)) begin();
  }

  /** The entry never will be written: nothing of the run may be saved any more. */
  abandon(error: Error): void {
    this.abandoned = error;
    this.stop();
    for (const { reject } of this.waiting.splice(0)) reject(error);
  }

  /** Saves no more by itself. */
  stop(): void {
    this.cancelDelay?.();
    this.cancelDelay = undefined;
  }

  private async write(): Promise<void> {
    const { record, logs } = this.take();
    try {
      await this.parts.save(record, logs);
    } catch (error) {
      this.dirty = true;
      // Those that have changed again are in there already.
      for (const log of logs) if (!this.logs.has(log.executionOrder)) this.logs.set(log.executionOrder, log);
      throw error;
    }
  }
}
