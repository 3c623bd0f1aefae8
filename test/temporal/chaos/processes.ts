import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Returns the descendants of the process `pid`. */
export function descendantsOf(pid: number): number[] {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((row) => row.trim().split(/\s+/).map(Number));
  const descendants = new Set([pid]);
  // Children may be listed before their parents.
  for (let size = 0; size < descendants.size;) {
    size = descendants.size;
    for (const [child = 0, parent = 0] of rows) if (descendants.has(parent)) descendants.add(child);
  }
  descendants.delete(pid);
  return [...descendants];
}

/** Returns the processes that use processor time within `withinMs` milliseconds. */
export async function busyProcesses(pids: readonly number[], withinMs: number): Promise<number[]> {
  const before = cpuTimesOf(pids);
  await delay(withinMs);
  return [...cpuTimesOf(pids)]
    .filter(([pid, time]) => before.has(pid) && time !== before.get(pid))
    .map(([pid]) => pid);
}

/** Returns the processes that are alive. */
export function liveProcesses(pids: readonly number[]): number[] {
  return [...cpuTimesOf(pids).keys()];
}

/** Returns the processor time of each live process as the system prints it, in hundredths of a second or finer. */
function cpuTimesOf(pids: readonly number[]): Map<number, string> {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,stat=,time='], { encoding: 'utf8' }).trim().split('\n');
  const times = new Map<number, string>();
  for (const row of rows) {
    const [pid = '', state = '', time = ''] = row.trim().split(/\s+/);
    // Zombies have ended.
    if (state.startsWith('Z') || !pids.includes(Number(pid))) continue;
    times.set(Number(pid), ticksOf(pid) ?? time);
  }
  return times;
}

/** Returns the processor time from /proc. On Linux, `ps` counts in seconds, which is too coarse on a busy machine. */
function ticksOf(pid: string): string | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ');
    return fields?.slice(11, 13).join(' ');
  } catch {
    return undefined;
  }
}
