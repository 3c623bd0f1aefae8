import type { Job } from './job.ts';
import type { Slot } from './slot.ts';

/** Limits and rules for assigning jobs to processes. */
export interface AssignmentRules {
  readonly maxProcesses: number;
  /** Maximum number of jobs in a process that are not waiting. All but one are sent while its thread is still busy. */
  readonly maxRunnableJobs: number;
  /** Maximum number of jobs inside one process; most of them are waiting. */
  readonly maxJobsPerProcess: number;
  /** Returns the key of the isolate that a job shares; empty for a new isolate. */
  readonly isolateKeyOf: (job: Job) => string;
}

/** Time after which a job that waits for another is moved to another process, if one can take it, in milliseconds. */
export const STUCK_MS = 10;

/** Returns whether code has held the process's thread for more than STUCK_MS without sending a message. */
export function isStuck(slot: Slot): boolean {
  return slot.runnableCount > 0 && performance.now() - slot.progressAtMs > STUCK_MS;
}

/** Returns whether the process can take the job now. */
function canTake(slot: Slot, job: Job, { maxRunnableJobs, maxJobsPerProcess }: AssignmentRules): boolean {
  if (slot.poolKey !== job.poolKey || !slot.ready || slot.retiring || slot.hasExited) return false;
  return slot.runnableCount < maxRunnableJobs && slot.assignments.size < maxJobsPerProcess && !isStuck(slot);
}

/**
 * Returns the process for a job: the least busy one with the job's pool key; among equals, one that has the
 * isolate that the job shares; among those, the one that has been idle for longest.
 */
export function chooseSlot(slots: Iterable<Slot>, job: Job, rules: AssignmentRules): Slot | undefined {
  const key = rules.isolateKeyOf(job);
  let best: Slot | undefined;
  let minLoad = Infinity;
  for (const slot of slots) {
    if (!canTake(slot, job, rules)) continue;
    const hasIsolate = slot.isolateKeys.has(key);
    const load = 2 * slot.runnableCount - (hasIsolate ? 1 : 0);
    const isAsGood = load === minLoad && (hasIsolate || key === '');
    const isIdleLonger = isAsGood && slot.idleSinceMs < (best?.idleSinceMs ?? 0);
    if (load < minLoad || isIdleLonger) [best, minLoad] = [slot, load];
  }
  return best;
}

/**
 * A job is late if it arrives before its context is ready. A process gets a helper once its late jobs outnumber its
 * other jobs by this many.
 */
export const MAX_LATE_JOB_EXCESS = 32;

type Helper = Pick<Slot, 'poolKey' | 'ready' | 'retiring' | 'isolateKeys'>;

/**
 * Adds a helper to a process if a run's jobs arrive faster than it creates contexts for them. The two then take turns:
 * while one runs a job, the other creates its next context. Jobs with an empty key go to all processes of the pool key
 * in turn. Returns whether a new process has to be started.
 */
export function assignHelper(
  slots: Iterable<Helper>,
  slot: Helper & Pick<Slot, 'lateJobExcess'>,
  key: string,
): boolean {
  const servesKey = ({ isolateKeys }: Helper): boolean => key !== '' && isolateKeys.has(key);
  if (slot.retiring || slot.lateJobExcess < MAX_LATE_JOB_EXCESS || (key !== '' && !servesKey(slot)))
    return false;
  slot.lateJobExcess = 0;
  for (const other of slots) {
    if (other === slot || other.poolKey !== slot.poolKey || other.retiring || servesKey(other)) continue;
    if (other.ready && key !== '') other.isolateKeys.add(key);
    return false;
  }
  return true;
}

/** Minimum age of a busy process before it can be drained for another pool key, in milliseconds. */
const MIN_SERVICE_MS = 1_000;

/** A plan to start one more process for a pool key. */
export interface Growth {
  /** True to start a process now. */
  readonly mustStart: boolean;
  /** True if one is already starting. */
  readonly isStarting: boolean;
  /** An idle process of another pool key to stop first. */
  readonly slotToStop?: Slot;
  /** A busy process of another pool key to stop after its jobs. */
  readonly slotToDrain?: Slot;
}

/**
 * Plans one more process for a pool key, with at most `max` processes. If all are in use, an idle process of another
 * key is stopped. If none is idle and this key has no process, a busy one is drained, preferably of the same tenant: a
 * tenant or image with a steady load must not keep every process.
 */
export function planGrowth(
  slots: readonly Slot[],
  { tenant, poolKey }: Pick<Slot, 'tenant' | 'poolKey'>,
  max: number,
): Growth {
  const servingSlots = slots.filter((slot) => !slot.retiring);
  const isStarting = servingSlots.some((slot) => slot.poolKey === poolKey && !slot.ready);
  if (isStarting || servingSlots.length < max) return { mustStart: !isStarting, isStarting };
  const otherSlots = servingSlots.filter((slot) => slot.poolKey !== poolKey);
  const slotToStop = longestIdleSlot(otherSlots);
  if (slotToStop !== undefined) return { mustStart: true, isStarting, slotToStop };
  const hasNoProcess = otherSlots.length === servingSlots.length;
  const drainingCount = slots.length - servingSlots.length;
  const ownSlots = otherSlots.filter((slot) => slot.tenant === tenant);
  const slotToDrain =
    hasNoProcess && drainingCount < max
      ? slotToDrainOf(ownSlots.length > 0 ? ownSlots : otherSlots)
      : undefined;
  return slotToDrain === undefined
    ? { mustStart: false, isStarting }
    : { mustStart: true, isStarting, slotToDrain };
}

/** Returns the process that has been idle for the longest time. */
function longestIdleSlot(slots: readonly Slot[]): Slot | undefined {
  return slots
    .filter((slot) => slot.ready && slot.assignments.size === 0)
    .sort((a, b) => a.idleSinceMs - b.idleSinceMs)[0];
}

/** Returns the busy process to drain: from the tenant with the most processes, the oldest one. */
function slotToDrainOf(slots: readonly Slot[]): Slot | undefined {
  const now = performance.now();
  const processCountOf = (slot: Slot): number => slots.filter((other) => other.tenant === slot.tenant).length;
  return slots
    .filter((slot) => slot.ready && now - slot.startedAtMs >= MIN_SERVICE_MS)
    .sort((a, b) => processCountOf(b) - processCountOf(a) || a.startedAtMs - b.startedAtMs)[0];
}
