import { eventAt, isPending, placeKey } from '@heddle/core/run';
import type { BlockLog, Command, Entry, EntryBody, Event, Place, RunState } from '@heddle/core/run';
import type { ChildOutcome, ChildRequest } from '../../executors/services.ts';
import type { AttemptPlace } from '../../execution/attempt-entry.ts';
import type { BlockTask } from '../../execution/attempt.ts';
import { createBlockServices } from '../../execution/block-services.ts';
import { childRunId } from '../../execution/child-runs.ts';
import { CommandExecutor } from '../../execution/command-executor.ts';
import { Emissions } from '../../records/emissions.ts';
import type { ConcurrencyLimiter } from '../../execution/concurrency-limiter.ts';
import type { RunConnections } from '../../execution/run-connections.ts';
import type { RunEnvironment } from '../../execution/run-environment.ts';
import type { RuntimeDependencies } from '../../execution/runtime-dependencies.ts';
import { derivePauseToken, randomToken } from '../../execution/tokens.ts';
import type { CalledChild, ChildCalls } from './child-calls.ts';
import type { RunReplica } from './run-replica.ts';
import type { TimedEntry } from './position.ts';

/** Maximum number of entries of a segment, because one message contains them. */
const MAX_ENTRIES = 1000;

type RunCommand = Extract<Command, { type: 'run' }>;
type TimerCommand = Extract<Command, { type: 'timer' }>;

/** A command to execute. `dueMs`: the time at which the block times out. */
export type PendingCommand = (RunCommand & { dueMs?: number }) | Extract<Command, { type: 'expand' }>;

/** The result of a segment: its entries in chronological order, and the machine's events for them. */
export interface SegmentOutcome {
  entries: TimedEntry[];
  events: Event[];
  /** Child runs that blocks wait for. */
  calls: CalledChild[];
  /** Changed logs. */
  logs: BlockLog[];
}

interface SegmentDependencies {
  runtime: RuntimeDependencies;
  limiter: ConcurrencyLimiter;
  childCalls: ChildCalls;
  runReplica: RunReplica;
  environment: RunEnvironment;
  /** True: continues with every block that can run here. False: executes only the given commands. */
  runsFollowingBlocks: boolean;
  /** Milliseconds after which no further block starts. */
  softMs: number;
  /** Called with all entries so far. */
  onProgress?: ((entries: readonly TimedEntry[]) => void) | undefined;
}

/** A part of a run that this process executes without interruption while another process drives the run. */
export class Segment {
  #entries: TimedEntry[] = [];
  #events: Event[] = [];
  #logs: BlockLog[] = [];
  #calls: CalledChild[] = [];
  readonly #dependencies: SegmentDependencies;
  readonly #runState: RunState;
  readonly #executor: CommandExecutor;
  readonly #emissions: Emissions;
  readonly #connections: RunConnections;
  readonly #inbox: EntryBody[] = [];
  /** Keys of the places whose blocks run in this segment. */
  readonly #ownPlaces = new Set<string>();
  #isProcessing = false;
  /** While entries of an earlier attempt are replayed: the commands that resulted from them. */
  #replayedCommands: Command[] | undefined;
  /** By the process's monotonic clock, because working time is independent of the runs' clock. */
  #startedMs = performance.now();
  #failure: { error: unknown } | undefined;
  /** True if the segment will produce no more entries. */
  #hasEnded = false;
  #interrupt: () => void = () => undefined;

  constructor(dependencies: SegmentDependencies) {
    this.#dependencies = dependencies;
    const { runReplica, runtime, limiter, environment } = dependencies;
    const { header, runState } = runReplica;
    const { clock, values } = runtime;
    this.#runState = runState;
    this.#connections = runtime.connections.createForRun();
    this.#emissions = new Emissions({
      runState,
      store: runtime.stores.liveEvents,
      clock,
      sanitizer: environment.sanitizer,
      // Another worker may have executed the same blocks earlier.
      isNew: false,
      onError: (error) => runtime.onError(error, header.runId),
    });
    // An attempt whose result is lost runs again and must get the same token, because a person may already have it.
    const createToken = (attempt: AttemptPlace): string =>
      header.tokenKey === undefined ? randomToken() : derivePauseToken(header.tokenKey, attempt);
    this.#executor = new CommandExecutor({
      runState,
      workflowId: header.workflowId,
      clock,
      values,
      steps: runtime.stores.runs,
      environment,
      limiter,
      createToken,
      ...createBlockServices(runtime, {
        header,
        environment,
        runState,
        limiter,
        createToken,
        connections: this.#connections,
        runChild: (request, place, task) => this.#callChild(request, place, task),
      }),
      emissions: this.#emissions,
      post: (body) => this.#post(body),
      onError: (error) => this.#fail(error),
    });
  }

  /**
   * Executes the commands and those that follow, until all blocks that run here have ended or `stopSignal` is aborted.
   * After an abort, running blocks continue until `halt`, and their commands stay pending. Returns the results since
   * the last call. Throws errors that prevent the run from continuing.
   */
  async run(commands: readonly PendingCommand[], stopSignal: AbortSignal): Promise<SegmentOutcome> {
    this.#startedMs = performance.now();
    const interruption = new Promise<void>((resolve) => {
      this.#interrupt = resolve;
      if (stopSignal.aborted || this.#hasEnded) resolve();
      else stopSignal.addEventListener('abort', () => resolve(), { once: true });
    });
    if (!stopSignal.aborted) this.#beginAll(this.#pendingCommands(commands));
    await Promise.race([interruption, this.#executor.waitUntilDrained()]);
    // The end of a text that a timeout has cut off must be published before the entry of the timeout is written.
    if (!stopSignal.aborted) await this.#emissions.flush();
    if (this.#failure) throw this.#failure.error;
    const entries = this.#entries;
    const events = this.#events;
    const calls = this.#calls;
    const logs = this.#logs;
    [this.#entries, this.#events, this.#calls, this.#logs] = [[], [], [], []];
    return { entries, events, calls, logs };
  }

  /** Applies the entries of an earlier attempt of this segment without executing their blocks again. */
  replay(entries: readonly TimedEntry[]): void {
    this.#replayedCommands = [];
    for (const { atMs, ...body } of entries) {
      if (!('block' in body) || body.block === undefined) continue;
      this.#ownPlaces.add(placeKey(body as Place));
      this.#process(body, atMs);
    }
  }

  /**
   * Returns the commands that are still pending, both given commands and commands that resulted from replayed entries.
   * A block of a detached segment may have ended before the request that claims the segment names the block again.
   */
  #pendingCommands(commands: readonly PendingCommand[]): readonly PendingCommand[] {
    const replayedCommands = this.#replayedCommands;
    if (!replayedCommands && !this.#dependencies.runsFollowingBlocks) return commands;
    this.#replayedCommands = undefined;
    const localCommands = (replayedCommands ?? []).filter((command) =>
      this.#canRunHere(command),
    ) as PendingCommand[];
    const { plan, machineState } = this.#runState;
    return [...commands, ...localCommands].filter((command) =>
      isPending(plan.skeleton, machineState, command),
    );
  }

  /** Stops all blocks, discards their results and closes their connections. */
  halt(): void {
    this.#executor.halt(new Error('The segment has ended.'));
    this.#emissions.stop();
    this.#connections.close();
  }

  #isUnderWay({ at }: PendingCommand): boolean {
    return this.#ownPlaces.has(placeKey(this.#runState.index.placeOf(at)));
  }

  /** Starts all commands before it processes the first result, as a runtime in one process does. */
  #beginAll(commands: readonly PendingCommand[]): void {
    this.#isProcessing = true;
    for (const command of commands) if (!this.#isUnderWay(command)) this.#begin(command);
    this.#processAll();
  }

  #begin(command: PendingCommand): void {
    this.#ownPlaces.add(placeKey(this.#runState.index.placeOf(command.at)));
    if (command.type === 'run' && command.dueMs !== undefined) {
      const { at, dueMs } = command;
      this.#executor.execute({ type: 'timer', at, timer: 'timeout', dueMs, try: command.try });
    }
    this.#executor.execute(command);
  }

  #post(body: EntryBody): void {
    this.#inbox.push(body);
    if (!this.#isProcessing) this.#processAll();
  }

  #processAll(): void {
    this.#isProcessing = true;
    try {
      for (let nextBody; (nextBody = this.#inbox.shift());) this.#process(nextBody);
    } catch (error) {
      this.#fail(error);
    }
    this.#isProcessing = false;
  }

  #process(body: EntryBody, atMs = this.#dependencies.runtime.clock.now()): void {
    const place = 'block' in body && body.block !== undefined ? (body as Place) : undefined;
    if (!place || !this.#ownPlaces.delete(placeKey(place))) return;
    const commands = this.#dependencies.runsFollowingBlocks
      ? this.#advance(body, atMs)
      : this.#timeoutCommands(body, place);
    if (!commands) return;
    this.#entries.push({ ...body, atMs });
    this.#dependencies.onProgress?.(this.#entries);
    const { block, scope } = place;
    const entry = { seq: 0, atMs, ...body } as Parameters<typeof eventAt>[0];
    this.#events.push(eventAt(entry, this.#runState.index.addressOf(block, scope)));
    this.#executor.cancelTimeout(place);
    for (const command of commands) this.#handle(command);
  }

  /** Returns the commands with which the machine responds to `body`; undefined if `body` arrived too late. */
  #advance(body: EntryBody, atMs: number): Command[] | undefined {
    const entry: Entry = { seq: this.#runState.seq + 1, atMs, ...body };
    const applyResult = this.#runState.apply(entry);
    for (const log of applyResult.logs) this.#logs.push(log);
    return applyResult.changed ? applyResult.commands : undefined;
  }

  /** Returns the commands for `body` without applying it: only the abort of a block that has timed out. */
  #timeoutCommands(body: EntryBody, { block, scope }: Place): Command[] {
    if (body.type !== 'fired') return [];
    return [{ type: 'abort', at: this.#runState.index.addressOf(block, scope), why: 'timeout' }];
  }

  #handle(command: Command): void {
    if (command.type === 'end') this.#finish();
    else if (command.type === 'abort') {
      this.#ownPlaces.delete(placeKey(this.#runState.index.placeOf(command.at)));
      this.#executor.execute(command);
    } else if (command.type === 'timer') this.#setTimer(command);
    else if (this.#replayedCommands) this.#replayedCommands.push(command);
    else if (this.#canRunHere(command) && this.#hasCapacity()) this.#begin(command as PendingCommand);
  }

  /** Sets the timeouts of blocks that run here; the process that drives the run sets all other timers. */
  #setTimer(command: TimerCommand): void {
    if (command.timer !== 'timeout') return;
    if (this.#ownPlaces.has(placeKey(this.#runState.index.placeOf(command.at))))
      this.#executor.execute(command);
  }

  #canRunHere(command: Command): boolean {
    if (command.type === 'run') return this.#runState.index.node(command.at).class !== 'effect';
    return command.type === 'expand';
  }

  #hasCapacity(): boolean {
    return (
      this.#entries.length < MAX_ENTRIES && performance.now() - this.#startedMs < this.#dependencies.softMs
    );
  }

  /**
   * Returns the outcome of a child that has ended. Any other child is recorded, and the process that drives the run
   * starts it and waits for it.
   */
  async #callChild(request: ChildRequest, place: Place, task: BlockTask): Promise<ChildOutcome> {
    const { childCalls, runReplica } = this.#dependencies;
    const { attempt, resumes, children } = task;
    const child = { place, attempt, call: request.call };
    const runId = childRunId(runReplica.header, child);
    children.add(runId, 'starting', request.otherWorkDone);
    try {
      const outcome = await childCalls.outcome(runReplica.header, child);
      if (outcome) return outcome;
      this.#calls.push({
        at: this.#runState.index.addressOf(place.block, place.scope),
        try: attempt,
        ...(resumes !== undefined && { resumes }),
        ...(await childCalls.recordChild(runReplica.header, { ...child, request })),
      });
      children.set(runId, 'running');
      return await new Promise((_, reject) => {
        const stop = (): void => reject(task.signal.reason as Error);
        if (task.signal.aborted) stop();
        else task.signal.addEventListener('abort', stop, { once: true });
      });
    } finally {
      children.remove(runId);
    }
  }

  #finish(): void {
    this.#hasEnded = true;
    this.#interrupt();
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#finish();
  }
}
