import type { EndCode, ChildRequest, RunRequest } from '../protocol.ts';
import { hash, random, readMessage, type GuestMessage } from './bridge.ts';
import type { ProcessContext } from './process-context.ts';
import { LIMIT_TEXT } from './limit-text.ts';
import type { Realm, RealmUser } from './realms.ts';
import { Stdout } from './stdout.ts';
import { ask, pause } from './wait.ts';

/** The timers of one job. */
class Alarms {
  readonly #timers = new Map<number, NodeJS.Timeout>();

  get size(): number {
    return this.#timers.size;
  }

  /** Has `due` called later; in place of an earlier one with the id. */
  set(id: number, ms: number, due: () => void): void {
    clearTimeout(this.#timers.get(id));
    const fire = (): void => {
      this.#timers.delete(id);
      due();
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

/** What an entry threw, as text. */
const asError = (error: unknown): { name: string; message: string } => ({
  name: String((error as Error | null)?.name).slice(0, 100),
  message: String((error as Error | null)?.message).slice(0, 500),
});

/** The answer to messages after the end, which the guest's plumbing then keeps to itself. */
const ENDED = -1;

/** One job inside the process: its entries, budgets, timers and messages. */
export class Execution implements RealmUser {
  readonly id: number;
  /** Whether nothing had to be made for it. */
  readonly isAhead: boolean;
  readonly #order: RunRequest;
  readonly #context: ProcessContext;
  readonly #realm: Realm;
  readonly #stdout: Stdout;
  readonly #alarms = new Alarms();
  readonly #startedMs = performance.now();
  readonly #busyBeforeMs: number;
  #cpuMs = 0;
  /** Time of the entry that is under way in which its code did not run. */
  #waitedMs = 0;
  #calls = 0;
  /** Calls without an answer yet. */
  #open = 0;
  #messages = 0;
  #chars = 0;
  #wallTimer: NodeJS.Timeout | undefined;
  #end: { code: EndCode; text: string } | null = null;
  #inside = false;
  #tainted = false;
  #reported = false;

  constructor(order: RunRequest, context: ProcessContext) {
    this.id = order.id;
    this.#order = order;
    this.#context = context;
    this.#busyBeforeMs = context.busyMs;
    this.#stdout = new Stdout(order.limits.stdoutChars, order.limits.logLines);
    this.#realm = context.realms.lease(this, order.key, order.limits.memoryMiB);
    this.isAhead = this.#realm.isAhead;
    this.#realm.post = (text) => this.#receive(text);
  }

  /** The first entry: a job without waiting ends in it. */
  start(): void {
    this.#enter(['run', this.#order.mode, ...this.#order.args]);
    if (this.#reported) return;
    this.#context.send({ t: 'waiting', id: this.id });
    this.#watchWall();
  }

  /** Delivers the host's answer to a call. */
  deliver(answer: Answer): void {
    this.#open--;
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
    this.#context.announce(this.id);
    const began = performance.now();
    this.#inside = true;
    try {
      this.#realm.enter(entry, Math.max(1, Math.ceil(cpuMs - this.#cpuMs)));
    } catch (error) {
      this.#blame(error, performance.now() - began - this.#waitedMs);
    }
    this.#inside = false;
    const spentMs = performance.now() - began - this.#waitedMs;
    this.#waitedMs = 0;
    this.#context.busyMs += spentMs;
    this.#cpuMs += spentMs;
    if (this.#cpuMs >= cpuMs) this.#set('TIMEOUT_CPU', LIMIT_TEXT.TIMEOUT_CPU(cpuMs));
    if (this.#end !== null) this.#finish();
  }

  /** Finds out why an entry did not return: guest errors are caught inside, so these are limits, or of promises left behind. */
  #blame(error: unknown, spentMs: number): void {
    const { cpuMs } = this.#order.limits;
    const { name, message } = asError(error);
    this.#tainted = true;
    if (this.#realm.isGone) this.#set('OUT_OF_MEMORY', LIMIT_TEXT.OUT_OF_MEMORY(this.#realm.memoryMiB));
    else if (message.includes('timed out') && this.#cpuMs + spentMs >= cpuMs - 1)
      this.#set('TIMEOUT_CPU', LIMIT_TEXT.TIMEOUT_CPU(cpuMs));
    else this.#set('GUEST_ERROR', JSON.stringify({ phase: 'run', index: -1, name, message, stack: '' }));
  }

  /** The first reason counts. */
  #set(code: EndCode, text: string): void {
    this.#end ??= { code, text };
  }

  #wallLeft(): number {
    const elapsed = performance.now() - this.#startedMs;
    // Time in which other jobs held the thread is not this job's.
    const stolen = this.#context.busyMs - this.#busyBeforeMs - this.#cpuMs;
    return this.#order.limits.wallMs - (elapsed - stolen);
  }

  #watchWall(): void {
    const { wallMs } = this.#order.limits;
    const left = this.#wallLeft();
    if (left <= 0) return this.stop('TIMEOUT_WALL', LIMIT_TEXT.TIMEOUT_WALL(wallMs));
    this.#wallTimer = setTimeout(() => this.#watchWall(), Math.ceil(left));
  }

  /** Waits inside an entry. Where the job ends meanwhile, its code is not gone on with. */
  #wait(work: () => string | undefined): string | undefined {
    const began = performance.now();
    const answer = work();
    this.#waitedMs += performance.now() - began;
    const { wallMs } = this.#order.limits;
    if (this.#wallLeft() <= 0) this.#set('TIMEOUT_WALL', LIMIT_TEXT.TIMEOUT_WALL(wallMs));
    if (this.#end === null) return answer;
    this.#realm.interrupt();
    return undefined;
  }

  #ask(message: GuestMessage & { kind: 'sync' }): string | undefined {
    if (!this.#countCall()) return undefined;
    const answer = ask(message, this.id);
    return this.#charge(answer.length) ? answer : undefined;
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
    if (this.#end !== null) return ENDED;
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
    switch (message.kind) {
      case 'sync':
        return this.#wait(() => this.#ask(message));
      case 'sleep':
        return this.#wait(() => pause(Math.min(message.ms, this.#wallLeft())));
      case 'random':
        return this.#charge(message.bytes) ? random(message.bytes) : undefined;
      case 'hash':
        return hash(message);
      case 'part':
        return this.#context.realms.parts.get(message.name);
      default:
        this.#note(message);
        return undefined;
    }
  }

  /** Takes a message that has no answer, or has it in a later entry. */
  #note(message: GuestMessage): void {
    switch (message.kind) {
      case 'result':
        return this.#succeed(message.json);
      case 'error':
        return this.#set('GUEST_ERROR', this.#realm.locate(message.json, this.#order));
      case 'timer':
        return this.#arm(message.id, message.ms);
      case 'clear':
        return this.#alarms.clear(message.id);
      case 'call':
        return this.#call(message);
      case 'taint':
        this.#tainted = true;
        return undefined;
      default:
        return undefined;
    }
  }

  #succeed(json: string): void {
    const { resultChars } = this.#order.limits;
    if (json.length <= resultChars) this.#set('OK', json);
    else
      this.#set(
        'RESULT_TOO_LARGE',
        `The result has ${json.length} characters as JSON; ${resultChars} are allowed.`,
      );
  }

  #arm(id: number, ms: number): void {
    const { timers, wallMs } = this.#order.limits;
    if (this.#alarms.size >= timers) {
      this.#set('BRIDGE_LIMIT', `The code has more than ${timers} timers waiting.`);
      return;
    }
    // A timer past the deadline never fires; Node would take a delay that is too long for zero.
    this.#alarms.set(id, Math.min(ms, wallMs + 1_000), () => this.#enter(['timer', id]));
  }

  #countCall(): boolean {
    const { hostCalls } = this.#order.limits;
    if (++this.#calls <= hostCalls) return true;
    this.#set('BRIDGE_LIMIT', `The code made more than ${hostCalls} calls to the host.`);
    return false;
  }

  #call(message: GuestMessage & { kind: 'call' }): void {
    if (!this.#countCall()) return;
    this.#open++;
    const body = message.body === null ? null : Buffer.from(message.body, 'latin1');
    this.#context.send({
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
    // What was to come later for this job must not come to another one.
    const isLeft = this.#alarms.size > 0 || this.#open > 0;
    const isWhole = this.#end.code === 'OK' || this.#end.code === 'GUEST_ERROR';
    if (isLeft || !isWhole) this.#tainted ||= this.#realm.isShared;
    clearTimeout(this.#wallTimer);
    this.#alarms.clearAll();
    this.#realm.post = () => undefined;
    const { code, text } = this.#end;
    const wallMs = performance.now() - this.#startedMs;
    this.#context.ended(this.id, {
      id: this.id,
      code,
      text,
      stdout: this.#stdout.toString(),
      cpuMs: this.#cpuMs,
      wallMs,
    });
    this.#context.realms.giveBack(this, this.#realm, this.#tainted);
  }
}
