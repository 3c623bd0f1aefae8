import { readdirSync, readFileSync } from 'node:fs';
import type { SelfMeasuringWorkload, TimedWorkload } from '../workload.ts';

interface Process {
  parentPid: number;
  peakMb: number;
}

/** Returns the number of a line in `/proc/PID/status`, or 0 if there is no such line. */
function readStatusNumber(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
}

function readProcesses(): Map<number, Process> {
  const processesByPid = new Map<number, Process>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const status = readFileSync(`/proc/${name}/status`, 'utf8');
      processesByPid.set(Number(name), {
        parentPid: readStatusNumber(status, 'PPid'),
        peakMb: readStatusNumber(status, 'VmHWM') / 1024,
      });
    } catch (error) {
      // The process has ended since the folder was read.
      if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  return processesByPid;
}

/** Returns the largest peak memory of the descendants of this process, in MB. */
function readLargestDescendantMb(): number {
  if (process.platform !== 'linux')
    throw new Error('The memory of other processes can be read only on Linux, from /proc.');
  const processesByPid = readProcesses();
  const isDescendant = (pid: number): boolean => {
    const parentPid = processesByPid.get(pid)?.parentPid ?? 0;
    return parentPid === process.pid || (parentPid > 1 && isDescendant(parentPid));
  };
  const peaks = [...processesByPid].filter(([pid]) => isDescendant(pid)).map(([, { peakMb }]) => peakMb);
  if (peaks.length === 0) throw new Error('The sandbox has no process.');
  return Math.max(...peaks);
}

/** Measures the largest peak memory of a sandbox process after `runs` runs, in MB. */
export function createMemoryAfterRunsWorkload(workload: TimedWorkload, runs: number): SelfMeasuringWorkload {
  return {
    async sample() {
      for (let run = 0; run < runs; run++) await workload.runOnce();
      return readLargestDescendantMb();
    },
    ...(workload.close && { close: () => workload.close?.() }),
  };
}
