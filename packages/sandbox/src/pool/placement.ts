import type { Job } from './job.ts';
import type { Slot } from './slot.ts';

/** How many jobs go where. */
export interface Placement {
  readonly maxProcesses: number;
  /** Jobs sent ahead to a process whose thread is taken. */
  readonly pipeline: number;
  /** Jobs inside a process, most of them waiting. */
  readonly maxJobsPerProcess: number;
  /** Which isolate a job shares; empty: its own. */
  readonly keyOf: (job: Job) => string;
}

/** How long a job waits behind another before other processes are tried for it. */
export const STUCK_MS = 10;

/** Whether code has held the process' thread for long without a word. */
export function isStuck(slot: Slot): boolean {
  return slot.runnable > 0 && performance.now() - slot.progressAtMs > STUCK_MS;
}

/** The process that takes the job now: the least busy of its tenant, among equals the one that knows its run. */
export function choose(slots: Iterable<Slot>, job: Job, options: Placement): Slot | undefined {
  let best: Slot | undefined;
  let least = Infinity;
  for (const slot of slots) {
    if (slot.tenant !== job.tenant || !slot.ready || slot.retiring || slot.dead) continue;
    const { runnable } = slot;
    if (runnable >= options.pipeline || slot.jobs.size >= options.maxJobsPerProcess) continue;
    if (runnable > 0 && isStuck(slot)) continue;
    const weight = 2 * runnable - (slot.runs.has(options.keyOf(job)) ? 1 : 0);
    if (weight < least) [best, least] = [slot, weight];
  }
  return best;
}

/** The process that has been without jobs for the longest time. */
export function longestIdle(slots: readonly Slot[]): Slot | undefined {
  let best: Slot | undefined;
  for (const slot of slots) {
    if (!slot.ready || slot.jobs.size > 0) continue;
    if (best === undefined || slot.idleSinceMs < best.idleSinceMs) best = slot;
  }
  return best;
}
