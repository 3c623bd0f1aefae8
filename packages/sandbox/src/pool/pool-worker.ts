import type { ChildProcess } from 'node:child_process';
import { killProcess } from '../kill-process.ts';
import type { LoadedImage } from '../image.ts';
import { warnOperator } from '../start-failure.ts';
import type { HostResponse, HostCall, ChildRequest, ChildMessage } from '../protocol.ts';
import type { EndReason } from './meter.ts';
import { openSyncCallPipe, SYNC_CALL, type SyncCall, type SyncCallPipe } from './sync-calls.ts';
import { readChildMessage } from './child-messages.ts';
import type { Job } from './job.ts';

/** A job inside a process. It gets a new id per attempt, so that late messages of an earlier attempt are ignored. */
export interface Assignment {
  readonly id: number;
  readonly job: Job;
  /** True if it waits for a timer or a host call, as last reported by the process. */
  waiting: boolean;
  /** True while all its time is CPU time: its code started immediately and has not waited yet. */
  isCpuOnly: boolean;
  deadlineTimer: NodeJS.Timeout | undefined;
}

/** The jobs that a process serves: those of a tenant with a common image. */
export type WorkerKey = Pick<Job, 'tenant' | 'poolKey' | 'image'>;

export interface PoolWorkerEvents {
  onReady(worker: PoolWorker): void;
  onDone(worker: PoolWorker, assignment: Assignment, report: Extract<ChildMessage, { t: 'done' }>): void;
  onCall(worker: PoolWorker, assignment: Assignment, hostCall: HostCall): void;
  /** The process did not respond by a job's deadline. */
  onUnresponsive(worker: PoolWorker, assignment: Assignment): void;
  /** The process sent a message that our processes never send. */
  onMalformedMessage(worker: PoolWorker): void;
  onExit(worker: PoolWorker, reason: string): void;
}

/** One child process and the jobs inside it. */
export class PoolWorker {
  readonly tenant: string;
  readonly poolKey: string;
  readonly image: LoadedImage | undefined;
  readonly startedAtMs = performance.now();
  readonly assignments = new Map<number, Assignment>();
  /** Keys of the isolates or interpreters in the process. */
  readonly isolateKeys = new Set<string>();
  ready = false;
  /** Why it takes no new jobs and is stopped after its last one. */
  retireReason: EndReason | undefined;
  /** Why the pool ended it. If set, no job inside caused the exit. */
  killReason: EndReason | undefined;
  hasExited = false;
  /** Number of jobs that it has ended. */
  completedJobCount = 0;
  /** Incremented for each job that had to wait for its context, and decremented for each other job; at least 0. */
  coldStartBalance = 0;
  rssMiB = 0;
  idleSinceMs = 0;
  /** When the process last sent a message or got its first job. */
  lastActivityMs = 0;
  /** The snapshot that this process made at its start for later ones. */
  snapshot: Uint8Array | undefined;
  readonly #child: ChildProcess;
  readonly #events: PoolWorkerEvents;
  readonly #syncCallPipe: SyncCallPipe | undefined;
  /** Id of the job that the process last reported as the one whose code runs, or runs next. */
  #reportedJobId = 0;
  #startTimer: NodeJS.Timeout | undefined;
  /** Why it was ended before it was ready. */
  #startError: string | undefined;
  #stderr = '';
  #lastId = 0;

  constructor(
    { tenant, poolKey, image }: WorkerKey,
    child: ChildProcess,
    bootRequest: ChildRequest,
    events: PoolWorkerEvents,
  ) {
    this.tenant = tenant;
    this.poolKey = poolKey;
    this.image = image;
    this.#child = child;
    this.#events = events;
    child.on('message', (message: unknown) => this.#receive(message));
    this.#syncCallPipe = openSyncCallPipe(child, {
      onCall: (call) => this.#onSyncCall(call),
      onMalformedCall: () => this.#events.onMalformedMessage(this),
    });
    child.stderr?.on('data', (data: Buffer) => {
      if (this.#stderr.length < 4_000) this.#stderr += data.toString('latin1');
    });
    child.on('error', (error: NodeJS.ErrnoException) => {
      warnOperator(`A sandbox process could not be started: ${error.message}`);
      this.#onExit(error.code ?? 'no process');
    });
    // Not `exit`: the process's output has to be read first.
    child.on('close', (code, signal) => this.#onExit(this.#exitReason(code, signal)));
    this.#keepHostAlive(true);
    this.#send(bootRequest);
  }

  /** Ends the process if it is not ready in time: a hanging start would occupy its slot permanently. */
  limitStartTime(ms: number): void {
    this.#startTimer = setTimeout(() => {
      this.#startError = `not ready within ${ms} ms`;
      killProcess(this.#child);
    }, ms);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Returns the number of jobs whose code runs or waits for the thread. */
  get runnableCount(): number {
    let count = 0;
    for (const assignment of this.assignments.values()) if (!assignment.waiting) count++;
    return count;
  }

  /** Returns the job whose code holds the thread, as far as is known. */
  get currentAssignment(): Assignment | undefined {
    const reportedAssignment = this.assignments.get(this.#reportedJobId);
    if (reportedAssignment !== undefined) return reportedAssignment;
    for (const assignment of this.assignments.values()) if (!assignment.waiting) return assignment;
    return this.assignments.values().next().value;
  }

  assign(job: Job, key: string): void {
    const id = ++this.#lastId;
    const assignment: Assignment = { id, job, waiting: false, isCpuOnly: false, deadlineTimer: undefined };
    if (this.assignments.size === 0) {
      this.#reportedJobId = id;
      this.lastActivityMs = performance.now();
      this.#keepHostAlive(true);
    }
    this.assignments.set(id, assignment);
    if (key !== '') this.isolateKeys.add(key);
    const { cpuMs, wallMs, killGraceMs } = job.limits;
    // The code of a JavaScript job that is alone in its process starts immediately, and the process reports when it
    // waits. So until that report, all its time is CPU time. Python code can sleep without a report.
    assignment.isCpuOnly =
      this.assignments.size === 1 && job.kind !== 'python' && cpuMs + killGraceMs < wallMs;
    this.setDeadline(assignment, assignment.isCpuOnly ? cpuMs + 2 * killGraceMs : wallMs + killGraceMs);
    this.#send({ t: 'run', id, key, mode: job.mode, args: job.args, limits: job.limits });
  }

  /** Sets the time after which an unresponsive process is killed because of this job. */
  setDeadline(assignment: Assignment, ms: number): void {
    clearTimeout(assignment.deadlineTimer);
    assignment.deadlineTimer = setTimeout(() => this.#events.onUnresponsive(this, assignment), ms);
  }

  /** Sends the host's answer to a call. */
  answer(assignment: Assignment, response: HostResponse & { readonly call: number }): void {
    if (!this.assignments.has(assignment.id)) return;
    if (response.call === SYNC_CALL) this.#syncCallPipe?.answer(response);
    else this.#send({ t: 'answer', id: assignment.id, ...response });
  }

  /** Asks the process to stop a job. The assignment remains until the process confirms or is killed. */
  cancel(assignment: Assignment): void {
    this.#send({ t: 'cancel', id: assignment.id });
  }

  /** Cancels the jobs that wait for the thread and have made no host calls. Returns them, for other processes. */
  cancelQueuedJobs(): Job[] {
    const { currentAssignment } = this;
    const cancelledJobs: Job[] = [];
    for (const assignment of [...this.assignments.values()]) {
      if (
        assignment === currentAssignment ||
        assignment.waiting ||
        assignment.job.hasEnded ||
        assignment.job.hostCallCount > 0
      )
        continue;
      this.cancel(assignment);
      this.remove(assignment);
      cancelledJobs.push(assignment.job);
    }
    return cancelledJobs;
  }

  /** Releases the isolates or interpreters of a key, and of its subkeys, which consist of it, a line break and more. */
  release(key: string): void {
    for (const isolateKey of this.isolateKeys) {
      if (isolateKey !== key && !isolateKey.startsWith(`${key}\n`)) continue;
      this.isolateKeys.delete(isolateKey);
      this.#send({ t: 'release', key: isolateKey });
    }
  }

  remove(assignment: Assignment): void {
    clearTimeout(assignment.deadlineTimer);
    this.assignments.delete(assignment.id);
    if (this.assignments.size === 0) {
      this.idleSinceMs = performance.now();
      this.#keepHostAlive(false);
    }
  }

  get retiring(): boolean {
    return this.retireReason !== undefined;
  }

  retire(reason: EndReason): void {
    this.retireReason ??= reason;
  }

  kill(reason: EndReason): void {
    this.retire(reason);
    this.killReason ??= reason;
    // A closing pool waits for the exit of these processes, so they keep the host alive.
    this.#child.ref();
    this.#keepHostAlive(true);
    (this.#child.stderr as { ref?: () => void } | null)?.ref?.();
    killProcess(this.#child);
  }

  #send(request: ChildRequest): void {
    // Sending fails only for a dead process, whose exit is reported separately.
    if (this.#child.connected) this.#child.send(request, () => undefined);
  }

  /** Sets whether this process keeps its host alive. */
  #keepHostAlive(isNeeded: boolean): void {
    const channel = this.#child.channel as { ref(): void; unref(): void } | null | undefined;
    if (isNeeded || this.killReason !== undefined) channel?.ref();
    else channel?.unref();
  }

  #receive(message: unknown): void {
    const report = readChildMessage(message);
    if (report === undefined) return this.#events.onMalformedMessage(this);
    this.lastActivityMs = performance.now();
    if (report.t === 'ready') {
      if (this.ready) return this.#events.onMalformedMessage(this);
      this.ready = true;
      clearTimeout(this.#startTimer);
      this.snapshot = report.snapshot ?? undefined;
      this.idleSinceMs = performance.now();
      if (this.assignments.size === 0) this.#keepHostAlive(false);
      return this.#events.onReady(this);
    }
    const assignment = this.assignments.get(report.id);
    if (report.t === 'done') {
      this.#reportedJobId = report.next;
      this.rssMiB = report.rssMiB;
      this.completedJobCount++;
      this.coldStartBalance = Math.max(0, this.coldStartBalance + (report.waitedForContext ? 1 : -1));
    }
    if (assignment === undefined) return;
    if (report.t === 'enter') this.#reportedJobId = report.id;
    else if (report.t === 'waiting') this.#onWaiting(assignment);
    else if (report.t === 'call') this.#events.onCall(this, assignment, report);
    else this.#events.onDone(this, assignment, report);
  }

  /** Once a job has waited, only its wall time limit applies. */
  #onWaiting(assignment: Assignment): void {
    assignment.waiting = true;
    if (!assignment.isCpuOnly) return;
    assignment.isCpuOnly = false;
    const { wallMs, killGraceMs } = assignment.job.limits;
    this.setDeadline(assignment, wallMs + killGraceMs);
  }

  #onSyncCall({ id, op, head, body }: SyncCall): void {
    this.lastActivityMs = performance.now();
    const assignment = this.assignments.get(id);
    if (assignment === undefined) return;
    this.#events.onCall(this, assignment, { t: 'call', id, call: SYNC_CALL, op, head, body });
  }

  /** Returns why the process ended. Warns the operator if it ended before it was ready. */
  #exitReason(code: number | null, signal: NodeJS.Signals | null): string {
    const isOutOfMemory = /heap out of memory|out of memory|is_heap_oom/i.test(this.#stderr);
    if (isOutOfMemory) return 'out of memory';
    const reason = this.#startError ?? (signal !== null ? `signal ${signal}` : `exit code ${String(code)}`);
    const output = this.ready || this.killReason !== undefined ? '' : this.#stderr.trim().slice(0, 1_000);
    if (output !== '') warnOperator(`A sandbox process did not start (${reason}): ${output}`);
    return reason;
  }

  #onExit(reason: string): void {
    if (this.hasExited) return;
    this.hasExited = true;
    clearTimeout(this.#startTimer);
    for (const { deadlineTimer } of this.assignments.values()) clearTimeout(deadlineTimer);
    this.#events.onExit(this, reason);
  }
}
