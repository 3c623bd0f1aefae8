import { randomUUID } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { chmod, lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ImageBlob } from '@heddle/sandbox';
import { ImageError } from './error.ts';
import type { ImageIndex } from './image-index.ts';
import { digestFile, digestTree } from './tree.ts';

/** Flushes a file or folder to disk. */
async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Returns a stamp that changes when a file changes or a folder is replaced; undefined if the path does not exist. The
 * contents of a folder are not covered.
 */
async function stampOf(path: string): Promise<string | undefined> {
  try {
    const stat = await lstat(path, { bigint: true });
    return `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}

/** The content-addressed store: files and folders by their SHA-256, written once and never changed. */
export class Blobs {
  readonly #folder: string;
  readonly #index: ImageIndex;
  readonly #now: () => number;
  /** Digests that this process has verified, with the stamp of the file at that time. */
  readonly #verifiedStamps = new Map<string, string>();

  constructor(folder: string, index: ImageIndex, now: () => number) {
    this.#folder = folder;
    this.#index = index;
    this.#now = now;
  }

  path(sha256: string): string {
    return join(this.#folder, 'blobs', sha256.slice(0, 2), sha256);
  }

  /** Moves a file or folder into the store. `source`: the digest or name by which `find` returns it. */
  async add(path: string, source?: string): Promise<ImageBlob> {
    const isFolder = (await lstat(path)).isDirectory();
    if (!isFolder) {
      await chmod(path, 0o444);
      await flush(path);
    }
    const { sha256, size } = isFolder ? await digestTree(path) : await digestFile(path);
    const target = this.path(sha256);
    await mkdir(dirname(target), { recursive: true });
    // A corrupt file is moved aside, so that the intact one can replace it.
    if (existsSync(target) && !(await this.#isIntact(target, sha256)))
      await rename(target, join(dirname(path), `broken-${randomUUID()}`));
    this.#index.inTransaction(() => {
      this.#index.change(
        `INSERT INTO blobs (sha256, source, added_at) VALUES (?, ?, ?)
         ON CONFLICT (sha256) DO UPDATE SET added_at = excluded.added_at, source = coalesce(excluded.source, source)`,
        sha256,
        source ?? null,
        this.#now(),
      );
      // In the same transaction as the row, so that no garbage collection runs in between.
      if (!existsSync(target)) renameSync(path, target);
    });
    await flush(dirname(target));
    await rm(path, { recursive: true, force: true });
    return { path: target, sha256, size };
  }

  /** Returns the blob that was added with this source, once verified; undefined if it is missing or corrupt. */
  async find(source: string): Promise<ImageBlob | undefined> {
    const row = this.#index.one('SELECT sha256 FROM blobs WHERE source = ?', source);
    if (row === undefined) return undefined;
    const sha256 = row['sha256'] as string;
    const target = this.path(sha256);
    // First protect the blob from garbage collection, then check it: otherwise it could be removed before it is used.
    const sql = 'UPDATE blobs SET added_at = ? WHERE sha256 = ?';
    if (this.#index.change(sql, this.#now(), sha256) === 0) return undefined;
    if (!existsSync(target) || !(await this.#isIntact(target, sha256))) return undefined;
    return { path: target, sha256, size: (await lstat(target)).size };
  }

  /**
   * Verifies the digest of a blob, once per process and whenever its file has changed. Throws ImageError
   * integrity_error.
   */
  async verify(name: string, { sha256 }: ImageBlob): Promise<void> {
    const target = this.path(sha256);
    // The stamp is taken before the digest, so that a change in between is noticed next time.
    const stamp = await stampOf(target);
    if (stamp !== undefined && this.#verifiedStamps.get(sha256) === stamp) return;
    if (stamp === undefined)
      throw new ImageError(
        'integrity_error',
        `The file ${name} of the image (${sha256}) is missing from the store.`,
      );
    if (!(await this.#isIntact(target, sha256)))
      throw new ImageError(
        'integrity_error',
        `The file ${name} of the image does not match its stored digest ${sha256}. Build the image again.`,
      );
    this.#verifiedStamps.set(sha256, stamp);
  }

  async #isIntact(path: string, sha256: string): Promise<boolean> {
    const stat = await lstat(path);
    if (stat.isDirectory()) return (await digestTree(path)).sha256 === sha256;
    // Others may change the target of a link, and reading a pipe or device may never end.
    return stat.isFile() && (await digestFile(path)).sha256 === sha256;
  }
}
