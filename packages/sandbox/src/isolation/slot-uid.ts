import { readdirSync, statSync } from 'node:fs';
import { SandboxError } from '../error.ts';
import { claimUid, releaseUid } from './uid-claims.ts';

/** A range of user ids that nothing else on the host uses, inclusive. */
export interface UidRange {
  readonly from: number;
  readonly to: number;
}

/** Unused by Debian, Fedora and systemd, and mapped in rootless containers. */
export const DEFAULT_UIDS: UidRange = { from: 60_578, to: 60_705 };

/** Ids in use by all sandboxes of this process. */
const taken = new Set<number>();
let nextOffset = process.pid;

/** Returns the process ids of each user. Processes that end meanwhile are left out. */
function processesByUser(): Map<number, number[]> {
  const byUser = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    const uid = Number.isInteger(pid) ? statSync(`/proc/${name}`, { throwIfNoEntry: false })?.uid : undefined;
    if (uid !== undefined) byUser.set(uid, [...(byUser.get(uid) ?? []), pid]);
  }
  return byUser;
}

/**
 * Takes a user id for one process until `freeSlotUid`: processes with the same user id could signal and trace each
 * other. An id is reused as late as possible, and never while any process runs with it or another host process has
 * claimed it.
 * @throws SandboxError SLOTS_EXHAUSTED if every id is in use.
 */
export function takeSlotUid({ from, to }: UidRange): number {
  const count = to - from + 1;
  const busy = processesByUser();
  for (let step = 0; step < count; step++) {
    const uid = from + (nextOffset++ % count);
    if (taken.has(uid) || busy.has(uid) || !claimUid(uid)) continue;
    taken.add(uid);
    return uid;
  }
  throw new SandboxError(
    'SLOTS_EXHAUSTED',
    `All user ids of sandbox processes (${from} to ${to}) are in use; give a wider range in isolation.uids, or lower maxProcesses.`,
  );
}

/** Frees a user id. */
export function freeSlotUid(uid: number): void {
  taken.delete(uid);
  releaseUid(uid);
}

/** Ends processes that remain of a process with its own user id. */
export function endLeftovers(uid: number): void {
  for (const pid of processesByUser().get(uid) ?? []) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself, or cannot be ended. Its user id is not reused while it runs.
    }
  }
}
