import { startFailure } from '../start-failure.ts';
import type { LoadedImage } from '../image.ts';
import { failure, type SandboxFailure } from '../outcome.ts';
import type { HostCall, ChildMessage } from '../protocol.ts';
import type { RawOutcome, Job } from './job.ts';
import { type EndReason, Meter, type PoolMetrics } from './meter.ts';
import type { PoolOptions } from './options.ts';
import { chooseSlot, isStuck, planGrowth, assignHelper, STUCK_MS } from './assignment.ts';
import { FairQueue } from './queue.ts';
import type { Assignment, ProcessTarget, Slot, SlotEvents } from './slot.ts';
import { Starter } from './starter.ts';

/**
 * Returns the failure of a job whose process did not respond in time. `isCpuOnly`: all of that time was CPU time.
 */
function overdueFailure({ job, isCpuOnly }: { job: Job; isCpuOnly: boolean }): SandboxFailure {
  const { cpuMs, wallMs } = job.limits;
  const suffix = 'and could not be interrupted; its process was killed.';
  return isCpuOnly
    ? failure('TIMEOUT_CPU', `The code ran for more than its ${cpuMs} ms of CPU time ${suffix}`)
    : failure('TIMEOUT_WALL', `The code did not finish within ${wallMs} ms ${suffix}`);
}

/** Returns the additional memory of a process with an image, in MiB: files are in memory twice, raw and loaded. */
function imageMiBOf(image: LoadedImage | undefined): number {
  let bytes = 0;
  for (const { size } of Object.values(image?.blobs ?? {})) bytes += size;
  return Math.ceil((2 * bytes) / 2 ** 20);
}

type ProcessUsage = Pick<Slot, 'servedJobCount' | 'rssMiB' | 'startedAtMs' | 'image'>;

/** Returns which limit a process has reached, so that it has to be replaced; undefined if none. */
export function recycleReasonOf(
  { servedJobCount, rssMiB, startedAtMs, image }: ProcessUsage,
  limits: PoolOptions['recycle'],
  nowMs = performance.now(),
): Extract<EndReason, 'jobs' | 'age' | 'memory'> | undefined {
  if (servedJobCount >= limits.jobs) return 'jobs';
  if (nowMs - startedAtMs >= limits.ageMs) return 'age';
  return rssMiB >= limits.rssMiB + imageMiBOf(image) ? 'memory' : undefined;
}

/** Time that a process has to obey a cancellation before it is killed, in milliseconds. */
const CANCEL_GRACE_MS = 250;
const QUEUE_CHECK_MS = 1_000;

/** Assigns jobs to child processes, and starts, recycles and ends the processes. */
export class Pool implements SlotEvents {
  readonly #options: PoolOptions;
  readonly #queue = new FairQueue();
  readonly #slots = new Set<Slot>();
  readonly #starter: Starter;
  readonly #meter = new Meter();
  #stuckTimer: NodeJS.Timeout | undefined;
  #queueTimer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #onEmpty: (() => void) | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#starter = new Starter(options);
  }

  get counts(): { processes: number; queued: number; running: number } {
    const running = [...this.#slots].reduce((sum, slot) => sum + slot.assignments.size, 0);
    return { processes: this.#slots.size, queued: this.#queue.size, running };
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
    job.end({ failure: failure('CANCELLED', 'The job was cancelled.') });
    const slotAssignment = wasQueued ? undefined : this.#findAssignment(job);
    if (slotAssignment === undefined) return;
    const { slot, assignment } = slotAssignment;
    if (slot.currentAssignment === assignment && !assignment.waiting) return slot.kill('cancelled');
    slot.cancel(assignment);
    slot.setDeadline(assignment, CANCEL_GRACE_MS);
  }

  /** Starts a process for a pool key before its first job, if there is room. */
  warm(target: ProcessTarget): void {
    const hasProcess = [...this.#slots].some((slot) => slot.poolKey === target.poolKey && !slot.retiring);
    if (!this.#isClosed && !hasProcess && this.#slots.size < this.#options.maxProcesses) this.#start(target);
  }

  /** Ends processes that were started before the isolation was determined. */
  readonly endEarlyProcesses = (): void => this.#slots.forEach((slot) => slot.kill('isolation'));

  release(key: string): void {
    for (const slot of this.#slots) slot.release(key);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#idleTimer);
    // From here on, no process may be started for waiting jobs.
    clearTimeout(this.#stuckTimer);
    this.#failQueuedJobs(this.#queue.allJobs(), failure('SANDBOX_UNAVAILABLE', 'The sandbox was closed.'));
    if (this.#slots.size === 0) return;
    const allExited = new Promise<void>((resolve) => (this.#onEmpty = resolve));
    for (const slot of this.#slots) {
      for (const { job } of slot.assignments.values())
        job.fail('SANDBOX_UNAVAILABLE', 'The sandbox was closed.');
      slot.kill('closed');
    }
    await allExited;
  }

  onReady(slot: Slot): void {
    this.#starter.recordReady(slot);
    this.#meter.recordStartTime(slot.startedAtMs);
    this.#pump();
  }

  onDone(slot: Slot, assignment: Assignment, report: Extract<ChildMessage, { t: 'done' }>): void {
    slot.remove(assignment);
    this.#meter.recordDone(report);
    if (report.code === 'LOST') this.#retry(assignment.job, report.text);
    else assignment.job.end({ done: report } satisfies RawOutcome);
    // The guest runtime never sends a malformed message, so user code has taken over its connection to the host.
    if (report.code === 'PROTOCOL') slot.retire('invalid_message');
    if (
      assignHelper(this.#slots, slot, this.#options.isolateKeyOf(assignment.job)) &&
      this.#slots.size < this.#options.maxProcesses
    )
      this.#start(slot);
    this.#recycle(slot);
    this.#pump();
  }

  onCall(slot: Slot, assignment: Assignment, hostCall: HostCall): void {
    // The process enforces this limit too; one that does not is compromised.
    if (++assignment.job.hostCallCount > assignment.job.limits.hostCalls) return this.onMalformed(slot);
    void this.#options
      .handleHostCall(assignment.job, hostCall)
      .then((response) => slot.answer(assignment, { call: hostCall.call, ...response }));
  }

  onOverdue(slot: Slot, assignment: Assignment): void {
    const { currentAssignment } = slot;
    // The job that runs has its own deadline, and the process does not count this wait as time of the job.
    if (currentAssignment !== undefined && currentAssignment !== assignment && !currentAssignment.waiting) {
      return slot.setDeadline(assignment, assignment.job.limits.killGraceMs);
    }
    assignment.job.end({ failure: overdueFailure(assignment) });
    slot.kill('unresponsive');
  }

  onMalformed(slot: Slot): void {
    slot.currentAssignment?.job.fail(
      'SANDBOX_PROTOCOL',
      'The sandbox process sent a malformed message; it was killed.',
    );
    slot.kill('invalid_message');
  }

  onExit(slot: Slot, reason: string): void {
    this.#slots.delete(slot);
    this.#meter.recordEnd(slot.killReason ?? (slot.ready ? 'died' : 'failed'));
    const crashedAssignment = slot.killReason === undefined ? slot.currentAssignment : undefined;
    for (const assignment of slot.assignments.values()) {
      if (assignment !== crashedAssignment)
        this.#retry(assignment.job, `The sandbox process ended because of another job (${reason}).`);
      else if (reason === 'out of memory')
        assignment.job.fail(
          'OUT_OF_MEMORY',
          `The code needs more than its ${assignment.job.limits.memoryMiB} MiB of memory.`,
        );
      else assignment.job.fail('SANDBOX_CRASHED', `The sandbox process ended (${reason}).`);
    }
    if (!slot.ready && slot.killReason === undefined && this.#starter.recordFailedStart(slot))
      this.#failQueuedJobs(
        this.#queue.jobsOfKey(slot),
        failure('SANDBOX_UNAVAILABLE', `Sandbox processes do not start (${reason}).`),
      );
    if (this.#slots.size === 0) {
      clearInterval(this.#idleTimer);
      this.#idleTimer = undefined;
      this.#onEmpty?.();
    }
    this.#pump();
  }

  /** Assigns queued jobs to processes until no tenant has a job that can be placed. */
  #pump(): void {
    for (let hasPlaced = true; hasPlaced && !this.#isClosed;) {
      hasPlaced = false;
      for (const tenant of this.#queue.tenants()) {
        for (const job of this.#queue.heads(tenant)) {
          const slot = this.#place(job);
          if (slot === undefined) continue;
          this.#queue.take(job);
          this.#meter.recordQueueTime(job.queuedAtMs);
          if (slot.runnableCount > 0) this.#watchStuckJobs();
          slot.assign(job, this.#options.isolateKeyOf(job));
          hasPlaced = true;
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
  #place(job: Job): Slot | undefined {
    const slot = chooseSlot(this.#slots, job, this.#options);
    if (slot === undefined) this.#grow(job);
    return slot;
  }

  /** Starts a process for the pool key if there is room or can be made. Returns whether one is starting. */
  #grow(target: ProcessTarget): boolean {
    const growth = planGrowth([...this.#slots], target, this.#options.maxProcesses);
    growth.slotToStop?.kill('evicted');
    growth.slotToDrain?.retire('drained');
    return growth.mustStart ? this.#start(target) : growth.isStarting;
  }

  #start(target: ProcessTarget): boolean {
    if (this.#isClosed) return false;
    try {
      this.#slots.add(this.#starter.start(target, this));
    } catch (error) {
      this.#failQueuedJobs(this.#queue.jobsOfKey(target), startFailure(error, target.image));
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

  #findAssignment(job: Job): { slot: Slot; assignment: Assignment } | undefined {
    for (const slot of this.#slots) {
      for (const assignment of slot.assignments.values())
        if (assignment.job === job) return { slot, assignment };
    }
    return undefined;
  }

  #recycle(slot: Slot): void {
    const reason = recycleReasonOf(slot, this.#options.recycle);
    if (reason !== undefined) slot.retire(reason);
    if (slot.retireReason !== undefined && slot.assignments.size === 0) slot.kill(slot.retireReason);
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
    for (const slot of [...this.#slots]) {
      if (slot.runnableCount < 2) continue;
      this.#watchStuckJobs();
      if (!isStuck(slot)) continue;
      const hasFreeProcess = [...this.#slots].some(
        (other) =>
          other.poolKey === slot.poolKey && other.ready && !other.retiring && other.runnableCount === 0,
      );
      if (hasFreeProcess || this.#grow(slot)) this.#putBack(slot.cancelWaitingJobs());
    }
    this.#pump();
  }

  #stopIdleProcesses(): void {
    const now = performance.now();
    for (const slot of [...this.#slots]) {
      if (this.#slots.size <= this.#options.minProcesses) return;
      if (slot.ready && slot.assignments.size === 0 && now - slot.idleSinceMs >= this.#options.idleMs)
        slot.kill('idle');
    }
  }
}
