import { randomBytes } from 'node:crypto';
import { isBlockError, isEngineError } from '@heddle/core';
import type { Clock, Json } from '@heddle/core';
import type { BlockConfig, BlockResult, JsonObject } from '@heddle/core/blocks';
import { key } from '@heddle/core/run';
import type { BlockFailure, Command, EntryBody, Place, Replica, Stored } from '@heddle/core/run';
import { expandContainer } from '../executors/container.ts';
import { createBlockContext } from '../executors/context.ts';
import type { EngineContext, EngineExecutor, ExecutorServices } from '../executors/services.ts';
import { Reader } from './reader.ts';
import { Timers } from './timers.ts';
import type { Values } from './values.ts';

export interface PerformerParts {
  replica: Replica;
  workflowId: string;
  clock: Clock;
  values: Values;
  env: { readonly [name: string]: string };
  /** The executor of a block, or its mock: `nth` counts the block's runs from 0. */
  executorOf(block: BlockConfig, nth: number): EngineExecutor;
  services(place: Place, reader: Reader, signal: () => AbortSignal): ExecutorServices;
  /** Lets at most so many effects run at once. */
  gate<T>(work: () => Promise<T>): Promise<T>;
  redact(value: Json): Json;
  redactText(text: string): string;
  post(body: EntryBody): void;
}

type RunCommand = Extract<Command, { type: 'run' }>;

/** Carries out the commands of one run: executors, timers, aborts. Answers come back as entries. */
export class Performer {
  private readonly parts: PerformerParts;
  private readonly timers: Timers;
  private readonly aborts = new Map<string, AbortController>();
  private readonly busy = new Set<Promise<void>>();

  constructor(parts: PerformerParts) {
    this.parts = parts;
    this.timers = new Timers(parts.clock);
  }

  perform(command: Command): void {
    if (command.type === 'run') this.track(this.run(command));
    else if (command.type === 'expand') this.track(this.expand(command));
    else if (command.type === 'timer') this.setTimer(command);
    else if (command.type === 'abort') this.abort(command.at, command.why);
    else if (command.type === 'end') this.timers.clear();
  }

  /** A try is over: its time-out need not fire. */
  finished(place: Place): void {
    if (this.timers.size > 0) this.timers.cancel(`timeout:${key(place)}`);
  }

  hasTimers(): boolean {
    return this.timers.size > 0;
  }

  /** Aborts everything and waits until executors have let go, at most until `until` resolves. */
  async stop(until: Promise<void>): Promise<void> {
    this.timers.clear();
    const settled = Promise.allSettled(this.busy);
    await Promise.race([settled, until]);
    for (const controller of this.aborts.values()) controller.abort(new Error('The engine is closing.'));
  }

  private track(work: Promise<void>): void {
    this.busy.add(work);
    void work.finally(() => this.busy.delete(work));
  }

  private abort(at: readonly number[], why: string): void {
    const id = key(this.parts.replica.index.placeOf(at));
    for (const timer of ['timeout', 'retry', 'wait']) this.timers.cancel(`${timer}:${id}`);
    this.aborts.get(id)?.abort(new Error(`The block was stopped: ${why}.`));
    this.aborts.delete(id);
  }

  private setTimer(command: Extract<Command, { type: 'timer' }>): void {
    const { at, timer, dueMs, try: attempt } = command;
    const branch = at.length > 0 && at.length % 2 === 0 ? at[at.length - 1] : undefined;
    const node = branch === undefined ? at : at.slice(0, -1);
    const place = node.length > 0 ? this.parts.replica.index.placeOf(node) : undefined;
    const name = `${timer}:${place ? key(place) : ''}${branch === undefined ? '' : `#${branch}`}`;
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

  private async run(command: RunCommand): Promise<void> {
    const { replica, clock, values } = this.parts;
    const place = replica.index.placeOf(command.at);
    const id = key(place);
    const block = replica.plan.blocks[place.block] as BlockConfig;
    const controller = new AbortController();
    this.aborts.set(id, controller);
    const reader = new Reader(replica, place, this.parts.env);
    const input: JsonObject = block.code ? { code: block.code.authored } : {};
    let startedMs = clock.now();
    try {
      const fetching = reader.prepare(values);
      if (fetching) await fetching;
      const executor = this.parts.executorOf(block, replica.logs.nth(place));
      const context = this.context(command, { place, block, reader, input, signal: controller.signal });
      const execute = (): Promise<BlockResult> | BlockResult => {
        startedMs = clock.now();
        return executor.execute(context);
      };
      const running = executor.class === 'effect' ? this.parts.gate(async () => execute()) : execute();
      const result = running instanceof Promise ? await running : running;
      const kept = this.keep(input);
      const body = this.answer(result, {
        ...place,
        try: command.try,
        startedMs,
        input: kept instanceof Promise ? await kept : kept,
      });
      this.parts.post(body instanceof Promise ? await body : body);
    } catch (error) {
      const failed = { ...place, try: command.try, startedMs, input: await this.keep(input) };
      this.parts.post({ type: 'failed', ...failed, ...this.failure(error) });
    } finally {
      if (this.aborts.get(id) === controller) this.aborts.delete(id);
    }
  }

  private context(
    command: RunCommand,
    parts: { place: Place; block: BlockConfig; reader: Reader; input: JsonObject; signal: AbortSignal },
  ): EngineContext {
    const { replica, workflowId, clock } = this.parts;
    const { place, block, reader, input, signal } = parts;
    const source = reader.liveSource();
    const deadlineMs = replica.deadlineAt(command.at);
    const context = createBlockContext({
      runId: replica.runId,
      workflowId,
      block,
      scope: place.scope,
      try: command.try,
      signal,
      clock,
      services: this.parts.services(place, reader, () => signal),
      liveSources: source === undefined ? [] : [source],
      ...(deadlineMs !== undefined && { deadlineMs }),
    });
    // What a block reads of its fields is its input in the log.
    return {
      ...context,
      field: (name, mode) => {
        const value = context.field(name, mode);
        if (value !== undefined) input[name] = value;
        return value;
      },
      fields: () => Object.assign(input, context.fields()),
    };
  }

  private answer(
    result: BlockResult,
    at: Place & { try: number; startedMs: number; input: Stored },
  ): EntryBody | Promise<EntryBody> {
    if ('pause' in result) {
      const token = randomBytes(24).toString('base64url');
      return after(this.keep(result.pause), (output) => ({
        type: 'paused',
        ...at,
        kind: 'human',
        token,
        output,
      }));
    }
    if ('waitUntilMs' in result) {
      const entry = { type: 'paused', ...at, kind: 'time', dueMs: result.waitUntilMs } as const;
      return after(this.keep(result.waiting), (output) =>
        after(this.keep(result.output), (done) => ({ ...entry, output, done })),
      );
    }
    const { port, set } = result;
    return after(this.keep(result.output), (output) => ({
      type: 'completed',
      ...at,
      output,
      ...(port !== undefined && { port }),
      ...(set && { set: this.parts.redact(set) as JsonObject }),
    }));
  }

  private keep(value: Json): Stored | Promise<Stored> {
    return this.parts.values.keep(this.parts.redact(value));
  }

  private failure(error: unknown): { error: BlockFailure; retryAfterMs?: number; jitter: number } {
    const jitter = Math.random();
    if (!isBlockError(error)) {
      const message = error instanceof Error ? error.message : String(error);
      const code = isEngineError(error) ? error.code : 'BLOCK_FAILED';
      return {
        error: { code, message: this.parts.redactText(message), retryable: !isEngineError(error) },
        jitter,
      };
    }
    const { code, message, retryable, details, retryAfterMs } = error;
    return {
      error: {
        code,
        message: this.parts.redactText(message),
        retryable,
        ...(details !== undefined && { details: this.parts.redact(details) }),
      },
      jitter,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    };
  }

  private async expand(command: Extract<Command, { type: 'expand' }>): Promise<void> {
    const { replica, clock, values } = this.parts;
    const place = replica.index.placeOf(command.at);
    const id = key(place);
    const config = replica.plan.blocks[place.block] as BlockConfig;
    const controller = new AbortController();
    this.aborts.set(id, controller);
    const reader = new Reader(replica, place, this.parts.env, command.turn);
    const startedMs = clock.now();
    try {
      const fetching = reader.prepare(values);
      if (fetching) await fetching;
      const services = this.parts.services(place, reader, () => controller.signal);
      const expansion = await expandContainer(config.container as NonNullable<BlockConfig['container']>, {
        runId: replica.runId,
        run: services.run,
        lookup: reader,
        sandbox: () => services.sandbox(),
        signal: controller.signal,
      });
      const items = expansion.items && (await this.keep(expansion.items));
      this.parts.post({
        type: 'expanded',
        ...place,
        turn: command.turn,
        count: expansion.count,
        ...(items && { items }),
      });
    } catch (error) {
      const { error: failure } = this.failure(error);
      this.parts.post({ type: 'failed', ...place, try: 0, startedMs, error: failure });
    } finally {
      if (this.aborts.get(id) === controller) this.aborts.delete(id);
    }
  }
}

/** `next` of a value that may be there already: a promise costs a turn of the event loop. */
function after<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
