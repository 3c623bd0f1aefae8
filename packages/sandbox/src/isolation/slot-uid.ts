import { SandboxError } from '../error.ts';

/** User ids that nothing else on the host uses, first to last. */
export interface UidRange {
  readonly from: number;
  readonly to: number;
}

/** Unused by Debian, Fedora and systemd, and mapped in containers without root. */
export const DEFAULT_UIDS: UidRange = { from: 60_578, to: 60_705 };

/** The ids in use, over all sandboxes of this process. */
const taken = new Set<number>();

/**
 * A user id for one process, its own until `freeSlotUid`: processes of one user could signal and trace each other.
 * The first of several hosts on a machine is not the first to all: each begins elsewhere in the range.
 * @throws SandboxError SLOTS_EXHAUSTED when every id is in use.
 */
export function takeSlotUid({ from, to }: UidRange): number {
  const count = to - from + 1;
  const start = process.pid % count;
  for (let step = 0; step < count; step++) {
    const uid = from + ((start + step) % count);
    if (taken.has(uid)) continue;
    taken.add(uid);
    return uid;
  }
  throw new SandboxError(
    'SLOTS_EXHAUSTED',
    `All user ids of sandbox processes (${from} to ${to}) are in use; give a wider range in isolation.uids, or lower maxProcesses.`,
  );
}

export function freeSlotUid(uid: number): void {
  taken.delete(uid);
}

/** Arguments of setpriv that become the user and lose every privilege for good; the command follows. */
export function becomeArguments(uid: number): string[] {
  return [
    `--reuid=${uid}`,
    `--regid=${uid}`,
    '--clear-groups',
    '--no-new-privs',
    '--bounding-set=-all',
    '--inh-caps=-all',
    '--',
  ];
}
