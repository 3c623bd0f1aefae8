import type { BlockLog, Clock, RunRecord } from '@heddle/core';
import type { RunProjection } from '../store/stores.ts';
import type { AppliedEntry } from './fold.ts';

/** Readers of records see what has happened within this time. */
const DELAY_MS = 500;

export interface SaverParts {
  clock: Clock;
  record(): RunRecord;
  save(record: RunRecord, logs: readonly BlockLog[]): unknown;
  /** True while the run is ahead of its journal. */
  writing(): boolean;
  /** True for a run that has ended or waits. */
  resting(): boolean;
  report: (error: unknown) => void;
}

/** Writes the record and the logs of a run behind its journal, between two entries: they never say more than it does. */
export class Saver {
  private readonly parts: SaverParts;
  /** Logs that have changed, by their order from `base` on; those that were saved before are in `older`. */
  private logs: BlockLog[] = [];
  private base = 1;
  private readonly older = new Map<number, BlockLog>();
  private readonly waiting: { begin: () => void; reject: (error: Error) => void }[] = [];
  private abandoned: Error | undefined;
  private cancelDelay: (() => void) | undefined;
  private dirty = true;
  private last: Promise<void> = Promise.resolve();
  private writes = 0;

  constructor(parts: SaverParts) {
    this.parts = parts;
  }

  changed(logs: readonly BlockLog[]): void {
    this.dirty = true;
    for (const log of logs) this.keep(log);
  }

  /** A list, for orders follow one another: a map of every log would cost as much as the rest of the saving. */
  private keep(log: BlockLog): void {
    const order = log.executionOrder;
    if (this.logs.length === 0) this.base = Math.max(this.base, order);
    const at = order - this.base;
    if (at < 0 || at > this.logs.length || this.older.has(order)) this.older.set(order, log);
    else this.logs[at] = log;
  }

  /** What the run says is in the store, to the last entry. */
  get saved(): boolean {
    return !this.dirty && this.writes === 0 && !this.abandoned && !this.parts.writing();
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
  along(batch: readonly AppliedEntry[]): RunProjection | undefined {
    for (const { applied } of batch) this.changed(applied.logs);
    return this.parts.resting() ? this.take() : undefined;
  }

  private take(): RunProjection {
    this.stop();
    const logs = this.older.size === 0 ? this.logs : [...this.older.values(), ...this.logs];
    this.base += this.logs.length;
    this.logs = [];
    this.older.clear();
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
    this.writes++;
    try {
      await this.parts.save(record, logs);
    } catch (error) {
      this.dirty = true;
      for (const log of logs) this.keep(log);
      throw error;
    } finally {
      this.writes--;
    }
  }
}
