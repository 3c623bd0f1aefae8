import { eventAt, isPending, placeKey } from '@heddle/core/run';
import type { BlockLog, Command, Entry, EntryBody, Event, Place, Replica } from '@heddle/core/run';
import type { ChildOutcome, ChildRequest } from '../../executors/services.ts';
import type { RunEnvironment } from '../../execution/run-environment.ts';
import type { Job } from '../../execution/job.ts';
import { Performer } from '../../execution/command-executor.ts';
import { reachOf } from '../../execution/block-services.ts';
import type { RuntimeParts } from '../../execution/runtime-parts.ts';
import { randomToken, tokenOf } from '../../execution/tokens.ts';
import type { Calls, ChildCalled } from './child-calls.ts';
import type { Follower } from './follower.ts';
import type { Timed } from './position.ts';

/** Entries of one segment: what comes of it travels as one message. */
const MOST_ENTRIES = 1000;

type Run = Extract<Command, { type: 'run' }>;

/** A command to carry out; `dueMs`: when the block's time is up. */
export type Owed = (Run & { dueMs?: number }) | Extract<Command, { type: 'expand' }>;

/** What a segment has come to: entries in the order in which they happened, with the machine's events for them. */
export interface Happening {
  entries: Timed[];
  events: Event[];
  /** Blocks that wait for a child run. */
  calls: ChildCalled[];
  /** Logs of blocks that have changed. */
  logs: BlockLog[];
}

interface SegmentParts {
  runtime: RuntimeParts;
  gate: Parameters<typeof reachOf>[1]['gate'];
  calls: Calls;
  follower: Follower;
  environment: RunEnvironment;
  /** True: goes on over every block that code can run here. False: carries out what it is given, and no more. */
  beyond: boolean;
  /** Milliseconds after which nothing new begins. */
  softMs: number;
  /** Told of all entries so far. */
  progress?: ((entries: readonly Timed[]) => void) | undefined;
}

/** A stretch of a run that is run in one go, while another place keeps the run. */
export class Segment {
  private entries: Timed[] = [];
  private events: Event[] = [];
  private logs: BlockLog[] = [];
  private called: ChildCalled[] = [];
  private readonly parts: SegmentParts;
  private readonly replica: Replica;
  private readonly performer: Performer;
  private readonly inbox: EntryBody[] = [];
  /** Places of blocks that run here. */
  private readonly own = new Set<string>();
  private taking = false;
  /** While an earlier try is replayed: what it has led to. */
  private replayed: Command[] | undefined;
  /** By the machine's own clock: how long this process works has nothing to do with the time of runs. */
  private begunMs = performance.now();
  private fault: { error: unknown } | undefined;
  /** Nothing more comes of it. */
  private ended = false;
  private cut: () => void = () => undefined;

  constructor(parts: SegmentParts) {
    this.parts = parts;
    const { follower, runtime, gate, environment } = parts;
    this.replica = follower.replica;
    const { header, plan } = follower;
    const { clock, values } = runtime;
    this.performer = new Performer({
      replica: this.replica,
      workflowId: header.workflowId,
      clock,
      values,
      environment,
      gate,
      // Where the answer of a try is lost on its way, the try runs again: a person may have its token already.
      token: (place, attempt) =>
        header.tokenKey === undefined ? randomToken() : tokenOf(header.tokenKey, place, attempt),
      ...reachOf(runtime, {
        header,
        plan,
        environment,
        replica: () => this.replica,
        gate,
        child: (request, place, job) => this.call(request, place, job),
      }),
      post: (body) => this.post(body),
      broken: (error) => this.break(error),
    });
  }

  /**
   * Carries out `owed` and what follows, until everything has ended that runs here, or `cut` is aborted: what runs then
   * goes on until `halt`, and is owed still. Returns what has happened since the last call. Throws what stands against
   * the run.
   */
  async run(owed: readonly Owed[], cut: AbortSignal): Promise<Happening> {
    this.begunMs = performance.now();
    const stopped = new Promise<void>((resolve) => {
      this.cut = resolve;
      if (cut.aborted || this.ended) resolve();
      else cut.addEventListener('abort', () => resolve(), { once: true });
    });
    if (!cut.aborted) this.beginAll(this.left(owed));
    await Promise.race([stopped, this.performer.drained()]);
    if (this.fault) throw this.fault.error;
    const { entries, events, called: calls, logs } = this;
    [this.entries, this.events, this.called, this.logs] = [[], [], [], []];
    return { entries, events, calls, logs };
  }

  /** Takes in what an earlier try of this segment has done; nothing of it runs again. */
  replay(entries: readonly Timed[]): void {
    this.replayed = [];
    for (const { atMs, ...body } of entries) {
      if (!('block' in body) || body.block === undefined) continue;
      this.own.add(placeKey(body as Place));
      this.take(body, atMs);
    }
  }

  /** Of `owed`, and of what followed in an earlier try, what is owed still. */
  private left(owed: readonly Owed[]): readonly Owed[] {
    const { replayed } = this;
    if (!replayed) return owed;
    this.replayed = undefined;
    const mine = replayed.filter((command) => this.isMine(command)) as Owed[];
    const { plan, state } = this.replica;
    return [...owed, ...mine].filter((command) => isPending(plan.skeleton, state, command));
  }

  /** Stops what runs: its answers count no more. */
  halt(): void {
    this.performer.halt(new Error('The segment has ended.'));
  }

  private runs({ at }: Owed): boolean {
    return this.own.has(placeKey(this.replica.index.placeOf(at)));
  }

  /** All of them begin before what comes of the first is taken in: as where a run is kept in one process. */
  private beginAll(commands: readonly Owed[]): void {
    this.taking = true;
    for (const command of commands) if (!this.runs(command)) this.begin(command);
    this.takeAll();
  }

  private begin(command: Owed): void {
    this.own.add(placeKey(this.replica.index.placeOf(command.at)));
    if (command.type === 'run' && command.dueMs !== undefined) {
      const { at, dueMs } = command;
      this.performer.perform({ type: 'timer', at, timer: 'timeout', dueMs, try: command.try });
    }
    this.performer.perform(command);
  }

  private post(body: EntryBody): void {
    this.inbox.push(body);
    if (!this.taking) this.takeAll();
  }

  private takeAll(): void {
    this.taking = true;
    try {
      for (let next; (next = this.inbox.shift());) this.take(next);
    } catch (error) {
      this.break(error);
    }
    this.taking = false;
  }

  private take(body: EntryBody, atMs = this.parts.runtime.clock.now()): void {
    const place = 'block' in body && body.block !== undefined ? (body as Place) : undefined;
    if (!place || !this.own.delete(placeKey(place))) return;
    const commands = this.parts.beyond ? this.advance(body, atMs) : this.alone(body, place);
    if (!commands) return;
    this.entries.push({ ...body, atMs });
    this.parts.progress?.(this.entries);
    const { block, scope } = place;
    const entry = { seq: 0, atMs, ...body } as Parameters<typeof eventAt>[0];
    this.events.push(eventAt(entry, this.replica.index.addressOf(block, scope)));
    this.performer.finished(place);
    for (const command of commands) this.follow(command);
  }

  /** The machine's own answer to `body`; undefined when it comes too late. */
  private advance(body: EntryBody, atMs: number): Command[] | undefined {
    const entry: Entry = { seq: this.replica.seq + 1, atMs, ...body };
    const applied = this.replica.apply(entry);
    for (const log of applied.logs) this.logs.push(log);
    return applied.changed ? applied.commands : undefined;
  }

  /** Without the machine, only the block's own time is looked to. */
  private alone(body: EntryBody, { block, scope }: Place): Command[] {
    if (body.type !== 'fired') return [];
    return [{ type: 'abort', at: this.replica.index.addressOf(block, scope), why: 'timeout' }];
  }

  private follow(command: Command): void {
    if (command.type === 'end') this.finish();
    else if (command.type === 'abort') {
      this.own.delete(placeKey(this.replica.index.placeOf(command.at)));
      this.performer.perform(command);
    } else if (command.type === 'timer') this.time(command);
    else if (this.replayed) this.replayed.push(command);
    else if (this.isMine(command) && this.hasTime()) this.begin(command as Owed);
  }

  /** The time of a block is looked to where it runs; all other times are somebody else's. */
  private time(command: Extract<Command, { type: 'timer' }>): void {
    if (command.timer !== 'timeout') return;
    if (this.own.has(placeKey(this.replica.index.placeOf(command.at)))) this.performer.perform(command);
  }

  private isMine(command: Command): boolean {
    if (command.type === 'run') return this.replica.index.node(command.at).class !== 'effect';
    return command.type === 'expand';
  }

  private hasTime(): boolean {
    return this.entries.length < MOST_ENTRIES && performance.now() - this.begunMs < this.parts.softMs;
  }

  /** A child that has ended is read; one that has not is left to whoever keeps the run. */
  private async call(request: ChildRequest, place: Place, job: Job): Promise<ChildOutcome> {
    const { calls, follower } = this.parts;
    const child = { place, attempt: job.attempt };
    const known = await calls.outcome(follower.header, child);
    if (known) return known;
    const at = this.replica.index.addressOf(place.block, place.scope);
    this.called.push({
      at,
      try: job.attempt,
      ...(await calls.record(follower.header, { ...child, request })),
    });
    job.waitForChild();
    return new Promise((_, reject) => {
      const stop = (): void => reject(job.signal.reason as Error);
      if (job.signal.aborted) stop();
      else job.signal.addEventListener('abort', stop, { once: true });
    });
  }

  private finish(): void {
    this.ended = true;
    this.cut();
  }

  private break(error: unknown): void {
    this.fault ??= { error };
    this.finish();
  }
}
