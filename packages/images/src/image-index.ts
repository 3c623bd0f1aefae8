import { closeSync, openSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { ImageSpec, Lock } from './builder.ts';
import type { ImageErrorCode } from './error.ts';

export type ImageState = 'pending' | 'building' | 'ready' | 'failed';

/** The build of a spec for one runtime. Times in milliseconds since the epoch. */
export interface BuildRow {
  readonly specHash: string;
  readonly runtimeKey: string;
  readonly state: ImageState;
  /** The image, if there is one. It remains while another is built. */
  readonly imageId: string | undefined;
  readonly errorCode: ImageErrorCode | undefined;
  readonly errorMessage: string | undefined;
  readonly errorDetail: string | undefined;
  readonly builtAtMs: number | undefined;
  readonly failedAtMs: number | undefined;
}

/** A specification with the lock of its last successful build. */
export interface SpecRow {
  readonly specHash: string;
  readonly spec: ImageSpec;
  readonly lock: Lock | undefined;
  /** The builder that made the lock; it need not be the one that the specification requests. */
  readonly builder: string | undefined;
}

const SCHEMA = `
CREATE TABLE IF NOT EXISTS specs (
  spec_hash TEXT PRIMARY KEY, spec TEXT NOT NULL, lock TEXT, builder TEXT, created_at INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS names (name TEXT PRIMARY KEY, spec_hash TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS builds (
  spec_hash TEXT NOT NULL, runtime_key TEXT NOT NULL, state TEXT NOT NULL, image_id TEXT,
  error_code TEXT, error_message TEXT, error_detail TEXT, built_at INTEGER, failed_at INTEGER,
  used_at INTEGER NOT NULL, claim TEXT, claim_until INTEGER,
  PRIMARY KEY (spec_hash, runtime_key)) STRICT;
CREATE TABLE IF NOT EXISTS images (
  id TEXT PRIMARY KEY, manifest TEXT NOT NULL, unused_since INTEGER) STRICT;
CREATE TABLE IF NOT EXISTS leases (
  image_id TEXT NOT NULL, holder TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (image_id, holder)) STRICT;
CREATE TABLE IF NOT EXISTS blobs (sha256 TEXT PRIMARY KEY, source TEXT, added_at INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS blobs_by_source ON blobs (source);
PRAGMA user_version = 1;
`;

/** Tables added later; earlier versions work without them. */
const ADDED_TABLES = `
CREATE TABLE IF NOT EXISTS marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS build_logs (spec_hash TEXT PRIMARY KEY, log TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS owners (spec_hash TEXT PRIMARY KEY, owner TEXT NOT NULL) STRICT;
`;

const FORMAT = 1;

/** Creates the file if it is missing, readable only by its owner. SQLite creates its WAL files with the same mode. */
function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    // An existing file is not opened: closing it would drop the locks that this process holds on it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** The index of an image folder: one database shared by processes. */
export class ImageIndex {
  readonly #db: DatabaseSync;

  /** Opens or creates the index. Throws an Error if a later version wrote it. */
  constructor(file: string) {
    createPrivateFile(file);
    // Not imported, because an older Node.js lacks the module and would fail before the version check.
    const { DatabaseSync: Database } = process.getBuiltinModule('node:sqlite');
    this.#db = new Database(file, { timeout: 10_000 });
    this.#db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    const { user_version: version } = this.one('PRAGMA user_version') as { user_version: number };
    if (version > FORMAT) {
      this.#db.close();
      throw new Error(`The index ${file} has format ${version}, which a later version of Heddle wrote.`);
    }
    if (version < FORMAT) this.inTransaction(() => this.#db.exec(SCHEMA));
    this.#db.exec(ADDED_TABLES);
  }

  one(sql: string, ...values: SQLInputValue[]): Record<string, unknown> | undefined {
    return this.#db.prepare(sql).get(...values);
  }

  all(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[] {
    return this.#db.prepare(sql).all(...values);
  }

  /** Runs a statement. Returns the number of rows that it changed. */
  change(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#db.prepare(sql).run(...values).changes);
  }

  /** Runs `action` in one transaction. */
  inTransaction<T>(action: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = action();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.#db.close();
  }

  /** Stores `value` under a name if it is larger than the stored number. Returns the previous number, or undefined. */
  updateMaximum(name: string, value: number): number | undefined {
    return this.inTransaction(() => {
      const previousValue = this.one('SELECT value FROM marks WHERE name = ?', name)?.['value'] as
        | number
        | undefined;
      this.change(
        'INSERT INTO marks (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)',
        name,
        value,
      );
      return previousValue;
    });
  }

  /** Stores the log of the last build of a specification. */
  storeLog(specHash: string, log: string): void {
    this.change(
      'INSERT INTO build_logs (spec_hash, log) VALUES (?, ?) ON CONFLICT (spec_hash) DO UPDATE SET log = excluded.log',
      specHash,
      log,
    );
  }

  /** Returns the log of the last completed build of a specification. */
  findLog(specHash: string): string | undefined {
    return this.one('SELECT log FROM build_logs WHERE spec_hash = ?', specHash)?.['log'] as
      | string
      | undefined;
  }

  findSpec(specHash: string): SpecRow | undefined {
    const row = this.one('SELECT * FROM specs WHERE spec_hash = ?', specHash);
    if (row === undefined) return undefined;
    return {
      specHash,
      spec: JSON.parse(row['spec'] as string) as ImageSpec,
      lock: row['lock'] === null ? undefined : (JSON.parse(row['lock'] as string) as Lock),
      builder: (row['builder'] ?? undefined) as string | undefined,
    };
  }

  specHashes(): string[] {
    return this.all('SELECT spec_hash FROM specs ORDER BY created_at').map(
      (row) => row['spec_hash'] as string,
    );
  }

  /**
   * Adds a specification if it does not exist yet. Records `owner` for a new specification; if `owner` is undefined,
   * removes the recorded owner.
   */
  addSpec(
    specHash: string,
    spec: ImageSpec,
    { owner, nowMs }: { owner: string | undefined; nowMs: number },
  ): void {
    this.inTransaction(() => {
      const addedCount = this.change(
        'INSERT INTO specs (spec_hash, spec, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
        specHash,
        JSON.stringify(spec),
        nowMs,
      );
      if (owner === undefined) this.change('DELETE FROM owners WHERE spec_hash = ?', specHash);
      else if (addedCount > 0)
        this.change('INSERT OR REPLACE INTO owners (spec_hash, owner) VALUES (?, ?)', specHash, owner);
    });
  }

  /** Returns the hashes of the specifications of an owner. */
  ownedBy(owner: string): string[] {
    const rows = this.all('SELECT spec_hash FROM specs JOIN owners USING (spec_hash) WHERE owner = ?', owner);
    return rows.map((row) => row['spec_hash'] as string);
  }

  names(specHash: string): string[] {
    const rows = this.all('SELECT name FROM names WHERE spec_hash = ? ORDER BY name', specHash);
    return rows.map((row) => row['name'] as string);
  }

  findBuild(specHash: string, runtimeKey: string): BuildRow | undefined {
    const row = this.one(
      'SELECT * FROM builds WHERE spec_hash = ? AND runtime_key = ?',
      specHash,
      runtimeKey,
    );
    if (row === undefined) return undefined;
    return {
      specHash,
      runtimeKey,
      state: row['state'] as ImageState,
      imageId: (row['image_id'] ?? undefined) as string | undefined,
      errorCode: (row['error_code'] ?? undefined) as ImageErrorCode | undefined,
      errorMessage: (row['error_message'] ?? undefined) as string | undefined,
      errorDetail: (row['error_detail'] ?? undefined) as string | undefined,
      builtAtMs: (row['built_at'] ?? undefined) as number | undefined,
      failedAtMs: (row['failed_at'] ?? undefined) as number | undefined,
    };
  }
}
