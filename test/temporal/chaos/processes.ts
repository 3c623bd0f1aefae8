import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Returns the ids of the descendants of the process `pid`. */
export function descendantsOf(pid: number): number[] {
  const pairs = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const descendants = new Set([pid]);
  // Children may be listed before their parents.
  for (let size = 0; size < descendants.size;) {
    size = descendants.size;
    for (const [child = 0, parent = 0] of pairs) if (descendants.has(parent)) descendants.add(child);
  }
  descendants.delete(pid);
  return [...descendants];
}

/** Returns the processes that use CPU time within the next `periodMs` milliseconds. */
export async function findBusyProcesses(pids: readonly number[], periodMs: number): Promise<number[]> {
  const timesBefore = cpuTimesOf(pids);
  await delay(periodMs);
  return [...cpuTimesOf(pids)]
    .filter(([pid, time]) => timesBefore.has(pid) && time !== timesBefore.get(pid))
    .map(([pid]) => pid);
}

/** Returns the processes that are alive. */
export function findLiveProcesses(pids: readonly number[]): number[] {
  return [...cpuTimesOf(pids).keys()];
}

/**
 * Returns the CPU time of each live process as text, to be compared with an earlier time of the process. The unit
 * depends on the system.
 */
function cpuTimesOf(pids: readonly number[]): Map<number, string> {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,stat=,time='], { encoding: 'utf8' }).trim().split('\n');
  const times = new Map<number, string>();
  for (const line of lines) {
    const [pid = '', state = '', time = ''] = line.trim().split(/\s+/);
    // Zombies have ended.
    if (state.startsWith('Z') || !pids.includes(Number(pid))) continue;
    times.set(Number(pid), cpuTicksOf(pid) ?? time);
  }
  return times;
}

/** Returns the CPU time from /proc. On Linux, `ps` counts in seconds, which is too coarse on a busy machine. */
function cpuTicksOf(pid: string): string | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ');
    return fields?.slice(11, 13).join(' ');
  } catch {
    return undefined;
  }
}
