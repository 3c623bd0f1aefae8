import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Durability } from '../stores.ts';
import { systemError } from './errors.ts';

/** Values as files `<folder>/ab/<hash>`, each there as a whole or not at all. */
export class ValueFiles {
  readonly #folder: string;
  readonly #unfinished: string;
  readonly #durability: Durability;

  constructor(folder: string, durability: Durability) {
    this.#folder = folder;
    this.#unfinished = join(folder, 'unfinished');
    this.#durability = durability;
  }

  /** Where the value of a key (`sha256:<hex>`) stands. */
  path(key: string): string {
    const hash = key.slice(key.indexOf(':') + 1);
    return join(this.#folder, hash.slice(0, 2), hash);
  }

  /** True when the value's file is there in full length. */
  async has(key: string, bytes: number): Promise<boolean> {
    try {
      return (await stat(this.path(key))).size === bytes;
    } catch {
      return false;
    }
  }

  /** The file as it stands: whether it is whole is for the caller to see. */
  async read(key: string): Promise<Buffer | undefined> {
    try {
      return await readFile(this.path(key));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw systemError(error, this.path(key));
    }
  }

  /** Writes the file aside and renames it into its place; with durability `power`, flushed before and after. */
  async write(key: string, json: string): Promise<void> {
    const target = this.path(key);
    const draft = join(this.#unfinished, randomUUID());
    try {
      await mkdir(this.#unfinished, { recursive: true, mode: 0o700 });
      await this.#writeDraft(draft, json);
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      await rename(draft, target);
      if (this.#durability === 'power') await Promise.all([dirname(target), this.#folder].map(flushFolder));
    } catch (error) {
      await rm(draft, { force: true }).catch(() => undefined);
      throw systemError(error, target);
    }
  }

  /** Removes the value's file, at once. */
  remove(key: string): void {
    rmSync(this.path(key), { force: true });
  }

  /** Removes what a process that died has left unfinished. For the owner of the data folder, before it writes. */
  removeUnfinished(): void {
    rmSync(this.#unfinished, { recursive: true, force: true });
  }

  async #writeDraft(draft: string, json: string): Promise<void> {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(json);
      if (this.#durability === 'power') await file.sync();
    } finally {
      await file.close();
    }
  }
}

/** A rename lasts once its folder is on the disk. Windows cannot open folders, and needs no flush of them. */
async function flushFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
