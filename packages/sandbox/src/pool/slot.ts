import type { ChildProcess } from 'node:child_process';
import type { LoadedImage } from '../image.ts';
import { tellHost } from '../host-fault.ts';
import type { HostAnswer, HostCall, ChildRequest, ChildMessage } from '../protocol.ts';
import type { EndReason } from './meter.ts';
import { questionsOf, WAITED, type Question, type Questions } from './questions.ts';
import { readChildMessage } from './report.ts';
import type { Job } from './job.ts';

/** A job as its process knows it: a number of its own per try, so that late messages of an earlier try mean nothing. */
export interface Assignment {
  readonly id: number;
  readonly job: Job;
  /** Waits for a timer or a host call, as far as the process has told. */
  waiting: boolean;
  /** Has not waited since it began: what it spends is processor time. */
  isTimed: boolean;
  deadline: NodeJS.Timeout | undefined;
}

/** Whom a process serves: the jobs of a tenant that have an image in common. */
export type ProcessTarget = Pick<Job, 'tenant' | 'poolKey' | 'image'>;

export interface SlotEvents {
  ready(slot: Slot): void;
  done(slot: Slot, assignment: Assignment, report: Extract<ChildMessage, { t: 'done' }>): void;
  call(slot: Slot, assignment: Assignment, report: HostCall): void;
  /** The process is silent past a job's deadline. */
  overdue(slot: Slot, assignment: Assignment): void;
  /** The process sent what no process of ours sends. */
  malformed(slot: Slot): void;
  exit(slot: Slot, why: string): void;
}

/** One child process with the jobs inside it. */
export class Slot {
  readonly tenant: string;
  readonly poolKey: string;
  readonly image: LoadedImage | null;
  readonly startedAtMs = performance.now();
  readonly jobs = new Map<number, Assignment>();
  readonly runs = new Set<string>();
  ready = false;
  /** Why it takes no new job and is stopped when its last one ends. */
  retired: EndReason | undefined;
  /** Why it ends by our hand: no job inside is to blame. */
  killed: EndReason | undefined;
  dead = false;
  served = 0;
  /** By how many more of its jobs came while their context was made than after it. */
  late = 0;
  rssMiB = 0;
  idleSinceMs = 0;
  /** When the process was last known to make progress. */
  progressAtMs = 0;
  /** The snapshot that this process made at its start, for those after it. */
  snapshot: Uint8Array | null = null;
  readonly #child: ChildProcess;
  readonly #events: SlotEvents;
  readonly #questions: Questions | null;
  #announced = 0;
  #startTimer: NodeJS.Timeout | undefined;
  /** Why it was ended before it was ready. */
  #late: string | undefined;
  #stderr = '';
  #lastId = 0;

  constructor(
    { tenant, poolKey, image }: ProcessTarget,
    child: ChildProcess,
    boot: ChildRequest,
    events: SlotEvents,
  ) {
    this.tenant = tenant;
    this.poolKey = poolKey;
    this.image = image;
    this.#child = child;
    this.#events = events;
    child.on('message', (message: unknown) => this.#receive(message));
    this.#questions = questionsOf(child, {
      ask: (question) => this.#ask(question),
      malformed: () => this.#events.malformed(this),
    });
    child.stderr?.on('data', (data: Buffer) => {
      if (this.#stderr.length < 4_000) this.#stderr += data.toString('latin1');
    });
    child.on('error', (error: NodeJS.ErrnoException) => {
      tellHost(`A sandbox process could not be started: ${error.message}`);
      this.#gone(error.code ?? 'no process');
    });
    // Not `exit`: what the process wrote about its end has to be read first.
    child.on('close', (code, signal) => this.#gone(this.#explain(code, signal)));
    this.#hold(true);
    this.#send(boot);
  }

  /** Ends the process when it is not ready by then: some hang at their start, and would keep their place for ever. */
  expectReady(ms: number): void {
    this.#startTimer = setTimeout(() => {
      this.#late = `not ready within ${ms} ms`;
      this.#child.kill('SIGKILL');
    }, ms);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The jobs whose code runs or waits for the thread. */
  get runnable(): number {
    let count = 0;
    for (const assignment of this.jobs.values()) if (!assignment.waiting) count++;
    return count;
  }

  /** The job whose code holds the thread, as far as can be known. */
  get occupant(): Assignment | undefined {
    const known = this.jobs.get(this.#announced);
    if (known !== undefined) return known;
    for (const assignment of this.jobs.values()) if (!assignment.waiting) return assignment;
    return this.jobs.values().next().value;
  }

  assign(job: Job, key: string): void {
    const id = ++this.#lastId;
    const assignment: Assignment = { id, job, waiting: false, isTimed: false, deadline: undefined };
    if (this.jobs.size === 0) {
      this.#announced = id;
      this.progressAtMs = performance.now();
      this.#hold(true);
    }
    this.jobs.set(id, assignment);
    if (key !== '') this.runs.add(key);
    const { cpuMs, wallMs, killGraceMs } = job.limits;
    // JavaScript that is alone in its process is entered at once, and cannot wait before it says so; Python can sleep.
    assignment.isTimed = this.jobs.size === 1 && job.kind !== 'python' && cpuMs + killGraceMs < wallMs;
    this.extend(assignment, assignment.isTimed ? cpuMs + 2 * killGraceMs : wallMs + killGraceMs);
    this.#send({ t: 'run', id, key, mode: job.mode, args: job.args, limits: job.limits });
  }

  /** Sets when the process' silence about the job counts as its death. */
  extend(assignment: Assignment, ms: number): void {
    clearTimeout(assignment.deadline);
    assignment.deadline = setTimeout(() => this.#events.overdue(this, assignment), ms);
  }

  answer(assignment: Assignment, answer: HostAnswer & { readonly call: number }): void {
    if (!this.jobs.has(assignment.id)) return;
    if (answer.call === WAITED) this.#questions?.answer(answer);
    else this.#send({ t: 'answer', id: assignment.id, ...answer });
  }

  /** Asks the process to stop a job; the assignment stays until it obeys or is killed. */
  cancel(assignment: Assignment): void {
    this.#send({ t: 'cancel', id: assignment.id });
  }

  /** Takes back the jobs that wait behind the occupant. */
  recall(): Job[] {
    const { occupant } = this;
    const back: Job[] = [];
    for (const assignment of [...this.jobs.values()]) {
      if (
        assignment === occupant ||
        assignment.waiting ||
        assignment.job.ended ||
        assignment.job.hostCalls > 0
      )
        continue;
      this.cancel(assignment);
      this.remove(assignment);
      back.push(assignment.job);
    }
    return back;
  }

  /** Drops what is kept under a key, or one that goes on behind it in another line. */
  release(key: string): void {
    for (const known of this.runs) {
      if (known !== key && !known.startsWith(`${key}\n`)) continue;
      this.runs.delete(known);
      this.#send({ t: 'release', key: known });
    }
  }

  remove(assignment: Assignment): void {
    clearTimeout(assignment.deadline);
    this.jobs.delete(assignment.id);
    if (this.jobs.size === 0) {
      this.idleSinceMs = performance.now();
      this.#hold(false);
    }
  }

  get retiring(): boolean {
    return this.retired !== undefined;
  }

  retire(why: EndReason): void {
    this.retired ??= why;
  }

  kill(why: EndReason): void {
    this.retire(why);
    this.killed ??= why;
    // The pool that closes waits for the last of these.
    this.#child.ref();
    this.#hold(true);
    (this.#child.stderr as { ref?: () => void } | null)?.ref?.();
    this.#child.kill('SIGKILL');
  }

  #send(order: ChildRequest): void {
    // A failed send means a dead process, whose exit is reported on its own.
    if (this.#child.connected) this.#child.send(order, () => undefined);
  }

  /** Whether this process keeps its host alive. */
  #hold(on: boolean): void {
    const channel = this.#child.channel as { ref(): void; unref(): void } | null | undefined;
    if (on || this.killed !== undefined) channel?.ref();
    else channel?.unref();
  }

  #receive(message: unknown): void {
    const report = readChildMessage(message);
    if (report === null) return this.#events.malformed(this);
    this.progressAtMs = performance.now();
    if (report.t === 'ready') {
      if (this.ready) return this.#events.malformed(this);
      this.ready = true;
      clearTimeout(this.#startTimer);
      this.snapshot = report.snapshot;
      this.idleSinceMs = performance.now();
      if (this.jobs.size === 0) this.#hold(false);
      return this.#events.ready(this);
    }
    const assignment = this.jobs.get(report.id);
    if (report.t === 'done') {
      this.#announced = report.next;
      this.rssMiB = report.rssMiB;
      this.served++;
      this.late = Math.max(0, this.late + (report.late ? 1 : -1));
    }
    if (assignment === undefined) return;
    if (report.t === 'enter') this.#announced = report.id;
    else if (report.t === 'waiting') this.#waits(assignment);
    else if (report.t === 'call') this.#events.call(this, assignment, report);
    else this.#events.done(this, assignment, report);
  }

  /** From its first waiting on a job's wall time stands alone. */
  #waits(assignment: Assignment): void {
    assignment.waiting = true;
    if (!assignment.isTimed) return;
    assignment.isTimed = false;
    const { wallMs, killGraceMs } = assignment.job.limits;
    this.extend(assignment, wallMs + killGraceMs);
  }

  #ask({ id, op, head, body }: Question): void {
    this.progressAtMs = performance.now();
    const assignment = this.jobs.get(id);
    if (assignment === undefined) return;
    this.#events.call(this, assignment, { t: 'call', id, call: WAITED, op, head, body });
  }

  #explain(code: number | null, signal: NodeJS.Signals | null): string {
    const memory = /heap out of memory|out of memory|is_heap_oom/i.test(this.#stderr);
    if (memory) return 'out of memory';
    const end = this.#late ?? (signal !== null ? `signal ${signal}` : `exit code ${String(code)}`);
    const said = this.ready || this.killed !== undefined ? '' : this.#stderr.trim().slice(0, 1_000);
    if (said !== '') tellHost(`A sandbox process did not start (${end}): ${said}`);
    return end;
  }

  #gone(why: string): void {
    if (this.dead) return;
    this.dead = true;
    clearTimeout(this.#startTimer);
    for (const { deadline } of this.jobs.values()) clearTimeout(deadline);
    this.#events.exit(this, why);
  }
}
