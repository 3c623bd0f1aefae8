import type { EndCode, ChildRequest, RunRequest, ChildMessage } from '../protocol.ts';
import { hash, randomBinaryString, readMessage, type GuestMessage } from './bridge.ts';
import { LIMIT_MESSAGES } from './limit-messages.ts';
import type { Realm, RealmUser, Realms } from './realms.ts';
import { Stdout } from './stdout.ts';
import { callHostSync, sleepSync } from './wait.ts';

/** Services of the process for its jobs. */
export interface ProcessContext {
  readonly realms: Realms;
  /** Milliseconds spent in guests since the process started. */
  busyMs: number;
  send(message: ChildMessage): void;
  /** Tells the supervisor which job's code runs next, unless it already knows. */
  reportEntered(id: number): void;
  reportEnd(
    id: number,
    report: Omit<Extract<ChildMessage, { t: 'done' }>, 't' | 'waitedForContext' | 'next' | 'rssMiB'>,
  ): void;
}

/** The pending timers of one job. */
class JobTimers {
  readonly #timers = new Map<number, NodeJS.Timeout>();

  get size(): number {
    return this.#timers.size;
  }

  /** Calls `onFire` after `ms`. Replaces an earlier timer with the same id. */
  set(id: number, ms: number, onFire: () => void): void {
    clearTimeout(this.#timers.get(id));
    const fire = (): void => {
      this.#timers.delete(id);
      onFire();
    };
    this.#timers.set(id, setTimeout(fire, ms));
  }

  clear(id: number): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
  }

  clearAll(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}

type Answer = Extract<ChildRequest, { t: 'answer' }>;

/** Returns the name and message of a thrown value. */
const toErrorFields = (error: unknown): { name: string; message: string } => ({
  name: String((error as Error | null)?.name).slice(0, 100),
  message: String((error as Error | null)?.message).slice(0, 500),
});

/** The maximum delay of Node's timers, 24 days. Timers with a longer delay would fire immediately. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The response to messages after the job has ended. The guest runtime does not pass it to user code. */
const ENDED_RESPONSE = -1;

/**
 * One job inside the process: its budgets, timers and messages, and its invocations. An invocation is one call from the
 * process into the guest, which runs code of the job.
 */
export class Execution implements RealmUser {
  readonly id: number;
  /** True if the realm was ready before the job arrived. */
  readonly isPrebuilt: boolean;
  readonly #request: RunRequest;
  readonly #context: ProcessContext;
  readonly #realm: Realm;
  readonly #stdout: Stdout;
  readonly #timers = new JobTimers();
  readonly #startedAtMs = performance.now();
  readonly #initialBusyMs: number;
  #cpuMs = 0;
  /** Time within the current invocation in which the code did not run, in milliseconds. */
  #waitedMs = 0;
  #callCount = 0;
  /** Calls that are not answered yet. */
  #pendingCalls = 0;
  #messageCount = 0;
  #exchangedChars = 0;
  #wallTimer: NodeJS.Timeout | undefined;
  #end: { code: EndCode; text: string } | undefined;
  #isInInvocation = false;
  #isTainted = false;
  #isReported = false;

  constructor(request: RunRequest, context: ProcessContext) {
    this.id = request.id;
    this.#request = request;
    this.#context = context;
    this.#initialBusyMs = context.busyMs;
    this.#stdout = new Stdout(request.limits.stdoutChars, request.limits.logLines);
    this.#realm = context.realms.lease(this, request.key, request.limits.memoryMiB);
    this.isPrebuilt = this.#realm.isPrebuilt;
    this.#realm.onGuestMessage = (text) => this.#receive(text);
  }

  /** Makes the first invocation. A job that does not wait ends in it. */
  start(): void {
    this.#enter(['run', this.#request.mode, ...this.#request.args]);
    if (this.#isReported) return;
    this.#context.send({ t: 'waiting', id: this.id });
    this.#watchWallTime();
  }

  /** Delivers the host's answer to a call. */
  deliver(answer: Answer): void {
    this.#pendingCalls--;
    const body =
      answer.body === null
        ? ''
        : Buffer.from(answer.body.buffer, answer.body.byteOffset, answer.body.byteLength).toString('latin1');
    if (!this.#countChars(answer.head.length + body.length)) return this.#finish();
    this.#enter(['answer', answer.call, answer.ok, answer.head, body]);
  }

  /** Ends the job between two invocations. */
  stop(code: EndCode, text: string): void {
    this.#setEnd(code, text);
    this.#finish();
  }

  onIsolateDestroyed(): void {
    this.stop('LOST', 'Another block of the same run used up the memory they share.');
  }

  #enter(invocation: (string | number | boolean)[]): void {
    if (this.#isReported) return;
    const { cpuMs } = this.#request.limits;
    this.#context.reportEntered(this.id);
    const startMs = performance.now();
    this.#isInInvocation = true;
    try {
      this.#realm.enter(invocation, Math.max(1, Math.ceil(cpuMs - this.#cpuMs)));
    } catch (error) {
      this.#setErrorEnd(error, performance.now() - startMs - this.#waitedMs);
    }
    this.#isInInvocation = false;
    const spentMs = performance.now() - startMs - this.#waitedMs;
    this.#waitedMs = 0;
    this.#context.busyMs += spentMs;
    this.#cpuMs += spentMs;
    if (this.#cpuMs >= cpuMs) this.#setEnd('TIMEOUT_CPU', LIMIT_MESSAGES.TIMEOUT_CPU(cpuMs));
    if (this.#end !== undefined) this.#finish();
  }

  /**
   * Sets the end of the job for an invocation that threw. The guest catches its own errors, so this is a limit or an
   * error from an abandoned promise.
   */
  #setErrorEnd(error: unknown, spentMs: number): void {
    const { cpuMs } = this.#request.limits;
    const { name, message } = toErrorFields(error);
    this.#isTainted = true;
    if (this.#realm.isDisposed)
      this.#setEnd('OUT_OF_MEMORY', LIMIT_MESSAGES.OUT_OF_MEMORY(this.#realm.memoryMiB));
    else if (message.includes('timed out') && this.#cpuMs + spentMs >= cpuMs - 1)
      this.#setEnd('TIMEOUT_CPU', LIMIT_MESSAGES.TIMEOUT_CPU(cpuMs));
    else this.#setEnd('GUEST_ERROR', JSON.stringify({ phase: 'run', index: -1, name, message, stack: '' }));
  }

  /** Sets the end of the job; the first reason wins. */
  #setEnd(code: EndCode, text: string): void {
    this.#end ??= { code, text };
  }

  #remainingWallMs(): number {
    const elapsedMs = performance.now() - this.#startedAtMs;
    // Time in which other jobs held the thread does not count for this job.
    const otherJobsMs = this.#context.busyMs - this.#initialBusyMs - this.#cpuMs;
    return this.#request.limits.wallMs - (elapsedMs - otherJobsMs);
  }

  #watchWallTime(): void {
    const { wallMs } = this.#request.limits;
    const remainingMs = this.#remainingWallMs();
    if (remainingMs <= 0) return this.stop('TIMEOUT_WALL', LIMIT_MESSAGES.TIMEOUT_WALL(wallMs));
    this.#wallTimer = setTimeout(() => this.#watchWallTime(), Math.ceil(remainingMs));
  }

  /** Waits inside an invocation. If the job ends in the meantime, its code is interrupted. */
  #wait(work: () => string | undefined): string | undefined {
    const startMs = performance.now();
    const response = work();
    this.#waitedMs += performance.now() - startMs;
    const { wallMs } = this.#request.limits;
    if (this.#remainingWallMs() <= 0) this.#setEnd('TIMEOUT_WALL', LIMIT_MESSAGES.TIMEOUT_WALL(wallMs));
    if (this.#end === undefined) return response;
    this.#realm.interrupt();
    return undefined;
  }

  #callSync(message: GuestMessage & { kind: 'sync' }): string | undefined {
    if (!this.#countCall()) return undefined;
    const answer = callHostSync(message, this.id);
    return this.#countChars(answer.length) ? answer : undefined;
  }

  /** Counts characters exchanged with the host. Returns false, and ends the job, if they exceed the limit. */
  #countChars(chars: number): boolean {
    this.#exchangedChars += chars;
    if (this.#exchangedChars <= this.#request.limits.bridgeChars) return true;
    this.#setEnd(
      'BRIDGE_LIMIT',
      `The code exchanged more than ${this.#request.limits.bridgeChars} characters with the host.`,
    );
    return false;
  }

  /** Handles one guest message. Never throws, since the error would enter the guest. */
  #receive(text: unknown): string | number | undefined {
    if (this.#end !== undefined) return ENDED_RESPONSE;
    const message = readMessage(text);
    if (message === undefined) {
      this.#setEnd('PROTOCOL', 'The guest sent a message that the guest runtime never sends.');
      return undefined;
    }
    if (message.kind === 'log') {
      if (this.#stdout.add(message.line)) return undefined;
      this.#countMessage(0);
      return 0;
    }
    // Results have a separate limit, so that the failure names the correct limit.
    const isEnd = message.kind === 'result' || message.kind === 'error';
    return this.#countMessage(isEnd ? 0 : (text as string).length) ? this.#handle(message) : undefined;
  }

  #countMessage(chars: number): boolean {
    if (++this.#messageCount > this.#request.limits.messages) {
      this.#setEnd(
        'BRIDGE_LIMIT',
        `The code sent more than ${this.#request.limits.messages} messages to the host.`,
      );
      return false;
    }
    return this.#countChars(chars);
  }

  #handle(message: GuestMessage): string | undefined {
    switch (message.kind) {
      case 'sync':
        return this.#wait(() => this.#callSync(message));
      case 'sleep':
        return this.#wait(() => sleepSync(Math.min(message.ms, this.#remainingWallMs())));
      case 'random':
        return this.#countChars(message.byteCount) ? randomBinaryString(message.byteCount) : undefined;
      case 'hash':
        return hash(message);
      case 'chunk':
        return this.#context.realms.chunks.get(message.name);
      default:
        this.#handleOneWay(message);
        return undefined;
    }
  }

  /** Handles a message without a response. The answer to a host call is delivered in a later invocation. */
  #handleOneWay(message: GuestMessage): void {
    switch (message.kind) {
      case 'result':
        return this.#succeed(message.json);
      case 'error':
        return this.#setEnd('GUEST_ERROR', this.#realm.addErrorDetails(message.json, this.#request));
      case 'timer':
        return this.#setTimer(message.id, message.ms);
      case 'clear':
        return this.#timers.clear(message.id);
      case 'call':
        return this.#call(message);
      case 'taint':
        this.#isTainted = true;
        return undefined;
      default:
        return undefined;
    }
  }

  #succeed(json: string): void {
    const { resultChars } = this.#request.limits;
    if (json.length <= resultChars) this.#setEnd('OK', json);
    else
      this.#setEnd(
        'RESULT_TOO_LARGE',
        `The result has ${json.length} characters as JSON; ${resultChars} are allowed.`,
      );
  }

  #setTimer(id: number, ms: number): void {
    const { timers } = this.#request.limits;
    if (this.#timers.size >= timers) {
      this.#setEnd('BRIDGE_LIMIT', `The code has more than ${timers} pending timers.`);
      return;
    }
    // Not capped at the job's time limit: the limit grows while other jobs hold the thread, and then the timer would
    // fire before the limit.
    this.#timers.set(id, Math.min(ms, MAX_DELAY_MS), () => this.#enter(['timer', id]));
  }

  #countCall(): boolean {
    const { hostCalls } = this.#request.limits;
    if (++this.#callCount <= hostCalls) return true;
    this.#setEnd('BRIDGE_LIMIT', `The code made more than ${hostCalls} calls to the host.`);
    return false;
  }

  #call(message: GuestMessage & { kind: 'call' }): void {
    if (!this.#countCall()) return;
    this.#pendingCalls++;
    const body = message.body === undefined ? null : Buffer.from(message.body, 'latin1');
    this.#context.send({
      t: 'call',
      id: this.id,
      call: message.callId,
      op: message.op,
      head: message.head,
      body,
    });
  }

  #finish(): void {
    if (this.#end === undefined || this.#isInInvocation || this.#isReported) return;
    this.#isReported = true;
    // Callbacks still pending for this job must not run during another job.
    const hasPendingCallbacks = this.#timers.size > 0 || this.#pendingCalls > 0;
    const isRegularEnd = this.#end.code === 'OK' || this.#end.code === 'GUEST_ERROR';
    if (hasPendingCallbacks || !isRegularEnd) this.#isTainted ||= this.#realm.isShared;
    clearTimeout(this.#wallTimer);
    this.#timers.clearAll();
    this.#realm.onGuestMessage = () => undefined;
    const { code, text } = this.#end;
    const wallMs = performance.now() - this.#startedAtMs;
    this.#context.reportEnd(this.id, {
      id: this.id,
      code,
      text,
      stdout: this.#stdout.toString(),
      cpuMs: this.#cpuMs,
      wallMs,
    });
    this.#context.realms.endLease(this, this.#realm, this.#isTainted);
  }
}
