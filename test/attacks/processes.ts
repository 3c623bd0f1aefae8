import { readdirSync } from 'node:fs';
import { readProcessStat } from '../../packages/sandbox/src/process-stat.ts';

interface Status {
  readonly parentPid: number;
  readonly state: string;
}

/** Returns the parent and the state of a process, or undefined if there is no such process. */
function statusOf(pid: number): Status | undefined {
  const readField = readProcessStat(pid);
  return readField && { parentPid: Number(readField(4)), state: readField(3) };
}

/**
 * Returns the ids of all descendants of a process, without `excludedPids` and their descendants. Returns none
 * on systems other than Linux.
 */
export function descendantPidsOf(
  ancestorPid: number,
  excludedPids: ReadonlySet<number> = new Set(),
): number[] {
  let entries: string[];
  try {
    entries = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  } catch {
    return [];
  }
  const childPidsByParent = new Map<number, number[]>();
  for (const pid of entries.map(Number)) {
    const parentPid = statusOf(pid)?.parentPid;
    if (parentPid !== undefined)
      childPidsByParent.set(parentPid, [...(childPidsByParent.get(parentPid) ?? []), pid]);
  }
  const descendantPids: number[] = [];
  for (const pendingPids = [ancestorPid]; pendingPids.length > 0;) {
    for (const pid of childPidsByParent.get(pendingPids.pop() as number) ?? []) {
      if (excludedPids.has(pid)) continue;
      descendantPids.push(pid);
      pendingPids.push(pid);
    }
  }
  return descendantPids;
}

/** Returns the ids of the processes that are alive. A zombie is not. */
export function filterAlive(pids: readonly number[]): number[] {
  return pids.filter((pid) => !['Z', 'X', undefined].includes(statusOf(pid)?.state));
}

/**
 * Returns a function that lists the live descendants of this process that started after this call. Omits earlier ones
 * and their descendants: they may be servers that several test files share, such as PostgreSQL, which starts processes
 * at any time.
 */
export function watchNewProcesses(): () => number[] {
  const earlierPids = new Set(descendantPidsOf(process.pid));
  return () => filterAlive(descendantPidsOf(process.pid, earlierPids));
}
