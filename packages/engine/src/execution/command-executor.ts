import type { BlockConfig, BlockResult, JsonObject } from '@heddle/core/blocks';
import { placeKey } from '@heddle/core/run';
import type { Command, EntryBody, Place, Stored } from '@heddle/core/run';
import { expandContainer } from '../executors/container.ts';
import { createBlockContext } from '../executors/context.ts';
import { answerOf } from './answer.ts';
import { Attempt } from './attempt.ts';
import { failureOf } from './failure.ts';
import { causeOf, Fault, storing } from '../records/infrastructure-error.ts';
import { Job } from './job.ts';
import type { PerformerParts } from './performer-parts.ts';
import { Reader } from './reference-resolver.ts';
import { Timers } from './timers.ts';

type RunCommand = Extract<Command, { type: 'run' }>;
type ExpandCommand = Extract<Command, { type: 'expand' }>;
type TimerCommand = Extract<Command, { type: 'timer' }>;

/** The input of a block that has read no field. It is part of every journal: nobody may change it. */
const READ_NOTHING: Stored = Object.freeze({ v: Object.freeze({}) as JsonObject });

/** Carries out the commands of one run: executors, timers, aborts. Answers come back as entries. */
export class Performer {
  private readonly parts: PerformerParts;
  private readonly timers: Timers;
  private readonly jobs = new Map<string, Job>();
  private readonly drains: (() => void)[] = [];
  private retired = false;

  constructor(parts: PerformerParts) {
    this.parts = parts;
    this.timers = new Timers(parts.clock);
  }

  perform(command: Command): void {
    if (command.type === 'abort') this.abort(command.at, command.why);
    else if (command.type === 'end') this.timers.clear();
    else if (this.retired) return;
    else if (command.type === 'run') this.run(command);
    else if (command.type === 'expand') void this.expand(command);
    else if (command.type === 'timer') this.setTimer(command);
  }

  /** A try is over: its time-out need not fire. */
  finished(place: Place): void {
    if (this.timers.size > 0) this.timers.cancel(`timeout:${placeKey(place)}`);
  }

  /** Nothing is under way and nothing will fire. */
  get idle(): boolean {
    return this.jobs.size === 0 && this.timers.size === 0;
  }

  /** Begins nothing new: commands are left to the next start. What is under way goes on. */
  retire(): void {
    this.retired = true;
    this.timers.clear();
  }

  /** Resolves when what was under way has ended; children go on by themselves and are not waited for. */
  drained(): Promise<void> {
    return this.draining() ? new Promise((resolve) => this.drains.push(resolve)) : Promise.resolve();
  }

  /** Stops what is under way, for `reason`: nobody waits for its answers. */
  halt(reason: Error): void {
    this.retire();
    for (const job of this.jobs.values()) job.stop(reason);
    this.jobs.clear();
    this.tellDrained();
  }

  private draining(): boolean {
    return [...this.jobs.values()].some((job) => !job.waits);
  }

  private tellDrained(): void {
    if (this.drains.length > 0 && !this.draining()) for (const drained of this.drains.splice(0)) drained();
  }

  private begin(id: string, job: Job): Job {
    this.jobs.set(id, job);
    return job;
  }

  private end(id: string, job: Job): void {
    if (this.jobs.get(id) === job) this.jobs.delete(id);
    this.tellDrained();
  }

  private abort(at: readonly number[], why: string): void {
    const id = placeKey(this.parts.replica.index.placeOf(at));
    if (this.timers.size > 0)
      for (const timer of ['timeout', 'retry', 'wait']) this.timers.cancel(`${timer}:${id}`);
    this.jobs.get(id)?.stop(new Error(`The block was stopped: ${why}.`));
    this.jobs.delete(id);
  }

  private setTimer({ at, timer, dueMs, try: attempt }: TimerCommand): void {
    const branch = at.length > 0 && at.length % 2 === 0 ? at[at.length - 1] : undefined;
    const node = branch === undefined ? at : at.slice(0, -1);
    const place = node.length > 0 ? this.parts.replica.index.placeOf(node) : undefined;
    const name = `${timer}:${place ? placeKey(place) : ''}${branch === undefined ? '' : `#${branch}`}`;
    this.timers.set(name, dueMs, () => {
      this.parts.post({
        type: 'fired',
        timer,
        ...place,
        ...(branch !== undefined && { branch }),
        ...(attempt !== undefined && { try: attempt }),
      });
    });
  }

  /** Never throws. Most blocks answer at once: only one that does not costs a promise. */
  private run(command: RunCommand): void {
    const { replica } = this.parts;
    const place = replica.index.placeOf(command.at);
    const job = new Job(command.try, () => this.tellDrained());
    const attempt = new Attempt(this.parts, command, place, job);
    try {
      const preparing = this.prepare(attempt.lookup, place);
      const answer = preparing ? preparing.then(() => this.answer(attempt)) : this.answer(attempt);
      if (answer instanceof Promise) void this.wait(attempt, answer);
      else if (answer) this.parts.post(answer);
    } catch (error) {
      void this.failed(attempt, error);
    }
  }

  /** Fetches what the block reads; undefined when there is nothing to wait for. */
  private prepare(reader: Reader, place: Place): Promise<unknown> | undefined {
    const fetching = reader.prepare(this.parts);
    const refreshing = this.parts.environment.refresh(place.block);
    if (!fetching && !refreshing) return undefined;
    return Promise.all([fetching && storing(() => fetching), refreshing]);
  }

  /** Until then the block is under way. Never rejects. */
  private async wait(attempt: Attempt, answer: Promise<EntryBody | undefined>): Promise<void> {
    const id = placeKey(attempt.place);
    this.begin(id, attempt.job);
    try {
      const body = await answer;
      if (body) this.parts.post(body);
    } catch (error) {
      await this.failed(attempt, error);
    } finally {
      this.end(id, attempt.job);
    }
  }

  private async failed(attempt: Attempt, error: unknown): Promise<void> {
    const { place, job, startedMs, try: nth, input = {} } = attempt;
    const id = placeKey(place);
    this.begin(id, job);
    if (!job.stopped) await this.fail(error, { ...place, try: nth, startedMs }, input);
    this.end(id, job);
  }

  /** The entry for what the block's executor says; undefined when nobody wants to know any more. */
  private answer(attempt: Attempt): EntryBody | undefined | Promise<EntryBody | undefined> {
    const { block, place } = attempt;
    const executor = this.parts.executorOf(block, () => this.parts.replica.logs.nth(place));
    const context = createBlockContext(attempt);
    const running =
      executor.class === 'effect'
        ? this.gated(attempt, async () => executor.execute(context))
        : executor.execute(context);
    return running instanceof Promise
      ? running.then((result) => this.entry(attempt, result))
      : this.entry(attempt, running);
  }

  private entry(attempt: Attempt, result: BlockResult): EntryBody | undefined | Promise<EntryBody> {
    if (attempt.job.stopped) return undefined;
    const kept = this.input(attempt.input);
    return kept instanceof Promise
      ? kept.then((input) => this.entryWith(attempt, result, input))
      : this.entryWith(attempt, result, kept);
  }

  private entryWith(attempt: Attempt, result: BlockResult, input: Stored): EntryBody | Promise<EntryBody> {
    const { block, startedMs, try: nth } = attempt;
    const tried = { block: block.id, scope: attempt.place.scope, try: nth, startedMs, input };
    const { environment, token } = this.parts;
    return answerOf(result, tried, { name: block.name, token }, environment.keeper);
  }

  private gated(attempt: Attempt, execute: () => Promise<BlockResult>): Promise<BlockResult> {
    return this.parts.gate(() => {
      // Waiting for a place is not running.
      attempt.startedMs = this.parts.clock.now();
      return execute();
    }, attempt.signal);
  }

  private input(input: JsonObject | undefined): Stored | Promise<Stored> {
    return input ? this.parts.environment.keeper.keep(input, 'What the block has read') : READ_NOTHING;
  }

  private async fail(
    error: unknown,
    tried: Place & { try: number; startedMs: number },
    input?: JsonObject,
  ): Promise<void> {
    try {
      if (error instanceof Fault) throw error;
      const kept = input && { input: await this.input(input) };
      const failure = failureOf(error, this.parts.environment.keeper);
      this.parts.post({ type: 'failed', ...tried, ...kept, ...failure, jitter: Math.random() });
    } catch (fault) {
      this.parts.broken(causeOf(fault));
    }
  }

  /** Never rejects. */
  private async expand(command: ExpandCommand): Promise<void> {
    const { replica, clock, environment } = this.parts;
    const place = replica.index.placeOf(command.at);
    const id = placeKey(place);
    const config = replica.plan.blocks[place.block] as BlockConfig;
    const job = this.begin(id, new Job(1, () => this.tellDrained()));
    const reader = new Reader(replica, place, environment, command.turn);
    const startedMs = clock.now();
    try {
      await this.prepare(reader, place);
      const services = this.parts.services(place, reader, job);
      const { count, items } = await expandContainer(
        config.container as NonNullable<BlockConfig['container']>,
        {
          runId: replica.runId,
          lookup: reader,
          sandbox: () => services.sandbox(),
          signal: job.signal,
        },
      );
      const kept = items && { items: await environment.keeper.keep(items, `The items of "${config.name}"`) };
      if (!job.stopped) this.parts.post({ type: 'expanded', ...place, turn: command.turn, count, ...kept });
    } catch (error) {
      if (!job.stopped) await this.fail(error, { ...place, try: 0, startedMs });
    } finally {
      this.end(id, job);
    }
  }
}
