import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** A worker before its first workflow, and one cached workflow of some 200 blocks, in MiB: measured, see docs/temporal.md. */
const BASE_MIB = 400;
const WORKFLOW_MIB = 0.5;
/** Of the largest heap that the engine of JavaScript allows: beyond it the process dies. */
const HEAP_SHARE = 0.75;
const MOST = 2000;
const LEAST = 50;

/** What a process may use, in MiB. */
export interface Memory {
  /** Of the machine, or of the container. */
  totalMiB: number;
  /** Of one heap: workflows are in one of their own. */
  heapMiB: number;
}

/** How many workflows a worker keeps in memory: as many as there is room for. */
export function cachedWorkflows({ totalMiB, heapMiB }: Memory = memoryOfProcess()): number {
  const roomMiB = Math.min(totalMiB - BASE_MIB, heapMiB * HEAP_SHARE);
  return Math.max(LEAST, Math.min(MOST, Math.floor(roomMiB / WORKFLOW_MIB)));
}

function memoryOfProcess(): Memory {
  return { totalMiB: totalBytes() / 1048576, heapMiB: getHeapStatistics().heap_size_limit / 1048576 };
}

function totalBytes(): number {
  const machine = totalmem();
  try {
    const limit = Number(readFileSync('/sys/fs/cgroup/memory.max', 'utf8'));
    return Number.isFinite(limit) ? Math.min(limit, machine) : machine;
  } catch {
    // No such limit on this system.
    return machine;
  }
}
