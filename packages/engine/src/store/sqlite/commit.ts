import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { EngineError } from '@heddle/core';
import { fileError, storeClosedError } from './errors.ts';

interface Write {
  /** Runs the statements of the write. Called again if another write has made the transaction of the group fail. */
  apply(): unknown;
  resolve(result: unknown): void;
  reject(error: Error): void;
  /** Converts an error of the write's own statements. */
  translate(error: unknown): unknown;
}

/**
 * Group commit: the writes of one iteration of the event loop share one transaction.
 *
 * 1. Writes are applied and settled in the order of the calls.
 * 2. A write settles after the commit, never before.
 * 3. An error of the file rejects the whole group, and rolls it back; the next group is tried independently.
 * 4. An error of one write's statements rejects only this write.
 */
export class GroupCommit {
  readonly #db: Pick<DatabaseSync, 'isTransaction'>;
  readonly #file: string;
  readonly #beginStatement: StatementSync;
  readonly #commitStatement: StatementSync;
  readonly #rollbackStatement: StatementSync;
  readonly #rollbackListeners: (() => void)[] = [];
  #queue: Write[] = [];
  #isClosed = false;

  constructor(db: DatabaseSync, file: string) {
    this.#db = db;
    this.#file = file;
    // IMMEDIATE: waits for the write lock at the beginning, where the busy timeout applies.
    this.#beginStatement = db.prepare('BEGIN IMMEDIATE');
    this.#commitStatement = db.prepare('COMMIT');
    this.#rollbackStatement = db.prepare('ROLLBACK');
  }

  /** Resolves with the result of `apply` after the commit. `translate` converts errors of its statements. */
  run<T>(apply: () => T, translate: (error: unknown) => unknown = (error) => error): Promise<T> {
    if (this.#isClosed) return Promise.reject(storeClosedError());
    return new Promise<T>((resolve, reject) => {
      if (this.#queue.length === 0) setImmediate(() => this.flush());
      this.#queue.push({ apply, resolve: resolve as (result: unknown) => void, reject, translate });
    });
  }

  /** Calls `listener` whenever applied writes are rolled back. */
  onRollback(listener: () => void): void {
    this.#rollbackListeners.push(listener);
  }

  /** Commits all waiting writes now. */
  flush(): void {
    const group = this.#queue;
    this.#queue = [];
    if (group.length === 0 || this.#commit(group)) return;
    for (const write of group) this.#commit([write]);
  }

  /** Commits all waiting writes. Later writes fail with ENGINE_CLOSED. */
  close(): void {
    this.flush();
    this.#isClosed = true;
  }

  /** Commits the group. Returns false if the statements of one of several writes failed; then no write is settled. */
  #commit(group: readonly Write[]): boolean {
    const results: unknown[] = [];
    try {
      this.#beginStatement.run();
      for (const write of group) results.push(write.apply());
      this.#commitStatement.run();
    } catch (error) {
      const failure = this.#rollBack() ?? fileError(error, this.#file);
      if (!failure && group.length > 1) return false;
      for (const write of group) write.reject(toError(failure ?? write.translate(error)));
      return true;
    }
    for (const [index, write] of group.entries()) write.resolve(results[index]);
    return true;
  }

  /** Rolls back. After some errors, SQLite has already done so. */
  #rollBack(): EngineError | undefined {
    for (const listener of this.#rollbackListeners) listener();
    try {
      if (this.#db.isTransaction) this.#rollbackStatement.run();
      return undefined;
    } catch (error) {
      return fileError(error, this.#file);
    }
  }
}

function toError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}
