import { readdirSync, readFileSync } from 'node:fs';
import type { MeasuredWorkload, TimedWorkload } from '../workload.ts';

interface Process {
  parentPid: number;
  peakMb: number;
}

/** Returns the number of a line in `/proc/PID/status`, or 0 if there is no such line. */
function statusNumber(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
}

function processes(): Map<number, Process> {
  const byPid = new Map<number, Process>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const status = readFileSync(`/proc/${name}/status`, 'utf8');
      byPid.set(Number(name), {
        parentPid: statusNumber(status, 'PPid'),
        peakMb: statusNumber(status, 'VmHWM') / 1024,
      });
    } catch (error) {
      // The process has ended since the folder was read.
      if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  return byPid;
}

/** Returns the largest peak memory of the descendants of this process, in MB. */
function largestDescendantMb(): number {
  if (process.platform !== 'linux')
    throw new Error('The memory of other processes can be read only on Linux, from /proc.');
  const byPid = processes();
  const isDescendant = (pid: number): boolean => {
    const parentPid = byPid.get(pid)?.parentPid ?? 0;
    return parentPid === process.pid || (parentPid > 1 && isDescendant(parentPid));
  };
  const peaks = [...byPid].filter(([pid]) => isDescendant(pid)).map(([, { peakMb }]) => peakMb);
  if (peaks.length === 0) throw new Error('The sandbox has no process.');
  return Math.max(...peaks);
}

/** Measures the largest peak memory of a sandbox process after `runs` runs, in MB. */
export function memoryAfterRuns(workload: TimedWorkload, runs: number): MeasuredWorkload {
  return {
    async sample() {
      for (let run = 0; run < runs; run++) await workload.once();
      return largestDescendantMb();
    },
    ...(workload.close && { close: () => workload.close?.() }),
  };
}
