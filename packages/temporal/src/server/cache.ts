import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Env } from './command.ts';

/** Creates the executable in the empty folder `scratchFolder`. Returns its path, or the reason for the failure. */
export type Installer = (
  scratchFolder: string,
) => Promise<{ readonly file: string } | { readonly problem: string }>;

const SQLITE_BUSY = 5;
const POLL_INTERVAL_MS = 250;

/** Returns the cache folder for a version of the Temporal CLI, for the user with this environment. */
export function cacheFolder(env: Env, version: string): string {
  const configuredFolder = env['XDG_CACHE_HOME'];
  const base =
    configuredFolder && isAbsolute(configuredFolder)
      ? configuredFolder
      : join(env['HOME'] || homedir(), '.cache');
  return join(base, 'heddle', 'temporal', version);
}

/** Returns the path of the executable in its cache folder. */
export function cachedBinaryPath(folder: string): string {
  return join(folder, 'temporal');
}

/**
 * Installs the executable into its cache folder. Returns undefined, or the reason for the failure.
 *
 * The finished file is moved into place, so that readers never find a partial file. Several processes take turns: the
 * first one installs, the others wait (`onWait`) and find it ready.
 */
export async function installOnce(
  folder: string,
  options: { isReady: () => Promise<boolean>; install: Installer; onWait: () => void },
): Promise<string | undefined> {
  mkdirSync(folder, { recursive: true });
  return withFileLock(join(folder, 'lock.db'), options.onWait, async () => {
    if (await options.isReady()) return undefined;
    const scratchFolder = join(folder, 'making');
    // Leftovers of a killed process are safe to delete: only the holder of the lock uses the folder.
    rmSync(scratchFolder, { recursive: true, force: true });
    mkdirSync(scratchFolder);
    try {
      const result = await options.install(scratchFolder);
      if ('problem' in result) return result.problem;
      renameSync(result.file, cachedBinaryPath(folder));
      return undefined;
    } finally {
      rmSync(scratchFolder, { recursive: true, force: true });
    }
  });
}

/**
 * Runs `work` while no other process holds the lock `file`. `onWait` is called once if another process holds it.
 *
 * The lock is SQLite's lock on an empty database. The operating system releases it when its holder dies, so that a
 * killed build leaves no stale lock.
 */
async function withFileLock<T>(file: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  mkdirSync(dirname(file), { recursive: true });
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    for (let isFirst = true; !tryLock(() => db.exec('BEGIN EXCLUSIVE')); isFirst = false) {
      if (isFirst) onWait();
      await sleep(POLL_INTERVAL_MS);
    }
    return await work();
  } finally {
    db.close();
  }
}

/** Calls `acquire`. Returns true if it acquired the lock, false if another process holds it. */
function tryLock(acquire: () => void): boolean {
  try {
    acquire();
    return true;
  } catch (error) {
    if ((((error as { errcode?: number }).errcode ?? 0) & 0xff) === SQLITE_BUSY) return false;
    throw error;
  }
}
