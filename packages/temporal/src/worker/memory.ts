import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

/** What a worker needs before its first workflow, and one cached workflow, in MiB: measured, see docs/temporal.md. */
const BASE_MIB = 400;
const WORKFLOW_MIB = 0.5;
const MOST = 2000;
const LEAST = 50;

/** How many workflows a worker keeps in memory: as many as the memory of its container, or of the machine, allows. */
export function cachedWorkflows(memoryMiB: number = memoryLimitMiB()): number {
  return Math.max(LEAST, Math.min(MOST, Math.floor((memoryMiB - BASE_MIB) / WORKFLOW_MIB)));
}

function memoryLimitMiB(): number {
  const machine = totalmem();
  try {
    const limit = Number(readFileSync('/sys/fs/cgroup/memory.max', 'utf8'));
    return (Number.isFinite(limit) ? Math.min(limit, machine) : machine) / 1048576;
  } catch {
    // No such limit on this system.
    return machine / 1048576;
  }
}
