import type { DatabaseSync } from 'node:sqlite';
import { EngineError } from '@heddle/core';
import type { Clock, ValueStore } from '@heddle/core';
import { valueKey } from '../value-key.ts';
import type { GroupCommit } from './commit.ts';
import { withFileErrors } from './database.ts';
import type { ValueFiles } from './value-files.ts';

/** A value that is put again within this time is not said to be so once more. */
const PUT_AGAIN_MS = 10 * 60_000;
/** Larger values are files of their own: SQLite would spread them over many pages and copy each twice. */
const TABLE_LIMIT_BYTES = 256 * 1024;

function prepare(db: DatabaseSync) {
  return {
    put: db.prepare('INSERT OR IGNORE INTO stored_values (key, bytes, json, put_ms) VALUES (?, ?, ?, ?)'),
    get: db.prepare('SELECT bytes, json, put_ms FROM stored_values WHERE key = ?'),
    again: db.prepare('UPDATE stored_values SET put_ms = ? WHERE key = ?'),
    prune: db.prepare(`
      DELETE FROM stored_values WHERE key = ?1 AND put_ms <= ?2
        AND NOT EXISTS (SELECT 1 FROM value_uses WHERE value_uses.key = ?1) RETURNING json IS NULL AS in_file`),
  };
}

/**
 * Values of the data folder: a row each, the larger ones with a file.
 *
 * A key that was never stored gives undefined; VALUE_MISSING is for what was stored and is gone or damaged.
 */
export class SqliteValueStore implements ValueStore {
  readonly #file: string;
  readonly #files: ValueFiles;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #commit: GroupCommit;
  readonly #sql: ReturnType<typeof prepare>;

  constructor(
    db: DatabaseSync,
    place: { file: string; files: ValueFiles; clock: Pick<Clock, 'now'> },
    commit: GroupCommit,
  ) {
    this.#file = place.file;
    this.#files = place.files;
    this.#clock = place.clock;
    this.#commit = commit;
    this.#sql = prepare(db);
  }

  async put(json: string): Promise<string> {
    const key = valueKey(json);
    const bytes = Buffer.byteLength(json);
    const inFile = bytes > TABLE_LIMIT_BYTES;
    const row = this.#row(key);
    if (row && (!inFile || (await this.#files.has(key, bytes))) && (await this.#isKept(key, row.put_ms)))
      return key;
    // The file comes first: a row without its file would be a value that is missing.
    if (inFile) await this.#files.write(key, json);
    await this.#commit.run(() => {
      this.#sql.put.run(key, bytes, inFile ? null : json, this.#clock.now());
    });
    return key;
  }

  /** Says that the value is put again, so that it is not pruned before it is used. False: it was pruned meanwhile. */
  async #isKept(key: string, putMs: number | null): Promise<boolean> {
    const now = this.#clock.now();
    if (putMs === null || now - putMs < PUT_AGAIN_MS) return true;
    return this.#commit.run(() => this.#sql.again.run(now, key).changes === 1);
  }

  async prune(keys: readonly string[], unusedMs: number): Promise<void> {
    const beforeMs = this.#clock.now() - unusedMs;
    for (const key of keys)
      await this.#commit.run(() => {
        // In the same turn: who puts the value again meanwhile finds both, or neither.
        if (this.#sql.prune.get(key, beforeMs)?.['in_file'] === 1) this.#files.remove(key);
      });
  }

  async get(key: string): Promise<string | undefined> {
    const row = this.#row(key);
    if (!row) return undefined;
    const found = row.json ?? (await this.#files.read(key));
    if (found === undefined) throw missing(key, `its file "${this.#files.path(key)}" is gone`);
    const bytes = Buffer.byteLength(found);
    if (bytes !== row.bytes) throw missing(key, `it has ${bytes} bytes instead of ${row.bytes}`);
    return found.toString();
  }

  #row(key: string): Row | undefined {
    return withFileErrors(this.#file, () => this.#sql.get.get(key)) as Row | undefined;
  }
}

interface Row {
  bytes: number;
  json: string | null;
  /** When it was put last; null: before that was recorded. */
  put_ms: number | null;
}

function missing(key: string, why: string): EngineError {
  return new EngineError(
    'VALUE_MISSING',
    `The stored value ${key} cannot be read: ${why}. Restore the data folder from a backup, or run the workflow again.`,
    { details: { key } },
  );
}
