import type { DatabaseSync } from 'node:sqlite';
import { EngineError } from '@heddle/core';
import type { ValueStore } from '@heddle/core';
import { valueKey } from '../value-key.ts';
import type { GroupCommit } from './commit.ts';
import { explained } from './database.ts';
import type { ValueFiles } from './value-files.ts';

/** Larger values are files of their own: SQLite would spread them over many pages and copy each twice. */
const TABLE_LIMIT_BYTES = 256 * 1024;

function prepare(db: DatabaseSync) {
  return {
    put: db.prepare('INSERT OR IGNORE INTO stored_values (key, bytes, json) VALUES (?, ?, ?)'),
    get: db.prepare('SELECT bytes, json FROM stored_values WHERE key = ?'),
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
  readonly #commit: GroupCommit;
  readonly #sql: ReturnType<typeof prepare>;

  constructor(db: DatabaseSync, place: { file: string; files: ValueFiles }, commit: GroupCommit) {
    this.#file = place.file;
    this.#files = place.files;
    this.#commit = commit;
    this.#sql = prepare(db);
  }

  async put(json: string): Promise<string> {
    const key = valueKey(json);
    const bytes = Buffer.byteLength(json);
    const inFile = bytes > TABLE_LIMIT_BYTES;
    const known = this.#row(key) !== undefined;
    // The file comes first: a row without its file would be a value that is missing.
    if (inFile && !(known && (await this.#files.has(key, bytes)))) await this.#files.write(key, json);
    if (!known) {
      await this.#commit.run(() => {
        this.#sql.put.run(key, bytes, inFile ? null : json);
      });
    }
    return key;
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

  #row(key: string): { bytes: number; json: string | null } | undefined {
    return explained(this.#file, () => this.#sql.get.get(key)) as
      | { bytes: number; json: string | null }
      | undefined;
  }
}

function missing(key: string, why: string): EngineError {
  return new EngineError(
    'VALUE_MISSING',
    `The stored value ${key} cannot be read: ${why}. Restore the data folder from a backup, or run the workflow again.`,
    { details: { key } },
  );
}
