import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { EngineError } from '@heddle/core';
import { fileError, storeClosed } from './errors.ts';

interface Write {
  /** Runs the write's statements; called again when another write has spoilt the group's transaction. */
  apply(): unknown;
  resolve(result: unknown): void;
  reject(error: Error): void;
  /** The error for a write that SQLite refuses although the file is well. */
  refused(error: unknown): unknown;
}

/**
 * Group commit: the writes of one turn of the event loop share one transaction.
 *
 * 1. Writes are applied and settled in the order in which they came.
 * 2. A write settles after the commit, never before.
 * 3. A fault of the file rejects the whole group and leaves nothing of it behind; the next group tries anew.
 * 4. A write that is wrong in itself is alone in its failure.
 */
export class GroupCommit {
  readonly #db: Pick<DatabaseSync, 'isTransaction'>;
  readonly #file: string;
  readonly #begin: StatementSync;
  readonly #end: StatementSync;
  readonly #rollback: StatementSync;
  readonly #undone: (() => void)[] = [];
  #queue: Write[] = [];
  #closed = false;

  constructor(db: DatabaseSync, file: string) {
    this.#db = db;
    this.#file = file;
    // IMMEDIATE: waits for other processes here, where the busy timeout applies, and not in the midst.
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#end = db.prepare('COMMIT');
    this.#rollback = db.prepare('ROLLBACK');
  }

  /** The result of `apply`, once it is committed. `refused` translates what SQLite says against it. */
  run<T>(apply: () => T, refused: (error: unknown) => unknown = (error) => error): Promise<T> {
    if (this.#closed) return Promise.reject(storeClosed());
    return new Promise<T>((resolve, reject) => {
      if (this.#queue.length === 0) setImmediate(() => this.flush());
      this.#queue.push({ apply, resolve: resolve as (result: unknown) => void, reject, refused });
    });
  }

  /** Calls `forget` when writes that had been applied are rolled back. */
  onRollback(forget: () => void): void {
    this.#undone.push(forget);
  }

  /** Commits what is waiting, at once. */
  flush(): void {
    const group = this.#queue;
    this.#queue = [];
    if (group.length === 0 || this.#commit(group)) return;
    for (const write of group) this.#commit([write]);
  }

  /** Commits what is waiting; later writes fail with ENGINE_CLOSED. */
  close(): void {
    this.flush();
    this.#closed = true;
  }

  /** False: one of several writes is wrong in itself and nothing was settled. */
  #commit(group: readonly Write[]): boolean {
    const results: unknown[] = [];
    try {
      this.#begin.run();
      for (const write of group) results.push(write.apply());
      this.#end.run();
    } catch (error) {
      const fault = this.#undo() ?? fileError(error, this.#file);
      if (!fault && group.length > 1) return false;
      for (const write of group) write.reject(asError(fault ?? write.refused(error)));
      return true;
    }
    for (const [index, write] of group.entries()) write.resolve(results[index]);
    return true;
  }

  /** SQLite itself has rolled back after some faults; after the others it must be told. */
  #undo(): EngineError | undefined {
    for (const forget of this.#undone) forget();
    try {
      if (this.#db.isTransaction) this.#rollback.run();
      return undefined;
    } catch (error) {
      return fileError(error, this.#file);
    }
  }
}

function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}
