import { readdirSync } from 'node:fs';
import { processStat } from '../../packages/sandbox/src/process-stat.ts';

interface Status {
  readonly parent: number;
  readonly state: string;
}

/** Returns the parent and the state of a process, or undefined if there is no such process. */
function statusOf(pid: number): Status | undefined {
  const stat = processStat(pid);
  return stat && { parent: Number(stat(4)), state: stat(3) };
}

/**
 * Returns the ids of all descendants of a process, without the processes `excluded` and their descendants. Returns none
 * on systems other than Linux.
 */
export function descendantPidsOf(ancestor: number, excluded: ReadonlySet<number> = new Set()): number[] {
  let entries: string[];
  try {
    entries = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  } catch {
    return [];
  }
  const children = new Map<number, number[]>();
  for (const pid of entries.map(Number)) {
    const parent = statusOf(pid)?.parent;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const descendants: number[] = [];
  for (const queue = [ancestor]; queue.length > 0;) {
    for (const pid of children.get(queue.pop() as number) ?? []) {
      if (excluded.has(pid)) continue;
      descendants.push(pid);
      queue.push(pid);
    }
  }
  return descendants;
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
  const earlier = new Set(descendantPidsOf(process.pid));
  return () => filterAlive(descendantPidsOf(process.pid, earlier));
}
