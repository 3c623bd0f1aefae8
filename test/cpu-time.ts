import { readProcessStat } from '../packages/sandbox/src/process-stat.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** CPU time of the worker and of its ended children during this file, in milliseconds. */
    cpuMs?: number;
  }
}

/** Linux counts CPU time in hundredths of a second (USER_HZ). */
const MS_PER_TICK = 10;

/**
 * Returns the CPU time of this process, and of the ended children that it has waited for, in milliseconds.
 * Undefined if there is no /proc.
 */
export function readCpuMs(): number | undefined {
  const readField = readProcessStat('self');
  if (!readField) return undefined;
  // utime, stime, cutime, cstime.
  return [14, 15, 16, 17].reduce((sum, fieldNumber) => sum + Number(readField(fieldNumber)), 0) * MS_PER_TICK;
}
