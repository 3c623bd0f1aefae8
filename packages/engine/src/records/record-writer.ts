import type { BlockLog, Clock, RunRecord } from '@heddle/core';
import type { RunProjection } from '../store/stores.ts';
import type { AppliedEntry } from './fold.ts';

/** Maximum delay until readers of the record see a change. */
const SAVE_DELAY_MS = 500;

interface RecordWriterOptions {
  clock: Clock;
  record(): RunRecord;
  save(record: RunRecord, logs: readonly BlockLog[]): unknown;
  /** True while the run's state includes entries that the journal does not contain yet. */
  isWriting(): boolean;
  /** True if the run has ended, or is paused for human input or until a point in time. */
  isIdle(): boolean;
  onError: (error: unknown) => void;
}

/**
 * Writes the record and the logs of a run after its journal, between two entries: they never include an entry that the
 * journal lacks.
 */
export class RecordWriter {
  readonly #options: RecordWriterOptions;
  /**
   * Changed logs with an execution order of `firstOrder` or more, indexed from `firstOrder`. Changed logs with a lower
   * order are in `olderLogs`.
   */
  #logs: BlockLog[] = [];
  #firstOrder = 1;
  readonly #olderLogs = new Map<number, BlockLog>();
  readonly #waitingWork: { begin: () => void; reject: (error: Error) => void }[] = [];
  #stopError: Error | undefined;
  #cancelDelay: (() => void) | undefined;
  #isDirty = true;
  #lastWrite: Promise<void> = Promise.resolve();
  #pendingWriteCount = 0;

  constructor(options: RecordWriterOptions) {
    this.#options = options;
  }

  markChanged(logs: readonly BlockLog[]): void {
    this.#isDirty = true;
    for (const log of logs) this.#addLog(log);
  }

  /** Uses a list because orders are consecutive: a map of all logs would double the cost of saving. */
  #addLog(log: BlockLog): void {
    const order = log.executionOrder;
    if (this.#logs.length === 0) this.#firstOrder = Math.max(this.#firstOrder, order);
    const index = order - this.#firstOrder;
    if (index < 0 || index > this.#logs.length || this.#olderLogs.has(order)) this.#olderLogs.set(order, log);
    else this.#logs[index] = log;
  }

  /** True if the stored record and logs are up to date. */
  get isSaved(): boolean {
    return !this.#isDirty && this.#pendingWriteCount === 0 && !this.#stopError && !this.#options.isWriting();
  }

  /** Saves within SAVE_DELAY_MS. */
  saveSoon(): void {
    if (!this.#isDirty) return;
    const { clock, onError } = this.#options;
    this.#cancelDelay ??= clock.at(clock.now() + SAVE_DELAY_MS, () => {
      this.save().catch(onError);
    });
  }

  /** Resolves when the current state of the run is saved. */
  save(): Promise<void> {
    return this.runBetweenEntries(() => {
      if (this.#isDirty) this.#lastWrite = this.#write();
      return this.#lastWrite;
    });
  }

  /**
   * Returns the record and logs to write in the same commit as the entries of `batch`; undefined unless they make the
   * run idle.
   */
  takeForCommit(batch: readonly AppliedEntry[]): RunProjection | undefined {
    for (const { applyResult } of batch) this.markChanged(applyResult.logs);
    return this.#options.isIdle() ? this.#take() : undefined;
  }

  #take(): RunProjection {
    this.#cancelDelayedSave();
    const logs = this.#olderLogs.size === 0 ? this.#logs : [...this.#olderLogs.values(), ...this.#logs];
    this.#firstOrder += this.#logs.length;
    this.#logs = [];
    this.#olderLogs.clear();
    this.#isDirty = false;
    return { record: this.#options.record(), logs };
  }

  /** Marks the stored record and logs as up to date. */
  markSaved(): void {
    this.#isDirty = false;
  }

  /** Runs `work` while the run's state equals its journal: now, or once the entry being written is stored. */
  runBetweenEntries<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.#stopError) return Promise.reject(this.#stopError);
    return new Promise<T>((resolve, reject) => {
      const begin = (): void => {
        try {
          resolve(work());
        } catch (error) {
          reject(error as Error);
        }
      };
      if (this.#options.isWriting()) this.#waitingWork.push({ begin, reject });
      else begin();
    });
  }

  /** Runs the work that waited for the entry, which is now written. */
  onEntryWritten(): void {
    if (this.#waitingWork.length > 0) for (const { begin } of this.#waitingWork.splice(0)) begin();
  }

  /** Stops saving permanently: the run's state may include entries that will never be written. */
  abort(error: Error): void {
    this.#stopError = error;
    this.#cancelDelayedSave();
    for (const { reject } of this.#waitingWork.splice(0)) reject(error);
  }

  #cancelDelayedSave(): void {
    this.#cancelDelay?.();
    this.#cancelDelay = undefined;
  }

  async #write(): Promise<void> {
    const { record, logs } = this.#take();
    this.#pendingWriteCount++;
    try {
      await this.#options.save(record, logs);
    } catch (error) {
      this.#isDirty = true;
      for (const log of logs) this.#addLog(log);
      throw error;
    } finally {
      this.#pendingWriteCount--;
    }
  }
}
