import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const SQLITE_BUSY = 5;
const POLL_MS = 250;

/**
 * What `work` returns, carried out while no other process does the same under the lock `file`.
 *
 * The lock is SQLite's on an empty file: the operating system drops it when its holder dies, however it dies, so
 * that a killed build never leaves a lock behind that somebody has to judge stale. `onWait` is called once if
 * another process holds it.
 */
export async function withFileLock<T>(file: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  mkdirSync(dirname(file), { recursive: true });
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    for (let waited = false; !isTaken(() => db.exec('BEGIN EXCLUSIVE')); waited = true) {
      if (!waited) onWait();
      await sleep(POLL_MS);
    }
    return await work();
  } finally {
    db.close();
  }
}

/** True when `take` took the lock, false when another one holds it. */
function isTaken(take: () => void): boolean {
  try {
    take();
    return true;
  } catch (error) {
    if ((((error as { errcode?: number }).errcode ?? 0) & 0xff) === SQLITE_BUSY) return false;
    throw error;
  }
}
