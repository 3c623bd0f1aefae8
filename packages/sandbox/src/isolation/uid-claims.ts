import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processStat } from '../process-stat.ts';

/** When a process began, in the kernel's ticks; with the id it tells processes apart for ever. Null where there is none. */
const startOf = (pid: number): string | null => processStat(pid)?.(22) ?? null;

/** A folder that is ours alone, for what the processes of this user have to agree on; null where there can be none. */
function ownFolder(): string | null {
  const uid = process.geteuid?.() ?? 0;
  for (const home of ['/run', tmpdir()]) {
    const folder = join(home, `heddle-uids-${uid}`);
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const stat = lstatSync(folder);
      if (stat.isDirectory() && stat.uid === uid && (stat.mode & 0o077) === 0) return folder;
    } catch {
      // A file system that cannot be written to; the next one may.
    }
  }
  return null;
}

let folder: string | null | undefined;
let ownStart: string | null | undefined;

/** The name of this process' claim: nobody else's, ever. */
const claimOf = (uid: number): string => `${uid}-${process.pid}-${(ownStart ??= startOf(process.pid))}`;

/** Whether the process that made a claim lives; a claim of a dead one is removed. */
function isHeld(claim: string, home: string): boolean {
  const [, pid, start] = claim.split('-');
  if (startOf(Number(pid)) === start) return true;
  rmSync(join(home, claim), { force: true });
  return false;
}

/**
 * Whether a user id is this process' until it lets go of it: no other host process of this machine has claimed it. Two that
 * claim it at the same moment both see each other, and neither has it.
 */
export function claimUid(uid: number): boolean {
  folder ??= ownFolder();
  if (folder === null) return true;
  const home = folder;
  const claim = claimOf(uid);
  try {
    writeFileSync(join(home, claim), '', { flag: 'wx' });
  } catch (error) {
    // Another thread of this process has it; where nothing can be written, nobody claims anything.
    return (error as NodeJS.ErrnoException).code !== 'EEXIST';
  }
  const others = readdirSync(home).filter((name) => name.startsWith(`${uid}-`) && name !== claim);
  if (!others.some((other) => isHeld(other, home))) return true;
  releaseUid(uid);
  return false;
}

/** Lets go of a user id that was claimed. */
export function releaseUid(uid: number): void {
  if (typeof folder === 'string') rmSync(join(folder, claimOf(uid)), { force: true });
}
