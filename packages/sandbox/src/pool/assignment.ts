import type { Job } from './job.ts';
import type { PoolWorker } from './pool-worker.ts';

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
export function isStuck(worker: PoolWorker): boolean {
  return worker.runnableCount > 0 && performance.now() - worker.lastActivityMs > STUCK_MS;
}

/** Returns whether the process can take the job now. */
function canTake(
  worker: PoolWorker,
  job: Job,
  { maxRunnableJobs, maxJobsPerProcess }: AssignmentRules,
): boolean {
  if (worker.poolKey !== job.poolKey || !worker.ready || worker.retiring || worker.hasExited) return false;
  return (
    worker.runnableCount < maxRunnableJobs && worker.assignments.size < maxJobsPerProcess && !isStuck(worker)
  );
}

/**
 * Returns the process for a job: the least busy one with the job's pool key; among equals, one that has the
 * isolate that the job shares; among those, the one that has been idle for longest.
 */
export function chooseWorker(
  workers: Iterable<PoolWorker>,
  job: Job,
  rules: AssignmentRules,
): PoolWorker | undefined {
  const isolateKey = rules.isolateKeyOf(job);
  let bestWorker: PoolWorker | undefined;
  let minLoad = Infinity;
  for (const worker of workers) {
    if (!canTake(worker, job, rules)) continue;
    const hasIsolate = worker.isolateKeys.has(isolateKey);
    const load = 2 * worker.runnableCount - (hasIsolate ? 1 : 0);
    const isAsGood = load === minLoad && (hasIsolate || isolateKey === '');
    const isIdleLonger = isAsGood && worker.idleSinceMs < (bestWorker?.idleSinceMs ?? 0);
    if (load < minLoad || isIdleLonger) [bestWorker, minLoad] = [worker, load];
  }
  return bestWorker;
}

/** A process gets a helper once the jobs that had to wait for their contexts outnumber its other jobs by this many. */
export const MAX_COLD_START_BALANCE = 32;

type Helper = Pick<PoolWorker, 'poolKey' | 'ready' | 'retiring' | 'isolateKeys'>;

/**
 * Adds a helper to a process if a run's jobs arrive faster than it creates contexts for them. The two then take turns:
 * while one runs a job, the other creates its next context. Jobs with an empty isolate key go to all processes of the
 * pool key in turn. Returns whether a new process has to be started.
 */
export function assignHelper(
  workers: Iterable<Helper>,
  worker: Helper & Pick<PoolWorker, 'coldStartBalance'>,
  isolateKey: string,
): boolean {
  const servesKey = ({ isolateKeys }: Helper): boolean => isolateKey !== '' && isolateKeys.has(isolateKey);
  if (
    worker.retiring ||
    worker.coldStartBalance < MAX_COLD_START_BALANCE ||
    (isolateKey !== '' && !servesKey(worker))
  )
    return false;
  worker.coldStartBalance = 0;
  for (const otherWorker of workers) {
    if (
      otherWorker === worker ||
      otherWorker.poolKey !== worker.poolKey ||
      otherWorker.retiring ||
      servesKey(otherWorker)
    )
      continue;
    if (otherWorker.ready && isolateKey !== '') otherWorker.isolateKeys.add(isolateKey);
    return false;
  }
  return true;
}

/** Minimum age of a busy process before it can be drained for another pool key, in milliseconds. */
const MIN_SERVICE_MS = 1_000;

/** A plan to start one more process for a pool key. */
export interface GrowthPlan {
  /** True to start a process now. */
  readonly mustStart: boolean;
  /** True if one is already starting. */
  readonly isStarting: boolean;
  /** An idle process of another pool key to stop first. */
  readonly workerToStop?: PoolWorker;
  /** A busy process of another pool key to stop after its jobs. */
  readonly workerToDrain?: PoolWorker;
}

/**
 * Plans one more process for a pool key, with at most `maxProcesses` processes. If all are in use, an idle process of
 * another key is stopped. If none is idle and this key has no process, a busy one is drained, preferably of the same
 * tenant: a tenant or image with a steady load must not keep every process.
 */
export function planGrowth(
  workers: readonly PoolWorker[],
  { tenant, poolKey }: Pick<PoolWorker, 'tenant' | 'poolKey'>,
  maxProcesses: number,
): GrowthPlan {
  const servingWorkers = workers.filter((worker) => !worker.retiring);
  const isStarting = servingWorkers.some((worker) => worker.poolKey === poolKey && !worker.ready);
  if (isStarting || servingWorkers.length < maxProcesses) return { mustStart: !isStarting, isStarting };
  const otherWorkers = servingWorkers.filter((worker) => worker.poolKey !== poolKey);
  const workerToStop = longestIdleWorker(otherWorkers);
  if (workerToStop !== undefined) return { mustStart: true, isStarting, workerToStop };
  const hasNoProcess = otherWorkers.length === servingWorkers.length;
  const drainingCount = workers.length - servingWorkers.length;
  const ownWorkers = otherWorkers.filter((worker) => worker.tenant === tenant);
  const workerToDrain =
    hasNoProcess && drainingCount < maxProcesses
      ? findWorkerToDrain(ownWorkers.length > 0 ? ownWorkers : otherWorkers)
      : undefined;
  return workerToDrain === undefined
    ? { mustStart: false, isStarting }
    : { mustStart: true, isStarting, workerToDrain };
}

/** Returns the process that has been idle for the longest time. */
function longestIdleWorker(workers: readonly PoolWorker[]): PoolWorker | undefined {
  return workers
    .filter((worker) => worker.ready && worker.assignments.size === 0)
    .sort((a, b) => a.idleSinceMs - b.idleSinceMs)[0];
}

/** Returns the busy process to drain: from the tenant with the most processes, the oldest one. */
function findWorkerToDrain(workers: readonly PoolWorker[]): PoolWorker | undefined {
  const now = performance.now();
  const processCountOf = (worker: PoolWorker): number =>
    workers.filter((other) => other.tenant === worker.tenant).length;
  return workers
    .filter((worker) => worker.ready && now - worker.startedAtMs >= MIN_SERVICE_MS)
    .sort((a, b) => processCountOf(b) - processCountOf(a) || a.startedAtMs - b.startedAtMs)[0];
}
