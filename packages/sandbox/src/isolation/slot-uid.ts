import { readdirSync, statSync } from 'node:fs';
import { SandboxError } from '../error.ts';
import { claimUid, releaseUid } from './uid-claims.ts';

/** User ids that nothing else on the host uses, first to last. */
export interface UidRange {
  readonly from: number;
  readonly to: number;
}

/** Unused by Debian, Fedora and systemd, and mapped in containers without root. */
export const DEFAULT_UIDS: UidRange = { from: 60_578, to: 60_705 };

/** The ids in use, over all sandboxes of this process. */
const taken = new Set<number>();
let turn = process.pid;

/** The ids of processes by their users; those that end meanwhile are left out. */
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
 * A user id for one process, its own until `freeSlotUid`: processes of one user could signal and trace each other.
 * Each is given again as late as possible, and none while anything runs as it, or another host of this machine is about to
 * start something as it.
 * @throws SandboxError SLOTS_EXHAUSTED when every id is in use.
 */
export function takeSlotUid({ from, to }: UidRange): number {
  const count = to - from + 1;
  const busy = processesByUser();
  for (let step = 0; step < count; step++) {
    const uid = from + (turn++ % count);
    if (taken.has(uid) || busy.has(uid) || !claimUid(uid)) continue;
    taken.add(uid);
    return uid;
  }
  throw new SandboxError(
    'SLOTS_EXHAUSTED',
    `All user ids of sandbox processes (${from} to ${to}) are in use; give a wider range in isolation.uids, or lower maxProcesses.`,
  );
}

/** Gives an id back. */
export function freeSlotUid(uid: number): void {
  taken.delete(uid);
  releaseUid(uid);
}

/** Ends what a process with a user of its own left behind. */
export function endLeftovers(uid: number): void {
  for (const pid of processesByUser().get(uid) ?? []) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself, or cannot be ended; its user is given to nobody while it runs.
    }
  }
}
