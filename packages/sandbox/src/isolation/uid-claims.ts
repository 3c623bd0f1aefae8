import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processStat } from '../process-stat.ts';

/**
 * Returns the start time of a process in kernel ticks; together with its id it is unique. Null if it does not exist.
 */
const startOf = (pid: number): string | null => processStat(pid)?.(22) ?? null;

/** Returns a private folder in which processes of this user coordinate; null if none can be created. */
function ownFolder(): string | null {
  const uid = process.geteuid?.() ?? 0;
  for (const home of ['/run', tmpdir()]) {
    const folder = join(home, `heddle-uids-${uid}`);
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const stat = lstatSync(folder);
      if (stat.isDirectory() && stat.uid === uid && (stat.mode & 0o077) === 0) return folder;
    } catch {
      // Not writable; try the next one.
    }
  }
  return null;
}

let folder: string | null | undefined;
let ownStart: string | null | undefined;

/** Returns the file name of this process's claim, which no other process can have. */
const claimOf = (uid: number): string => `${uid}-${process.pid}-${(ownStart ??= startOf(process.pid))}`;

/** Returns whether the process that made a claim still exists. Removes the claim of an ended one. */
function isHeld(claim: string, home: string): boolean {
  const [, pid, start] = claim.split('-');
  if (startOf(Number(pid)) === start) return true;
  rmSync(join(home, claim), { force: true });
  return false;
}

/**
 * Claims a user id for this process. Returns false if another host process on this machine has claimed it. Two
 * processes that claim it simultaneously see each other, and both fail.
 */
export function claimUid(uid: number): boolean {
  folder ??= ownFolder();
  if (folder === null) return true;
  const home = folder;
  const claim = claimOf(uid);
  try {
    writeFileSync(join(home, claim), '', { flag: 'wx' });
  } catch (error) {
    // EEXIST: another thread of this process holds it. Any other error: nothing can be written, so nobody makes claims.
    return (error as NodeJS.ErrnoException).code !== 'EEXIST';
  }
  const others = readdirSync(home).filter((name) => name.startsWith(`${uid}-`) && name !== claim);
  if (!others.some((other) => isHeld(other, home))) return true;
  releaseUid(uid);
  return false;
}

/** Releases a claimed user id. */
export function releaseUid(uid: number): void {
  if (typeof folder === 'string') rmSync(join(folder, claimOf(uid)), { force: true });
}
