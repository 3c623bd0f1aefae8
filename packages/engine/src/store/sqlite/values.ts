import type { DatabaseSync } from 'node:sqlite';
import { EngineError } from '@heddle/core';
import type { Clock, ValueStore } from '@heddle/core';
import { valueKey } from '../value-key.ts';
import type { GroupCommit } from './commit.ts';
import { withFileErrors } from './database.ts';
import type { ValueFiles } from './value-files.ts';

/** `put_ms` is updated only if it is older than this. */
const TOUCH_INTERVAL_MS = 10 * 60_000;
/** Larger values are stored as files: SQLite would spread them over many pages and write each page twice. */
const MAX_ROW_VALUE_BYTES = 256 * 1024;

function prepare(db: DatabaseSync) {
  return {
    put: db.prepare('INSERT OR IGNORE INTO stored_values (key, bytes, json, put_ms) VALUES (?, ?, ?, ?)'),
    get: db.prepare('SELECT bytes, json, put_ms FROM stored_values WHERE key = ?'),
    touch: db.prepare('UPDATE stored_values SET put_ms = ? WHERE key = ?'),
    prune: db.prepare(`
      DELETE FROM stored_values WHERE key = ?1 AND put_ms <= ?2
        AND NOT EXISTS (SELECT 1 FROM value_uses WHERE value_uses.key = ?1) RETURNING json IS NULL AS in_file`),
  };
}

/**
 * Values in the data folder, one row each; larger values also have a file.
 *
 * `get` returns undefined for an unknown key, and throws VALUE_MISSING for a stored value whose file is missing or
 * corrupt.
 */
export class SqliteValueStore implements ValueStore {
  readonly #dataFile: string;
  readonly #valueFiles: ValueFiles;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #commit: GroupCommit;
  readonly #statements: ReturnType<typeof prepare>;

  constructor(
    db: DatabaseSync,
    { file, files, clock }: { file: string; files: ValueFiles; clock: Pick<Clock, 'now'> },
    commit: GroupCommit,
  ) {
    this.#dataFile = file;
    this.#valueFiles = files;
    this.#clock = clock;
    this.#commit = commit;
    this.#statements = prepare(db);
  }

  async put(json: string): Promise<string> {
    const key = valueKey(json);
    const bytes = Buffer.byteLength(json);
    const isInFile = bytes > MAX_ROW_VALUE_BYTES;
    const row = this.#row(key);
    if (
      row &&
      (!isInFile || (await this.#valueFiles.has(key, bytes))) &&
      (await this.#touch(key, row.put_ms))
    )
      return key;
    // The file is written first, because a row without its file would be a missing value.
    if (isInFile) await this.#valueFiles.write(key, json);
    await this.#commit.run(() => {
      this.#statements.put.run(key, bytes, isInFile ? null : json, this.#clock.now());
    });
    return key;
  }

  /**
   * Updates `put_ms`, so that the value is not pruned before it is used. Returns false if the value has been pruned in
   * the meantime.
   */
  async #touch(key: string, putMs: number | null): Promise<boolean> {
    const nowMs = this.#clock.now();
    if (putMs === null || nowMs - putMs < TOUCH_INTERVAL_MS) return true;
    return this.#commit.run(() => this.#statements.touch.run(nowMs, key).changes === 1);
  }

  async prune(keys: readonly string[], unusedMs: number): Promise<void> {
    const beforeMs = this.#clock.now() - unusedMs;
    for (const key of keys)
      await this.#commit.run(() => {
        // Runs in the transaction, so that a concurrent `put` of the value finds both the row and the file, or neither.
        if (this.#statements.prune.get(key, beforeMs)?.['in_file'] === 1) this.#valueFiles.remove(key);
      });
  }

  async get(key: string): Promise<string | undefined> {
    const row = this.#row(key);
    if (!row) return undefined;
    const content = row.json ?? (await this.#valueFiles.read(key));
    if (content === undefined)
      throw missingValueError(key, `its file "${this.#valueFiles.path(key)}" is gone`);
    const bytes = Buffer.byteLength(content);
    if (bytes !== row.bytes) throw missingValueError(key, `it has ${bytes} bytes instead of ${row.bytes}`);
    return content.toString();
  }

  #row(key: string): ValueRow | undefined {
    return withFileErrors(this.#dataFile, () => this.#statements.get.get(key)) as ValueRow | undefined;
  }
}

interface ValueRow {
  bytes: number;
  json: string | null;
  /** Time of the last `put`; null for values that older formats stored. */
  put_ms: number | null;
}

function missingValueError(key: string, reason: string): EngineError {
  return new EngineError(
    'VALUE_MISSING',
    `The stored value ${key} cannot be read: ${reason}. Restore the data folder from a backup, or run the workflow again.`,
    { details: { key } },
  );
}
