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

/** Whether the process has room for the job now. */
function takes(slot: Slot, job: Job, { pipeline, maxJobsPerProcess }: Placement): boolean {
  if (slot.poolKey !== job.poolKey || !slot.ready || slot.retiring || slot.dead) return false;
  return slot.runnable < pipeline && slot.jobs.size < maxJobsPerProcess && !isStuck(slot);
}

/** The process that takes the job now: the least busy of its pool key, among equals one that knows its run, of those the one idle for longest. */
export function choose(slots: Iterable<Slot>, job: Job, options: Placement): Slot | undefined {
  const key = options.keyOf(job);
  let best: Slot | undefined;
  let least = Infinity;
  for (const slot of slots) {
    if (!takes(slot, job, options)) continue;
    const knows = slot.runs.has(key);
    const weight = 2 * slot.runnable - (knows ? 1 : 0);
    const isAsGood = weight === least && (knows || key === '');
    const inTurn = isAsGood && slot.idleSinceMs < (best?.idleSinceMs ?? 0);
    if (weight < least || inTurn) [best, least] = [slot, weight];
  }
  return best;
}

/** By how many more jobs have to come while their context is made than after it, for a process to get help. */
export const LATE_JOBS = 32;

type Helper = Pick<Slot, 'poolKey' | 'ready' | 'retiring' | 'runs'>;

/**
 * Where the jobs of a run come faster than the process makes contexts for them, it takes turns with another of its pool key
 * from now on: while one works, the other makes its next context. Jobs with isolates of their own (an empty key) go to all
 * processes of the pool key in turn. Returns whether one is to be started for that.
 */
export function relieve(slots: Iterable<Helper>, slot: Helper & Pick<Slot, 'late'>, key: string): boolean {
  const serves = ({ runs }: Helper): boolean => key !== '' && runs.has(key);
  if (slot.retiring || slot.late < LATE_JOBS || (key !== '' && !serves(slot))) return false;
  slot.late = 0;
  for (const other of slots) {
    if (other === slot || other.poolKey !== slot.poolKey || other.retiring || serves(other)) continue;
    if (other.ready && key !== '') other.runs.add(key);
    return false;
  }
  return true;
}

/** How long a busy process serves its tenant before another tenant's need can end that. */
const TENURE_MS = 1_000;

/** What is done so that a pool key gets one more process. */
export interface Growth {
  /** Whether one is started now. */
  readonly start: boolean;
  /** Whether one is already starting. */
  readonly started: boolean;
  /** An idle process of another pool key that makes room. */
  readonly stop?: Slot;
  /** A busy process of another pool key that makes room once its jobs are done. */
  readonly drain?: Slot;
}

/**
 * How a pool key gets one more of `most` processes. Idle ones of other keys make room; a pool key without any has a busy one
 * drained, of its own tenant where there is one, so that neither a tenant nor an image with endless work keeps all.
 */
export function planGrowth(
  slots: readonly Slot[],
  { tenant, poolKey }: Pick<Slot, 'tenant' | 'poolKey'>,
  most: number,
): Growth {
  const serving = slots.filter((slot) => !slot.retiring);
  const started = serving.some((slot) => slot.poolKey === poolKey && !slot.ready);
  if (started || serving.length < most) return { start: !started, started };
  const others = serving.filter((slot) => slot.poolKey !== poolKey);
  const stop = longestIdle(others);
  if (stop !== undefined) return { start: true, started, stop };
  const hasNone = others.length === serving.length;
  const draining = slots.length - serving.length;
  const own = others.filter((slot) => slot.tenant === tenant);
  const drain = hasNone && draining < most ? mostExpendable(own.length > 0 ? own : others) : undefined;
  return drain === undefined ? { start: false, started } : { start: true, started, drain };
}

/** The process that has been without jobs for the longest time. */
function longestIdle(slots: readonly Slot[]): Slot | undefined {
  return slots
    .filter((slot) => slot.ready && slot.jobs.size === 0)
    .sort((a, b) => a.idleSinceMs - b.idleSinceMs)[0];
}

/** The busy process that its tenant can best do without: of the tenant with most of them, the one that served longest. */
function mostExpendable(slots: readonly Slot[]): Slot | undefined {
  const now = performance.now();
  const count = (slot: Slot): number => slots.filter((other) => other.tenant === slot.tenant).length;
  return slots
    .filter((slot) => slot.ready && now - slot.startedAtMs >= TENURE_MS)
    .sort((a, b) => count(b) - count(a) || a.startedAtMs - b.startedAtMs)[0];
}
