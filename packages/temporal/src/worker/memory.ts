import { EngineError } from '@heddle/core';
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
/** The SDK keeps either none or at least these. */
const LEAST_ASKED = 2;

/** What a process may use, in MiB. */
export interface Memory {
  /** Of the machine, or of the container. */
  totalMiB: number;
  /** Of one heap: workflows are in one of their own. */
  heapMiB: number;
}

/** How many workflows a worker keeps in memory: `asked`, or as many as there is room for. Throws OPTIONS_INVALID. */
export function workflowsToKeep(asked: number | undefined): number {
  if (asked === undefined) return cachedWorkflows();
  if (Number.isInteger(asked) && asked >= LEAST_ASKED) return asked;
  // Without a cache, the SDK forgets a run in the middle of a task, and with it what its local activities have done: github.com/temporalio/sdk-rust/pull/1482.
  throw new EngineError(
    'OPTIONS_INVALID',
    `tuning.cachedWorkflows is ${asked}: give a whole number of workflows, at least ${LEAST_ASKED}, or leave it out.`,
  );
}

/** As many workflows as there is room for. */
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
