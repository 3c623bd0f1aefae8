import { processStat } from '../packages/sandbox/src/process-stat.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Processor time of the worker during this file, with the processes that ended during it, in milliseconds. */
    processorMs?: number;
  }
}

/** Linux counts in hundredths of a second (USER_HZ). A process has the times of the children that it has waited for. */
const MS_PER_TICK = 10;

/**
 * Returns the processor time of this process and of its ended children in milliseconds; undefined if there is no /proc.
 */
export function processorMs(): number | undefined {
  const field = processStat('self');
  if (!field) return undefined;
  // utime, stime, cutime, cstime.
  return [14, 15, 16, 17].reduce((sum, each) => sum + Number(field(each)), 0) * MS_PER_TICK;
}
