import { readdirSync, statSync, lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { SandboxError } from '../error.ts';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readProcessStat } from '../process-stat.ts';

/**
 * Returns the start time of a process in kernel ticks; together with its id it is unique. Undefined if it does not
 * exist.
 */
const startTimeOf = (pid: number): string | undefined => readProcessStat(pid)?.(22);

/** Returns a private folder in which processes of this user coordinate; undefined if none can be created. */
function openClaimsFolder(): string | undefined {
  const uid = process.geteuid?.() ?? 0;
  for (const parent of ['/run', tmpdir()]) {
    const folder = join(parent, `heddle-uids-${uid}`);
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const stat = lstatSync(folder);
      if (stat.isDirectory() && stat.uid === uid && (stat.mode & 0o077) === 0) return folder;
    } catch {
      // Not writable; try the next one.
    }
  }
  return undefined;
}

/** The folder with the claims, once opened. */
let folder: string | undefined;
let ownStartTime: string | undefined;

/** Returns the file name of this process's claim, which no other process can have. */
const claimOf = (uid: number): string =>
  `${uid}-${process.pid}-${(ownStartTime ??= startTimeOf(process.pid))}`;

/** Removes a claim if the process that made it has ended. Returns whether the claim was removed. */
function removeIfStale(claim: string, claimsFolder: string): boolean {
  const [, pid, startTime] = claim.split('-');
  if (startTime !== undefined && startTimeOf(Number(pid)) === startTime) return false;
  rmSync(join(claimsFolder, claim), { force: true });
  return true;
}

/**
 * Claims a user id for this process. Returns false if another host process on this machine has claimed it. Two
 * processes that claim it simultaneously see each other, and both fail.
 */
function claimUid(uid: number): boolean {
  folder ??= openClaimsFolder();
  if (folder === undefined) return true;
  const claimsFolder = folder;
  const claim = claimOf(uid);
  try {
    writeFileSync(join(claimsFolder, claim), '', { flag: 'wx' });
  } catch (error) {
    // EEXIST: another thread of this process holds the id. Any other error: nothing can be written, so no process makes
    // claims.
    return (error as NodeJS.ErrnoException).code !== 'EEXIST';
  }
  const otherClaims = readdirSync(claimsFolder).filter(
    (name) => name.startsWith(`${uid}-`) && name !== claim,
  );
  if (otherClaims.every((otherClaim) => removeIfStale(otherClaim, claimsFolder))) return true;
  releaseUid(uid);
  return false;
}

/** Releases a claimed user id. */
function releaseUid(uid: number): void {
  if (folder !== undefined) rmSync(join(folder, claimOf(uid)), { force: true });
}

/** A range of user ids that nothing else on the host uses, inclusive. */
export interface UidRange {
  readonly from: number;
  readonly to: number;
}

/** User ids that Debian, Fedora and systemd do not use, and that are mapped in rootless containers. */
export const DEFAULT_UIDS: UidRange = { from: 60_578, to: 60_705 };

/** Ids in use by all sandboxes of this process. */
const usedUids = new Set<number>();
let nextOffset = process.pid;

/** Returns the process ids of each user. Omits processes that end in the meantime. */
function readProcessIdsByUid(): Map<number, number[]> {
  const processIdsByUid = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    const uid = Number.isInteger(pid) ? statSync(`/proc/${name}`, { throwIfNoEntry: false })?.uid : undefined;
    if (uid !== undefined) processIdsByUid.set(uid, [...(processIdsByUid.get(uid) ?? []), pid]);
  }
  return processIdsByUid;
}

/**
 * Takes a user id for one process until `freeProcessUid`: processes with the same user id could signal and trace each
 * other. An id is reused as late as possible, and never while any process runs with it or another host process has
 * claimed it.
 * @throws SandboxError SLOTS_EXHAUSTED if every id is in use.
 */
export function takeProcessUid({ from, to }: UidRange): number {
  const count = to - from + 1;
  const processIdsByUid = readProcessIdsByUid();
  for (let step = 0; step < count; step++) {
    const uid = from + (nextOffset++ % count);
    if (usedUids.has(uid) || processIdsByUid.has(uid) || !claimUid(uid)) continue;
    usedUids.add(uid);
    return uid;
  }
  throw new SandboxError(
    'SLOTS_EXHAUSTED',
    `All user ids of sandbox processes (${from} to ${to}) are in use; give a wider range in isolation.uids, or lower maxProcesses.`,
  );
}

/** Frees a user id. */
export function freeProcessUid(uid: number): void {
  usedUids.delete(uid);
  releaseUid(uid);
}

/** Ends processes that still run with the user id of an ended process. */
export function killOrphanedProcesses(uid: number): void {
  for (const pid of readProcessIdsByUid().get(uid) ?? []) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself, or cannot be ended. Its user id is not reused while it runs.
    }
  }
}
