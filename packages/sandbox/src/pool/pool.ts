import { toStartFailure } from '../start-failure.ts';
import type { LoadedImage } from '../image.ts';
import { createFailure, type SandboxFailure } from '../outcome.ts';
import type { HostCall, ChildMessage } from '../protocol.ts';
import type { RawOutcome, Job } from './job.ts';
import { type EndReason, Meter, type PoolMetrics } from './meter.ts';
import type { PoolOptions } from './options.ts';
import { chooseWorker, isStuck, planGrowth, assignHelper, STUCK_MS } from './assignment.ts';
import { FairQueue } from './queue.ts';
import type { Assignment, WorkerKey, PoolWorker, PoolWorkerEvents } from './pool-worker.ts';
import { WorkerLauncher } from './worker-launcher.ts';

/**
 * Returns the failure of a job whose process did not respond in time. `isCpuOnly`: all of that time was CPU time.
 */
function unresponsiveFailure({ job, isCpuOnly }: { job: Job; isCpuOnly: boolean }): SandboxFailure {
  const { cpuMs, wallMs } = job.limits;
  const suffix = 'and could not be interrupted; its process was killed.';
  return isCpuOnly
    ? createFailure('TIMEOUT_CPU', `The code ran for more than its ${cpuMs} ms of CPU time ${suffix}`)
    : createFailure('TIMEOUT_WALL', `The code did not finish within ${wallMs} ms ${suffix}`);
}

/** Returns the additional memory of a process with an image, in MiB: files are in memory twice, raw and loaded. */
function imageMiBOf(image: LoadedImage | undefined): number {
  let bytes = 0;
  for (const { size } of Object.values(image?.blobs ?? {})) bytes += size;
  return Math.ceil((2 * bytes) / 2 ** 20);
}

type ProcessUsage = Pick<PoolWorker, 'completedJobCount' | 'rssMiB' | 'startedAtMs' | 'image'>;

/** Returns which limit a process has reached, so that it has to be replaced; undefined if none. */
export function recycleReasonOf(
  { completedJobCount, rssMiB, startedAtMs, image }: ProcessUsage,
  limits: PoolOptions['recycle'],
  nowMs = performance.now(),
): Extract<EndReason, 'jobs' | 'age' | 'memory'> | undefined {
  if (completedJobCount >= limits.jobs) return 'jobs';
  if (nowMs - startedAtMs >= limits.ageMs) return 'age';
  return rssMiB >= limits.rssMiB + imageMiBOf(image) ? 'memory' : undefined;
}

/** Time that a process has to confirm a cancellation before it is killed, in milliseconds. */
const CANCEL_GRACE_MS = 250;
const QUEUE_CHECK_MS = 1_000;

/** Assigns jobs to child processes, and starts, recycles and ends the processes. */
export class Pool implements PoolWorkerEvents {
  readonly #options: PoolOptions;
  readonly #queue = new FairQueue();
  readonly #workers = new Set<PoolWorker>();
  readonly #launcher: WorkerLauncher;
  readonly #meter = new Meter();
  #stuckTimer: NodeJS.Timeout | undefined;
  #queueTimer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #onEmpty: (() => void) | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#launcher = new WorkerLauncher(options);
  }

  get counts(): { processes: number; queued: number; running: number } {
    const running = [...this.#workers].reduce((sum, worker) => sum + worker.assignments.size, 0);
    return { processes: this.#workers.size, queued: this.#queue.size, running };
  }

  get metrics(): PoolMetrics {
    return this.#meter.metrics;
  }

  submit(job: Job): void {
    if (this.#isClosed) return job.fail('SANDBOX_UNAVAILABLE', 'The sandbox is closed.');
    const refusal = this.#queue.refusalOf(job, this.#options);
    if (refusal !== undefined) return job.fail('SANDBOX_BUSY', refusal);
    this.#queue.add(job);
    this.#pump();
  }

  /** Cancels a job, whether queued or running. Kills the process if the job's code holds its thread. */
  cancel(job: Job): void {
    const wasQueued = this.#queue.remove(job);
    job.end({ failure: createFailure('CANCELLED', 'The job was cancelled.') });
    const workerAssignment = wasQueued ? undefined : this.#findAssignment(job);
    if (workerAssignment === undefined) return;
    const { worker, assignment } = workerAssignment;
    if (worker.currentAssignment === assignment && !assignment.waiting) return worker.kill('cancelled');
    worker.cancel(assignment);
    worker.setDeadline(assignment, CANCEL_GRACE_MS);
  }

  /** Starts a process for a pool key before its first job, if there is room. */
  warm(workerKey: WorkerKey): void {
    const hasProcess = [...this.#workers].some(
      (worker) => worker.poolKey === workerKey.poolKey && !worker.retiring,
    );
    if (!this.#isClosed && !hasProcess && this.#workers.size < this.#options.maxProcesses)
      this.#start(workerKey);
  }

  /** Ends processes that were started before the isolation was determined. */
  readonly endEarlyProcesses = (): void => this.#workers.forEach((worker) => worker.kill('isolation'));

  release(key: string): void {
    for (const worker of this.#workers) worker.release(key);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#idleTimer);
    // From here on, no process may be started for waiting jobs.
    clearTimeout(this.#stuckTimer);
    this.#failQueuedJobs(
      this.#queue.allJobs(),
      createFailure('SANDBOX_UNAVAILABLE', 'The sandbox was closed.'),
    );
    if (this.#workers.size === 0) return;
    const allExited = new Promise<void>((resolve) => (this.#onEmpty = resolve));
    for (const worker of this.#workers) {
      for (const { job } of worker.assignments.values())
        job.fail('SANDBOX_UNAVAILABLE', 'The sandbox was closed.');
      worker.kill('closed');
    }
    await allExited;
  }

  onReady(worker: PoolWorker): void {
    this.#launcher.recordReady(worker);
    this.#meter.recordStartTime(worker.startedAtMs);
    this.#pump();
  }

  onDone(worker: PoolWorker, assignment: Assignment, report: Extract<ChildMessage, { t: 'done' }>): void {
    worker.remove(assignment);
    this.#meter.recordCompletedJob(report);
    if (report.code === 'LOST') this.#retry(assignment.job, report.text);
    else assignment.job.end({ done: report } satisfies RawOutcome);
    // The guest runtime never sends a malformed message, so user code has taken over its connection to the host.
    if (report.code === 'PROTOCOL') worker.retire('invalid_message');
    if (
      assignHelper(this.#workers, worker, this.#options.isolateKeyOf(assignment.job)) &&
      this.#workers.size < this.#options.maxProcesses
    )
      this.#start(worker);
    this.#recycle(worker);
    this.#pump();
  }

  onCall(worker: PoolWorker, assignment: Assignment, hostCall: HostCall): void {
    // The process enforces this limit too; one that does not is compromised.
    if (++assignment.job.hostCallCount > assignment.job.limits.hostCalls)
      return this.onMalformedMessage(worker);
    void this.#options
      .handleHostCall(assignment.job, hostCall)
      .then((response) => worker.answer(assignment, { call: hostCall.call, ...response }));
  }

  onUnresponsive(worker: PoolWorker, assignment: Assignment): void {
    const { currentAssignment } = worker;
    // The job that runs has its own deadline, and the process does not count this wait as time of the job.
    if (currentAssignment !== undefined && currentAssignment !== assignment && !currentAssignment.waiting) {
      return worker.setDeadline(assignment, assignment.job.limits.killGraceMs);
    }
    assignment.job.end({ failure: unresponsiveFailure(assignment) });
    worker.kill('unresponsive');
  }

  onMalformedMessage(worker: PoolWorker): void {
    worker.currentAssignment?.job.fail(
      'SANDBOX_PROTOCOL',
      'The sandbox process sent a malformed message; it was killed.',
    );
    worker.kill('invalid_message');
  }

  onExit(worker: PoolWorker, reason: string): void {
    this.#workers.delete(worker);
    this.#meter.recordProcessEnd(worker.killReason ?? (worker.ready ? 'died' : 'failed'));
    const crashedAssignment = worker.killReason === undefined ? worker.currentAssignment : undefined;
    for (const assignment of worker.assignments.values()) {
      if (assignment !== crashedAssignment)
        this.#retry(assignment.job, `The sandbox process ended because of another job (${reason}).`);
      else if (reason === 'out of memory')
        assignment.job.fail(
          'OUT_OF_MEMORY',
          `The code needs more than its ${assignment.job.limits.memoryMiB} MiB of memory.`,
        );
      else assignment.job.fail('SANDBOX_CRASHED', `The sandbox process ended (${reason}).`);
    }
    if (!worker.ready && worker.killReason === undefined && this.#launcher.recordFailedStart(worker))
      this.#failQueuedJobs(
        this.#queue.jobsOfKey(worker),
        createFailure('SANDBOX_UNAVAILABLE', `Sandbox processes do not start (${reason}).`),
      );
    if (this.#workers.size === 0) {
      clearInterval(this.#idleTimer);
      this.#idleTimer = undefined;
      this.#onEmpty?.();
    }
    this.#pump();
  }

  /** Assigns queued jobs to processes until no tenant has a job that can be assigned. */
  #pump(): void {
    for (let hasAssigned = true; hasAssigned && !this.#isClosed;) {
      hasAssigned = false;
      for (const tenant of this.#queue.tenants()) {
        for (const job of this.#queue.heads(tenant)) {
          const worker = this.#findWorker(job);
          if (worker === undefined) continue;
          this.#queue.take(job);
          this.#meter.recordQueueTime(job.queuedAtMs);
          if (worker.runnableCount > 0) this.#watchStuckJobs();
          worker.assign(job, this.#options.isolateKeyOf(job));
          hasAssigned = true;
          break;
        }
      }
    }
    this.#watchQueue();
  }

  #putBack(jobs: readonly Job[]): void {
    for (const job of jobs) job.queuedAtMs = performance.now();
    this.#queue.putBack(jobs);
  }

  /**
   * Checks the queue again later, as long as it is not empty. The timer does not keep the host alive; starting
   * processes do.
   */
  #watchQueue(): void {
    if (this.#queueTimer !== undefined || this.#queue.size === 0) return;
    const ms = Math.min(this.#options.queueTimeoutMs, QUEUE_CHECK_MS);
    this.#queueTimer = setTimeout(() => {
      this.#queueTimer = undefined;
      this.#expireQueuedJobs();
      this.#pump();
    }, ms).unref();
  }

  /** Fails jobs that have waited too long. */
  #expireQueuedJobs(): void {
    const { queueTimeoutMs } = this.#options;
    for (const job of this.#queue.jobsWaitingSince(performance.now() - queueTimeoutMs)) {
      this.#queue.remove(job);
      const hint = 'raise maxProcesses or queueTimeoutMs';
      job.fail('SANDBOX_BUSY', `The job waited ${queueTimeoutMs} ms for a sandbox process; ${hint}.`);
    }
  }

  /** Returns the process for a job. Without one, starts a process if possible and returns undefined. */
  #findWorker(job: Job): PoolWorker | undefined {
    const worker = chooseWorker(this.#workers, job, this.#options);
    if (worker === undefined) this.#grow(job);
    return worker;
  }

  /** Starts a process for the pool key if there is room or can be made. Returns whether one is starting. */
  #grow(workerKey: WorkerKey): boolean {
    const growth = planGrowth([...this.#workers], workerKey, this.#options.maxProcesses);
    growth.workerToStop?.kill('evicted');
    growth.workerToDrain?.retire('drained');
    return growth.mustStart ? this.#start(workerKey) : growth.isStarting;
  }

  #start(workerKey: WorkerKey): boolean {
    if (this.#isClosed) return false;
    try {
      this.#workers.add(this.#launcher.start(workerKey, this));
    } catch (error) {
      this.#failQueuedJobs(this.#queue.jobsOfKey(workerKey), toStartFailure(error, workerKey.image));
      return false;
    }
    this.#idleTimer ??= setInterval(() => this.#stopIdleProcesses(), this.#options.idleMs / 2).unref();
    return true;
  }

  #failQueuedJobs(jobs: readonly Job[], error: SandboxFailure): void {
    for (const job of jobs) {
      this.#queue.remove(job);
      job.end({ failure: error });
    }
  }

  /**
   * Retries a job that lost its process because of another job, at most once, and only if it had no visible effects.
   */
  #retry(job: Job, message: string): void {
    if (job.hasEnded) return;
    if (job.hostCallCount > 0 || job.lossCount > 0 || this.#isClosed)
      return job.fail('SANDBOX_CRASHED', message);
    job.lossCount++;
    this.#putBack([job]);
  }

  #findAssignment(job: Job): { worker: PoolWorker; assignment: Assignment } | undefined {
    for (const worker of this.#workers) {
      for (const assignment of worker.assignments.values())
        if (assignment.job === job) return { worker, assignment };
    }
    return undefined;
  }

  #recycle(worker: PoolWorker): void {
    const reason = recycleReasonOf(worker, this.#options.recycle);
    if (reason !== undefined) worker.retire(reason);
    if (worker.retireReason !== undefined && worker.assignments.size === 0) worker.kill(worker.retireReason);
  }

  #watchStuckJobs(): void {
    if (this.#stuckTimer !== undefined) return;
    this.#stuckTimer = setTimeout(() => {
      this.#stuckTimer = undefined;
      this.#moveStuckJobs();
    }, STUCK_MS);
  }

  /** Moves jobs that wait for a long-running one to another process, if one can take them. */
  #moveStuckJobs(): void {
    for (const worker of [...this.#workers]) {
      if (worker.runnableCount < 2) continue;
      this.#watchStuckJobs();
      if (!isStuck(worker)) continue;
      const hasFreeProcess = [...this.#workers].some(
        (other) =>
          other.poolKey === worker.poolKey && other.ready && !other.retiring && other.runnableCount === 0,
      );
      if (hasFreeProcess || this.#grow(worker)) this.#putBack(worker.cancelQueuedJobs());
    }
    this.#pump();
  }

  #stopIdleProcesses(): void {
    const now = performance.now();
    for (const worker of [...this.#workers]) {
      if (this.#workers.size <= this.#options.minProcesses) return;
      if (worker.ready && worker.assignments.size === 0 && now - worker.idleSinceMs >= this.#options.idleMs)
        worker.kill('idle');
    }
  }
}
