import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Durability } from '../stores.ts';
import { systemError } from './errors.ts';

/** Values as files `<folder>/<first two digits of the hash>/<hash>`, each written atomically. */
export class ValueFiles {
  readonly #folder: string;
  readonly #unfinishedFolder: string;
  readonly #durability: Durability;

  constructor(folder: string, durability: Durability) {
    this.#folder = folder;
    this.#unfinishedFolder = join(folder, 'unfinished');
    this.#durability = durability;
  }

  /** Returns the path of the file for a key (`sha256:<hex>`). */
  path(key: string): string {
    const hash = key.slice(key.indexOf(':') + 1);
    return join(this.#folder, hash.slice(0, 2), hash);
  }

  /** True if the file exists and has this size. */
  async has(key: string, bytes: number): Promise<boolean> {
    try {
      return (await stat(this.path(key))).size === bytes;
    } catch {
      return false;
    }
  }

  /** Returns the content of the file, which may be truncated; undefined if there is no file. */
  async read(key: string): Promise<Buffer | undefined> {
    try {
      return await readFile(this.path(key));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw systemError(error, this.path(key));
    }
  }

  /**
   * Writes a temporary file and renames it. With durability `power`, flushes the file before the rename and the folders
   * after it.
   */
  async write(key: string, json: string): Promise<void> {
    const targetPath = this.path(key);
    const temporaryPath = join(this.#unfinishedFolder, randomUUID());
    try {
      await mkdir(this.#unfinishedFolder, { recursive: true, mode: 0o700 });
      await this.#writeTemporaryFile(temporaryPath, json);
      await mkdir(dirname(targetPath), { recursive: true, mode: 0o700 });
      await rename(temporaryPath, targetPath);
      if (this.#durability === 'power')
        await Promise.all([dirname(targetPath), this.#folder].map(flushFolder));
    } catch (error) {
      await rm(temporaryPath, { force: true }).catch(() => undefined);
      throw systemError(error, targetPath);
    }
  }

  /** Removes the file synchronously. */
  remove(key: string): void {
    rmSync(this.path(key), { force: true });
  }

  /** Removes temporary files of dead processes. The owner of the data folder calls it before it writes. */
  removeUnfinishedFiles(): void {
    rmSync(this.#unfinishedFolder, { recursive: true, force: true });
  }

  async #writeTemporaryFile(temporaryPath: string, json: string): Promise<void> {
    const file = await open(temporaryPath, 'wx', 0o600);
    try {
      await file.writeFile(json);
      if (this.#durability === 'power') await file.sync();
    } finally {
      await file.close();
    }
  }
}

/** Makes renames in the folder durable. Windows cannot open folders and does not need this flush. */
async function flushFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
