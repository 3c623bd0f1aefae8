import { processStat } from '../packages/sandbox/src/process-stat.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Processor time of the worker while it had this file, with processes that ended meanwhile; milliseconds. */
    processorMs?: number;
  }
}

/** What Linux adds to a process's times: a child when its parent has waited for its end. In hundredths of a second (USER_HZ). */
const MS_PER_TICK = 10;

/** Returns the processor time of this process and of its ended children in milliseconds; undefined where there is no /proc. */
export function processorMs(): number | undefined {
  const field = processStat('self');
  if (!field) return undefined;
  // utime, stime, and those of children.
  return [14, 15, 16, 17].reduce((sum, each) => sum + Number(field(each)), 0) * MS_PER_TICK;
}
