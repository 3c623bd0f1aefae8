import type { EndCode, Order, Report, RunOrder } from '../protocol.ts';
import { hash, random, readMessage, type GuestMessage } from './bridge.ts';
import type { Isolates, IsolateUser, Realm } from './isolates.ts';
import { locate } from './locate.ts';
import { Stdout } from './stdout.ts';

type Answer = Extract<Order, { t: 'answer' }>;

/** What a job needs of its process. */
export interface Floor {
  readonly isolates: Isolates;
  /** Milliseconds spent in guests since the process began. */
  busyMs: number;
  send(report: Report): void;
  /** Tells the supervisor whose code is about to run, where that is not known. */
  announce(id: number): void;
  ended(
    execution: Execution,
    report: Omit<Extract<Report, { t: 'done' }>, 't' | 'late' | 'next' | 'rssMiB'>,
  ): void;
}

const LIMIT_TEXT = {
  TIMEOUT_CPU: (ms: number) => `The code ran for more than its ${ms} ms of processor time.`,
  TIMEOUT_WALL: (ms: number) => `The code did not finish within ${ms} ms.`,
  OUT_OF_MEMORY: (mib: number) => `The code needs more than its ${mib} MiB of memory.`,
};

/** One job inside the process: its entries, budgets, timers and messages. */
export class Execution implements IsolateUser {
  readonly id: number;
  readonly #order: RunOrder;
  readonly #floor: Floor;
  readonly #realm: Realm;
  readonly #stdout: Stdout;
  readonly #timers = new Map<number, NodeJS.Timeout>();
  readonly #startedMs = performance.now();
  readonly #busyBeforeMs: number;
  #cpuMs = 0;
  #calls = 0;
  #messages = 0;
  #chars = 0;
  #wallTimer: NodeJS.Timeout | undefined;
  #end: { code: EndCode; text: string } | null = null;
  #inside = false;
  #spoiled = false;
  #reported = false;

  constructor(order: RunOrder, floor: Floor) {
    this.id = order.id;
    this.#order = order;
    this.#floor = floor;
    this.#busyBeforeMs = floor.busyMs;
    this.#stdout = new Stdout(order.limits.stdoutChars, order.limits.logLines);
    this.#realm = floor.isolates.lease(this, order.key, order.limits.memoryMiB);
    this.#realm.post = (text) => this.#receive(text);
  }

  /** The first entry: a job without waiting ends in it. */
  start(): void {
    this.#enter(['run', this.#order.mode, ...this.#order.args]);
    if (this.#reported) return;
    this.#floor.send({ t: 'waiting', id: this.id });
    this.#watchWall();
  }

  /** Delivers the host's answer to a call. */
  deliver(answer: Answer): void {
    const body =
      answer.body === null
        ? ''
        : Buffer.from(answer.body.buffer, answer.body.byteOffset, answer.body.byteLength).toString('latin1');
    if (!this.#charge(answer.head.length + body.length)) return this.#finish();
    this.#enter(['answer', answer.call, answer.ok, answer.head, body]);
  }

  /** Ends the job between two entries. */
  stop(code: EndCode, text: string): void {
    this.#set(code, text);
    this.#finish();
  }

  lost(): void {
    this.stop('LOST', 'Another block of the same run used up the memory they share.');
  }

  #enter(entry: (string | number | boolean)[]): void {
    if (this.#reported) return;
    const { cpuMs } = this.#order.limits;
    this.#floor.announce(this.id);
    const began = performance.now();
    this.#inside = true;
    try {
      this.#realm.enter(entry, Math.max(1, Math.ceil(cpuMs - this.#cpuMs)));
    } catch (error) {
      this.#blame(error, performance.now() - began);
    }
    this.#inside = false;
    const spentMs = performance.now() - began;
    this.#floor.busyMs += spentMs;
    this.#cpuMs += spentMs;
    if (this.#cpuMs >= cpuMs) this.#set('TIMEOUT_CPU', LIMIT_TEXT.TIMEOUT_CPU(cpuMs));
    if (this.#end !== null) this.#finish();
  }

  /** Finds out why an entry did not return: guest errors are caught inside, so these are limits. */
  #blame(error: unknown, spentMs: number): void {
    const { cpuMs, memoryMiB } = this.#order.limits;
    const message = String((error as Error | null)?.message);
    this.#spoiled = true;
    if (this.#realm.isolate.native.isDisposed)
      this.#set('OUT_OF_MEMORY', LIMIT_TEXT.OUT_OF_MEMORY(memoryMiB));
    else if (message.includes('timed out') && this.#cpuMs + spentMs >= cpuMs - 1)
      this.#set('TIMEOUT_CPU', LIMIT_TEXT.TIMEOUT_CPU(cpuMs));
    else
      this.#set(
        'GUEST_ERROR',
        JSON.stringify({
          phase: 'run',
          index: -1,
          name: 'RangeError',
          message: message.slice(0, 500),
          stack: '',
        }),
      );
  }

  /** The first reason counts. */
  #set(code: EndCode, text: string): void {
    this.#end ??= { code, text };
  }

  #watchWall(): void {
    const { wallMs } = this.#order.limits;
    const elapsed = performance.now() - this.#startedMs;
    // Time in which other jobs held the thread is not this job's.
    const stolen = this.#floor.busyMs - this.#busyBeforeMs - this.#cpuMs;
    const left = wallMs - (elapsed - stolen);
    if (left <= 0) return this.stop('TIMEOUT_WALL', LIMIT_TEXT.TIMEOUT_WALL(wallMs));
    this.#wallTimer = setTimeout(() => this.#watchWall(), Math.ceil(left));
  }

  #charge(chars: number): boolean {
    this.#chars += chars;
    if (this.#chars <= this.#order.limits.bridgeChars) return true;
    this.#set(
      'BRIDGE_LIMIT',
      `The code exchanged more than ${this.#order.limits.bridgeChars} characters with the host.`,
    );
    return false;
  }

  /** Takes one message of the guest; never throws, since an error would enter the guest. */
  #receive(text: unknown): string | number | undefined {
    if (this.#end !== null) return undefined;
    const message = readMessage(text);
    if (message === null) {
      this.#set('PROTOCOL', 'The guest sent a message that its plumbing never sends.');
      return undefined;
    }
    if (message.kind === 'log') {
      if (this.#stdout.add(message.line)) return undefined;
      this.#count(0);
      return 0;
    }
    // Results have a limit of their own, so that a failure names the right one.
    const own = message.kind === 'result' || message.kind === 'error';
    return this.#count(own ? 0 : (text as string).length) ? this.#act(message) : undefined;
  }

  #count(chars: number): boolean {
    if (++this.#messages > this.#order.limits.messages) {
      this.#set(
        'BRIDGE_LIMIT',
        `The code sent more than ${this.#order.limits.messages} messages to the host.`,
      );
      return false;
    }
    return this.#charge(chars);
  }

  #act(message: GuestMessage): string | undefined {
    const { limits } = this.#order;
    switch (message.kind) {
      case 'result':
        if (message.json.length <= limits.resultChars) this.#set('OK', message.json);
        else
          this.#set(
            'RESULT_TOO_LARGE',
            `The result has ${message.json.length} characters as JSON; ${limits.resultChars} are allowed.`,
          );
        return undefined;
      case 'error':
        this.#set('GUEST_ERROR', locate(message.json, this.#order, this.#realm.isolate.native));
        return undefined;
      case 'timer':
        this.#arm(message.id, message.ms);
        return undefined;
      case 'clear':
        clearTimeout(this.#timers.get(message.id));
        this.#timers.delete(message.id);
        return undefined;
      case 'call':
        this.#call(message);
        return undefined;
      case 'random':
        return this.#charge(message.bytes) ? random(message.bytes) : undefined;
      case 'hash':
        return hash(message);
      case 'log':
        return undefined;
    }
  }

  #arm(id: number, ms: number): void {
    const { timers, wallMs } = this.#order.limits;
    if (this.#timers.size >= timers) {
      this.#set('BRIDGE_LIMIT', `The code has more than ${timers} timers waiting.`);
      return;
    }
    clearTimeout(this.#timers.get(id));
    const due = (): void => {
      this.#timers.delete(id);
      this.#enter(['timer', id]);
    };
    // A timer past the deadline never fires; Node would take a delay that is too long for zero.
    this.#timers.set(id, setTimeout(due, Math.min(ms, wallMs + 1_000)));
  }

  #call(message: GuestMessage & { kind: 'call' }): void {
    if (++this.#calls > this.#order.limits.hostCalls) {
      this.#set('BRIDGE_LIMIT', `The code made more than ${this.#order.limits.hostCalls} calls to the host.`);
      return;
    }
    const body = message.body === null ? null : Buffer.from(message.body, 'latin1');
    this.#floor.send({
      t: 'call',
      id: this.id,
      call: message.call,
      op: message.op,
      head: message.head,
      body,
    });
  }

  #finish(): void {
    if (this.#end === null || this.#inside || this.#reported) return;
    this.#reported = true;
    clearTimeout(this.#wallTimer);
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#realm.post = () => undefined;
    const { code, text } = this.#end;
    const wallMs = performance.now() - this.#startedMs;
    this.#floor.ended(this, {
      id: this.id,
      code,
      text,
      stdout: this.#stdout.toString(),
      cpuMs: this.#cpuMs,
      wallMs,
    });
    this.#floor.isolates.giveBack(this, this.#realm, this.#spoiled);
  }
}
