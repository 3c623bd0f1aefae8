import type { Clock } from '@heddle/core';
import type { BlockConfig, BlockResult, JsonObject } from '@heddle/core/blocks';
import { placeKey } from '@heddle/core/run';
import type { Command, EntryBody, Place, StoredValue } from '@heddle/core/run';
import { expandContainer } from '../executors/container.ts';
import { createBlockContext } from '../executors/context.ts';
import type { EngineExecutor } from '../executors/services.ts';
import type { FileReader } from '../files/storage.ts';
import {
  wrapReadErrors,
  InfrastructureError,
  unwrapInfrastructureError,
} from '../records/infrastructure-error.ts';
import { failureOf, resultEntry } from './attempt-entry.ts';
import type { AttemptHeader, AttemptPlace } from './attempt-entry.ts';
import { Attempt, BlockTask } from './attempt.ts';
import type { AttemptDependencies } from './attempt.ts';
import { Slot } from './concurrency-limiter.ts';
import type { ConcurrencyLimiter } from './concurrency-limiter.ts';
import { ReferenceResolver } from './reference-resolver.ts';

type RunCommand = Extract<Command, { type: 'run' }>;
type ExpandCommand = Extract<Command, { type: 'expand' }>;
type TimerCommand = Extract<Command, { type: 'timer' }>;

/** The input of a block that has read no field. Journals share the object, so it is frozen. */
const EMPTY_INPUT: StoredValue = Object.freeze({ v: Object.freeze({}) as JsonObject });

export interface CommandExecutorDependencies extends AttemptDependencies {
  /**
   * Returns the executor of a block, or its mock. `countExecutions` returns the number of earlier executions of the
   * block.
   */
  executorOf(block: BlockConfig, countExecutions: () => number): EngineExecutor;
  /** Returns a file reader for one block. */
  createFileReader: (this: void) => FileReader;
  /** Returns the token of the pause point that an attempt opens. */
  createToken: (this: void, attempt: AttemptPlace) => string;
  /** Limits the number of effects that run at the same time. */
  limiter: ConcurrencyLimiter;
  /** Receives the entries that result from attempts, expansions and timers. */
  post(body: EntryBody): void;
  /** Receives errors that are not failures of a block: the run must stop. */
  onError(error: unknown): void;
}

/** Executes the commands of one run: attempts of blocks, expansions of containers, timers and aborts. */
export class CommandExecutor {
  readonly #dependencies: CommandExecutorDependencies;
  readonly #timers: Timers;
  readonly #tasks = new Map<string, BlockTask>();
  readonly #drainListeners: (() => void)[] = [];
  #isAccepting = true;

  constructor(dependencies: CommandExecutorDependencies) {
    this.#dependencies = dependencies;
    this.#timers = new Timers(dependencies.clock);
  }

  execute(command: Command): void {
    if (command.type === 'abort') this.#abort(command.at, command.why);
    else if (command.type === 'end') this.#timers.clear();
    else if (!this.#isAccepting) return;
    else if (command.type === 'run') this.#run(command);
    else if (command.type === 'expand') void this.#expand(command);
    else if (command.type === 'timer') this.#setTimer(command);
  }

  /** Cancels the timeout of an attempt that has ended. */
  cancelTimeout(place: Place): void {
    if (this.#timers.size > 0) this.#timers.cancel(`timeout:${placeKey(place)}`);
  }

  /** True if no task is running and no timer is set. */
  get isIdle(): boolean {
    return this.#tasks.size === 0 && this.#timers.size === 0;
  }

  /** Ignores further commands, which remain pending for the next start. Running tasks continue. */
  stopAccepting(): void {
    this.#isAccepting = false;
    this.#timers.clear();
  }

  /** Resolves when all tasks have ended, except those that only wait for a child run. */
  waitUntilDrained(): Promise<void> {
    return this.#isBusy() ? new Promise((resolve) => this.#drainListeners.push(resolve)) : Promise.resolve();
  }

  /** Stops all tasks for `reason` and discards their results. */
  halt(reason: Error): void {
    this.stopAccepting();
    for (const task of this.#tasks.values()) task.stop(reason);
    this.#tasks.clear();
    this.#notifyDrained();
  }

  #isBusy(): boolean {
    return [...this.#tasks.values()].some((task) => !task.waitsForChild);
  }

  #notifyDrained(): void {
    if (this.#drainListeners.length > 0 && !this.#isBusy())
      for (const resolve of this.#drainListeners.splice(0)) resolve();
  }

  #addTask(id: string, task: BlockTask): BlockTask {
    this.#tasks.set(id, task);
    return task;
  }

  #removeTask(id: string, task: BlockTask): void {
    if (this.#tasks.get(id) === task) this.#tasks.delete(id);
    this.#notifyDrained();
  }

  #abort(at: readonly number[], reason: string): void {
    const place = this.#dependencies.runState.index.placeOf(at);
    const id = placeKey(place);
    if (this.#timers.size > 0)
      for (const timer of ['timeout', 'retry', 'wait']) this.#timers.cancel(`${timer}:${id}`);
    this.#dependencies.emissions.end(place, { isInterrupted: true });
    this.#tasks.get(id)?.stop(new Error(`The block was stopped: ${reason}.`));
    this.#tasks.delete(id);
  }

  #setTimer({ at, timer, dueMs, try: attempt }: TimerCommand): void {
    // The last index of an address of even length is a branch, else it is a node.
    const branch = at.length > 0 && at.length % 2 === 0 ? at[at.length - 1] : undefined;
    const nodeAddress = branch === undefined ? at : at.slice(0, -1);
    const place = nodeAddress.length > 0 ? this.#dependencies.runState.index.placeOf(nodeAddress) : undefined;
    const name = `${timer}:${place ? placeKey(place) : ''}${branch === undefined ? '' : `#${branch}`}`;
    this.#timers.set(name, dueMs, () => {
      this.#dependencies.post({
        type: 'fired',
        timer,
        ...place,
        ...(branch !== undefined && { branch }),
        ...(attempt !== undefined && { try: attempt }),
      });
    });
  }

  /** Runs an attempt. Never throws. Most blocks return synchronously; only asynchronous ones need a promise. */
  #run(command: RunCommand): void {
    const { runState } = this.#dependencies;
    const place = runState.index.placeOf(command.at);
    const task = new BlockTask(command, () => this.#notifyDrained());
    const attempt = new Attempt(this.#dependencies, command, place, task);
    try {
      const preparing = this.#prepare(attempt.lookup, place);
      const entry = preparing ? preparing.then(() => this.#runExecutor(attempt)) : this.#runExecutor(attempt);
      if (entry instanceof Promise) void this.#postLater(attempt, entry);
      else if (entry) this.#dependencies.post(entry);
    } catch (error) {
      void this.#postFailure(attempt, error);
    }
  }

  /** Fetches the values that the block reads; undefined if nothing has to be fetched. */
  #prepare(resolver: ReferenceResolver, place: Place): Promise<unknown> | undefined {
    const fetching = resolver.prepare(this.#dependencies);
    const refreshing = this.#dependencies.environment.refresh(place.block);
    if (!fetching && !refreshing) return undefined;
    return Promise.all([fetching && wrapReadErrors(fetching), refreshing]);
  }

  /** Keeps the task in flight until its entry is known. Never rejects. */
  async #postLater(attempt: Attempt, entry: Promise<EntryBody | undefined>): Promise<void> {
    const id = placeKey(attempt.place);
    this.#addTask(id, attempt.task);
    try {
      const body = await entry;
      if (body) this.#dependencies.post(body);
    } catch (error) {
      await this.#postFailure(attempt, error);
    } finally {
      // A failed call may end the attempt while other calls still wait for child runs, whose results are no longer
      // needed.
      if (attempt.task.hasChildren) attempt.task.stop(new Error('The block has ended.'));
      this.#removeTask(id, attempt.task);
    }
  }

  async #postFailure(attempt: Attempt, error: unknown): Promise<void> {
    const { place, task, startedMs, input = {} } = attempt;
    const id = placeKey(place);
    this.#addTask(id, task);
    await attempt.endEmissions({ isInterrupted: true });
    if (!task.stopReason) await this.#fail(error, { ...place, ...attempt.numbers, startedMs }, input);
    this.#removeTask(id, task);
  }

  /** Runs the block's executor. Returns the entry of the result; undefined if the attempt was stopped. */
  #runExecutor(attempt: Attempt): EntryBody | undefined | Promise<EntryBody | undefined> {
    const { block, place } = attempt;
    const executor = this.#dependencies.executorOf(block, () =>
      this.#dependencies.runState.logs.earlierExecutionsAt(place),
    );
    const context = createBlockContext(attempt);
    const running =
      executor.class === 'effect' || (executor.class === 'pause' && this.#isEffect(place))
        ? this.#runInSlot(attempt, async () => executor.execute(context))
        : executor.execute(context);
    return running instanceof Promise
      ? running.then((result) => this.#endAttempt(attempt, result))
      : this.#endAttempt(attempt, running);
  }

  /** True for a pause with notification tools, which send requests. */
  #isEffect({ block, scope }: Place): boolean {
    const { index } = this.#dependencies.runState;
    return index.node(index.addressOf(block, scope)).class === 'effect';
  }

  /** Ends the attempt's emissions, then returns its entry; undefined if the attempt was stopped. */
  #endAttempt(attempt: Attempt, result: BlockResult): EntryBody | undefined | Promise<EntryBody | undefined> {
    if (attempt.task.stopReason) return undefined;
    if (attempt.fault) throw attempt.fault.error;
    const flushing = attempt.endEmissions({ isInterrupted: false });
    return flushing
      ? flushing.then(() => this.#toEntryAfterFlush(attempt, result))
      : this.#toEntry(attempt, result);
  }

  #toEntryAfterFlush(attempt: Attempt, result: BlockResult): EntryBody | undefined | Promise<EntryBody> {
    return attempt.task.stopReason ? undefined : this.#toEntry(attempt, result);
  }

  #toEntry(attempt: Attempt, result: BlockResult): EntryBody | Promise<EntryBody> {
    const input = this.#storedInput(attempt.input);
    return input instanceof Promise
      ? input.then((stored) => this.#toEntryWithInput(attempt, result, stored))
      : this.#toEntryWithInput(attempt, result, input);
  }

  #toEntryWithInput(
    attempt: Attempt,
    result: BlockResult,
    input: StoredValue,
  ): EntryBody | Promise<EntryBody> {
    const { block, startedMs } = attempt;
    const { scope } = attempt.place;
    const header: AttemptHeader = { block: block.id, scope, ...attempt.numbers, startedMs, input };
    const { environment, createToken } = this.#dependencies;
    // The block may already have passed the token to a person.
    const { task } = attempt;
    const tokenOf = (place: AttemptPlace): string => (task.pauseToken ??= createToken(place));
    return resultEntry(result, header, { name: block.name, tokenOf }, environment.sanitizer);
  }

  #runInSlot(attempt: Attempt, execute: () => Promise<BlockResult>): Promise<BlockResult> {
    const slot = new Slot(this.#dependencies.limiter, attempt.signal);
    attempt.task.slot = slot;
    return slot.run(() => {
      // The time in the queue does not count as running time.
      attempt.startedMs = this.#dependencies.clock.now();
      return execute();
    });
  }

  #storedInput(input: JsonObject | undefined): StoredValue | Promise<StoredValue> {
    return input ? this.#dependencies.environment.sanitizer.store(input, "The block's input") : EMPTY_INPUT;
  }

  async #fail(error: unknown, header: Omit<AttemptHeader, 'input'>, input?: JsonObject): Promise<void> {
    try {
      if (error instanceof InfrastructureError) throw error;
      const storedInput = input && { input: await this.#storedInput(input) };
      const failure = failureOf(error, this.#dependencies.environment.sanitizer);
      this.#dependencies.post({
        type: 'failed',
        ...header,
        ...storedInput,
        ...failure,
        jitter: Math.random(),
      });
    } catch (fatalError) {
      this.#dependencies.onError(unwrapInfrastructureError(fatalError));
    }
  }

  /** Computes the number of iterations or branches of a container. Never rejects. */
  async #expand(command: ExpandCommand): Promise<void> {
    const { runState, clock, environment } = this.#dependencies;
    const place = runState.index.placeOf(command.at);
    const id = placeKey(place);
    const config = runState.plan.blocks[place.block] as BlockConfig;
    const task = this.#addTask(id, new BlockTask({ try: 1 }, () => this.#notifyDrained()));
    const resolver = new ReferenceResolver(runState, place, environment, command.turn);
    const startedMs = clock.now();
    try {
      await this.#prepare(resolver, place);
      const services = this.#dependencies.services(place, resolver, task);
      const { count, items } = await expandContainer(
        config.container as NonNullable<BlockConfig['container']>,
        {
          runId: runState.runId,
          lookup: resolver,
          sandbox: () => services.sandbox(),
          signal: task.signal,
        },
      );
      const label = `The items of "${config.name}"`;
      const storedItems = items && { items: await environment.sanitizer.store(items, label) };
      if (!task.stopReason)
        this.#dependencies.post({ type: 'expanded', ...place, turn: command.turn, count, ...storedItems });
    } catch (error) {
      if (!task.stopReason) await this.#fail(error, { ...place, try: 0, startedMs });
    } finally {
      this.#removeTask(id, task);
    }
  }
}

/** The timers of one run, by name: setting a timer again replaces it. */
export class Timers {
  readonly #clock: Clock;
  readonly #cancelByName = new Map<string, () => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#cancelByName.size;
  }

  set(name: string, atMs: number, fire: () => void): void {
    this.#cancelByName.get(name)?.();
    const cancel = this.#clock.at(atMs, () => {
      this.#cancelByName.delete(name);
      fire();
    });
    this.#cancelByName.set(name, cancel);
  }

  cancel(name: string): void {
    this.#cancelByName.get(name)?.();
    this.#cancelByName.delete(name);
  }

  clear(): void {
    for (const cancel of this.#cancelByName.values()) cancel();
    this.#cancelByName.clear();
  }
}
