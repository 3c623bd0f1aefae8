import type { RunHeader, Plan, RunRecord } from '@heddle/core';
import { workAt } from '@heddle/core/machine';
import { journalCorruptError, placeKey, RunState } from '@heddle/core/run';
import type { Entry, EntryBody, IdleState, Place } from '@heddle/core/run';
import type { BlockTask } from '../../execution/attempt.ts';
import { createBlockServices } from '../../execution/block-services.ts';
import { CommandExecutor } from '../../execution/command-executor.ts';
import { Emissions } from '../../records/emissions.ts';
import { mapMaybePromise } from '../../map-maybe-promise.ts';
import type { ConcurrencyLimiter } from '../../execution/concurrency-limiter.ts';
import type { RunConnections } from '../../execution/run-connections.ts';
import type { RunEnvironment } from '../../execution/run-environment.ts';
import type { RuntimeDependencies } from '../../execution/runtime-dependencies.ts';
import { randomToken } from '../../execution/tokens.ts';
import type { ChildOutcome, ChildRequest } from '../../executors/services.ts';
import type { AppliedEntry } from '../../records/fold.ts';
import { RecordWriter } from '../../records/record-writer.ts';
import { runStoppedByClose } from '../../records/run-errors.ts';
import { eventsOf } from '../../records/run-events.ts';
import type { IdleStateEvent, RawEvent } from '../../records/run-events.ts';
import { recordOf } from '../../records/run-record.ts';
import type { TailableRunStore } from '../../store/stores.ts';
import { Driver } from './driver.ts';
import { RunListeners } from './event-stream.ts';
import { Pauses } from './pauses.ts';

export interface ActiveRunOptions {
  runtime: RuntimeDependencies;
  header: RunHeader;
  plan: Plan;
  store: TailableRunStore;
  environment: RunEnvironment;
  limiter: ConcurrencyLimiter;
  /** True: the run starts here, so no process has executed it before. */
  isNew: boolean;
  /** The reason why the run cannot execute commands yet; undefined if it can. */
  suspensionReason: string | undefined;
  /** Runs a child run of `parent` to its end for the block at `place`. */
  runChild(parent: ActiveRun, request: ChildRequest, place: Place, task: BlockTask): Promise<ChildOutcome>;
  /** Called when the run's idle state changes, after its record is written, and when the run stops here. */
  onIdleState(run: ActiveRun, event: IdleStateEvent): void;
  /** Receives errors that reach no caller. */
  onError(error: unknown, runId: string): void;
}

/** The phase of a run in this process. A closing, evicted or stopped run accepts no entries. */
type RunPhase =
  /** `suspensionReason`: the reason why the run executes no commands; undefined if it executes them. */
  | { state: 'open'; suspensionReason: string | undefined }
  | { state: 'closing'; suspensionReason: string | undefined }
  /** Removed from memory: another object may represent the run now. */
  | { state: 'evicted' }
  /** Stopped because of `error`: only its journal is valid. */
  | { state: 'stopped'; error: Error };

/** A run that this process executes, with its driver, its command executor, its record and its listeners. */
export class ActiveRun {
  readonly header: RunHeader;
  readonly runState: RunState;
  readonly pauses: Pauses;
  /** Number of the last entry that is written and that listeners were notified of. */
  lastNotifiedSeq = 0;
  readonly #options: ActiveRunOptions;
  readonly #driver: Driver;
  readonly #executor: CommandExecutor;
  readonly #emissions: Emissions;
  readonly #connections: RunConnections;
  readonly #recordWriter: RecordWriter;
  readonly #listeners = new RunListeners();
  /** After a restart: blocks whose child runs have not reported their status yet. */
  readonly #blocksAwaitingChildStatus = new Set<string>();
  #phase: RunPhase;
  #lastIdleState: IdleState = 'running';
  #lastIdleSeq = -1;
  #notifiedIdleState: IdleStateEvent | undefined;
  /**
   * The write of the record at the last idle state. Callers that wait for that state may read the record afterwards.
   */
  #saving: Promise<void> | undefined;

  constructor(options: ActiveRunOptions) {
    this.#options = options;
    this.header = options.header;
    this.#phase = { state: 'open', suspensionReason: options.suspensionReason };
    this.runState = new RunState(options.header.runId, options.plan);
    this.#connections = options.runtime.connections.createForRun();
    this.#emissions = this.#createEmissions();
    this.#executor = this.#createExecutor();
    const { runtime, store, environment } = options;
    this.#driver = new Driver({
      runState: this.runState,
      clock: runtime.clock,
      append: (batch) => this.#append(batch),
      execute: (command) => {
        if (command.type === 'abort' && this.#blocksAwaitingChildStatus.size > 0)
          this.onChildReported(this.runState.index.placeOf(command.at));
        this.#executor.execute(command);
      },
      onWritten: (batch) => this.#onWritten(batch),
      onYield: () => this.#recordWriter.saveSoon(),
      onError: (error) => this.#fail(error),
      onIdle: () => this.#onDriverIdle(),
    });
    this.pauses = new Pauses({
      runState: this.runState,
      sanitizer: environment.sanitizer,
      post: (body, listener) => this.#driver.post(body, listener),
      stopReason: () => this.stopError ?? runStoppedByClose(this.runId),
    });
    this.#recordWriter = new RecordWriter({
      clock: runtime.clock,
      record: () => this.#currentRecord(),
      save: (record, logs) => store.saveRecord(record, logs),
      isWriting: () => this.#driver.isWriting,
      isIdle: () => this.runState.idleState() !== 'running',
      onError: (error) => options.onError(error, this.runId),
    });
  }

  #append(batch: readonly AppliedEntry[]): Promise<void> | void {
    const { store } = this.#options;
    return mapMaybePromise(this.#endEmissions(batch), () => {
      if (this.stopError) throw this.stopError;
      return store.append(this.runId, batch.map(entryOf), this.#recordWriter.takeForCommit(batch));
    });
  }

  /** Publishes the held-back text of attempts that these entries stop, before listeners get the entries. */
  #endEmissions(batch: readonly AppliedEntry[]): Promise<void> | undefined {
    let hasEnded = false;
    for (const { applyResult } of batch)
      for (const command of applyResult.commands)
        if (command.type === 'abort') {
          const place = this.runState.index.placeOf(command.at);
          if (this.#emissions.end(place, STOPPED_ATTEMPT)) hasEnded = true;
        }
    return hasEnded ? this.#emissions.flush() : undefined;
  }

  #createEmissions(): Emissions {
    const { runtime, environment, isNew } = this.#options;
    return new Emissions({
      runState: this.runState,
      store: runtime.stores.liveEvents,
      clock: runtime.clock,
      sanitizer: environment.sanitizer,
      isNew,
      onPublished: (event) => this.#listeners.hasEventListeners && this.#emit({ type: 'event', event }),
      onError: (error) => this.#options.onError(error, this.runId),
    });
  }

  #createExecutor(): CommandExecutor {
    const { runtime, header, environment, limiter } = this.#options;
    const { clock, values } = runtime;
    const { runState } = this;
    return new CommandExecutor({
      runState,
      workflowId: header.workflowId,
      clock,
      values,
      steps: this.#options.store,
      environment,
      limiter,
      createToken: randomToken,
      ...createBlockServices(runtime, {
        header,
        environment,
        runState,
        limiter,
        createToken: randomToken,
        connections: this.#connections,
        runChild: (request, place, task) => this.#options.runChild(this, request, place, task),
      }),
      post: (body) => {
        this.#driver.post(body);
        if (this.#blocksAwaitingChildStatus.size > 0 && 'block' in body) this.onChildReported(body as Place);
      },
      emissions: this.#emissions,
      onError: (error) => this.#fail(error),
    });
  }

  get runId(): string {
    return this.header.runId;
  }

  /** The reason why the run does not continue. */
  get suspensionReason(): string | undefined {
    const phase = this.#phase;
    return phase.state === 'open' || phase.state === 'closing' ? phase.suspensionReason : undefined;
  }

  /** The error that stopped the run in this process; undefined if it was not stopped. */
  get stopError(): Error | undefined {
    return this.#phase.state === 'stopped' ? this.#phase.error : undefined;
  }

  get isEvicted(): boolean {
    return this.#phase.state === 'evicted';
  }

  /**
   * Applies the journal of a run that is recovered; `record` is its stored record. Nothing is executed before
   * `proceed`.
   *
   * Throws JOURNAL_CORRUPT.
   */
  restore(entries: readonly Entry[], record: RunRecord | undefined): void {
    for (const entry of entries) {
      const applyResult = this.runState.replay(entry);
      // The stored logs include all entries up to that of the stored record.
      if (entry.seq > (record?.seq ?? 0)) this.#recordWriter.markChanged(applyResult.logs);
    }
    if (entries.length === 0) throw journalCorruptError(this.runId, 'it is empty');
    this.lastNotifiedSeq = this.runState.seq;
    if (record?.seq === this.runState.seq && record.suspended === this.suspensionReason)
      this.#recordWriter.markSaved();
  }

  /** Executes the pending commands of a restored run, unless it is suspended. */
  proceed(): void {
    this.#checkIdleState();
    if (this.suspensionReason !== undefined) this.#executor.stopAccepting();
    const commands = this.runState.pendingCommands();
    for (const command of commands)
      if (command.type === 'run' && this.#waitsForChild(command.at))
        this.#blocksAwaitingChildStatus.add(placeKey(this.runState.index.placeOf(command.at)));
    this.#driver.begin(commands);
    this.#recordWriter.save().catch((error: unknown) => {
      if (error !== this.stopError) this.#options.onError(error, this.runId);
    });
  }

  /** True if the block has called a child run, which may have ended in the meantime. */
  #waitsForChild(address: readonly number[]): boolean {
    const { index, plan, machineState } = this.runState;
    return (
      index.node(address).class === 'child' || workAt(plan.skeleton, machineState, address)?.w === 'blocked'
    );
  }

  /** Stops executing commands, but still accepts entries. */
  stopExecuting(): void {
    this.#executor.stopAccepting();
  }

  /** Starts with the journal's first entry, which is already written. */
  start(firstEntry: Entry): void {
    const applyResult = this.runState.apply(firstEntry);
    this.#recordWriter.markChanged(applyResult.logs);
    this.#onWritten([{ entry: firstEntry, applyResult }]);
    this.#driver.begin(applyResult.commands);
    if (this.#lastIdleState === 'running') this.#recordWriter.saveSoon();
  }

  post(body: EntryBody): void {
    this.#driver.post(body);
  }

  /** Cancels the run and aborts its blocks. Resolves when the cancellation is recorded. */
  async cancel(reason: string | undefined): Promise<void> {
    const reasonFields = reason === undefined ? {} : { reason: this.#options.environment.redactText(reason) };
    this.#driver.post({ type: 'cancelled', ...reasonFields });
    await this.#waitUntil(() => this.hasEnded());
  }

  /** The idle state that listeners were notified of, if nothing has happened since. */
  get notifiedIdleState(): IdleStateEvent | undefined {
    const event = this.#notifiedIdleState;
    const isCurrent = event?.idleState === this.#lastIdleState && this.#lastIdleSeq === this.runState.seq;
    return event?.error === undefined && isCurrent && !this.#driver.isBusy ? event : undefined;
  }

  /** Adds a listener for all events. Returns a function that removes it. */
  listen(listener: (event: RawEvent) => void): () => void {
    return this.#listeners.addEventListener(listener);
  }

  /** Resolves when the run has ended, is paused for human input, or is suspended. Rejects when it stops here. */
  whenIdle(): Promise<void> {
    return this.#waitUntil(() => this.suspensionReason !== undefined || this.#isIdle());
  }

  #isIdle(): boolean {
    if (this.#driver.isBusy || this.#blocksAwaitingChildStatus.size > 0) return false;
    return this.#lastIdleState === 'ended' || this.#lastIdleState === 'human';
  }

  /** Resolves when the condition holds and the record is written. */
  async #waitUntil(condition: () => boolean): Promise<void> {
    for (;;) {
      if (this.stopError) throw this.stopError;
      const saving = this.#saving;
      if (!condition()) await this.#listeners.waitForIdleStateChange();
      else {
        if (saving) await saving;
        if (saving === this.#saving && condition() && !this.stopError) return;
      }
    }
  }

  hasEnded(): boolean {
    return this.#lastIdleState === 'ended';
  }

  /** True if the run can leave memory until it is needed again. */
  isEvictable(): boolean {
    const isQuiet =
      this.#executor.isIdle && !this.#driver.isBusy && !this.pauses.isBusy && this.#listeners.isEmpty;
    return isQuiet && this.#lastIdleState === 'human' && this.suspensionReason === undefined;
  }

  /** Returns the current record, which never includes an entry that the journal lacks. */
  record(): Promise<RunRecord> {
    return this.#recordWriter.runBetweenEntries(() => this.#currentRecord());
  }

  #currentRecord(): RunRecord {
    return recordOf(this.runState, this.header, this.suspensionReason);
  }

  /** Writes the record and the changed logs. */
  save(): Promise<void> {
    return this.#recordWriter.save();
  }

  /** Records the reason why the run cannot continue. */
  suspend(reason: string): void {
    const { state } = this.#phase;
    if (state !== 'open' && state !== 'closing') return;
    this.#phase = { state, suspensionReason: reason };
    this.#recordWriter.markChanged([]);
    this.#saveThenNotify(this.#lastIdleState);
  }

  /** Records that the child run of the block at `place` has reported its status. */
  onChildReported(place: Place): void {
    const waitingBlocks = this.#blocksAwaitingChildStatus;
    if (waitingBlocks.size === 0 || !waitingBlocks.delete(placeKey(place)) || waitingBlocks.size > 0) return;
    this.#lastIdleSeq = -1;
    this.#checkIdleState();
  }

  /** Starts no more blocks. Resolves when all running blocks have ended and their results are recorded. */
  async drain(): Promise<void> {
    this.#executor.stopAccepting();
    await this.#executor.waitUntilDrained();
    await this.#driver.whenFlushed();
  }

  /** Stops accepting entries. The next recovery of the run produces the missing entries again. */
  beginClose(): void {
    if (this.#phase.state === 'open') this.#phase = { ...this.#phase, state: 'closing' };
    this.#detach();
  }

  /** Stops the run in this process and releases its resources. Resolves when the record is written. */
  async close(): Promise<void> {
    await this.#driver.whenFlushed();
    if (this.stopError) return;
    const saving = this.#recordWriter.save();
    this.stop(runStoppedByClose(this.runId));
    await saving;
  }

  /** Removes the run from memory. Holders of this object have to open the run again. */
  evict(): void {
    this.#phase = { state: 'evicted' };
    this.#detach();
    this.#connections.close();
  }

  #detach(): void {
    this.#executor.stopAccepting();
    this.#driver.stop();
  }

  #onWritten(batch: readonly AppliedEntry[]): void {
    for (const { entry, applyResult } of batch) {
      if ('block' in entry && entry.block !== undefined) this.#executor.cancelTimeout(entry as Place);
      if (this.#listeners.hasEventListeners)
        for (const event of eventsOf(this.runState, entry, applyResult)) this.#emit(event);
      this.lastNotifiedSeq = entry.seq;
    }
    this.#recordWriter.onEntryWritten();
  }

  #onDriverIdle(): void {
    if (!this.stopError && this.runState.idleState() !== 'ended') this.#recordWriter.saveSoon();
    this.#checkIdleState();
  }

  /** Notifies listeners if the idle state has changed, or if the run has left it and returned to it. */
  #checkIdleState(): void {
    const [idleState, seq] = [this.runState.idleState(), this.runState.seq];
    const isUnchanged =
      idleState === this.#lastIdleState && (idleState === 'running' || seq === this.#lastIdleSeq);
    if (this.stopError || isUnchanged) return;
    this.#lastIdleState = idleState;
    this.#lastIdleSeq = seq;
    if (idleState === 'running') return this.#emit({ type: 'idle-state', idleState });
    // A run may wait for days, so its resources are released.
    this.#connections.close();
    this.#saveThenNotify(idleState);
  }

  #saveThenNotify(idleState: IdleState): void {
    const seq = this.#lastIdleSeq;
    this.#saving = undefined;
    if (idleState === 'ended' && this.#recordWriter.isSaved)
      return this.#emit({ type: 'idle-state', idleState });
    this.#saving = this.#recordWriter.save().then(
      () => {
        // If the run has continued in the meantime, listeners already know.
        if (seq === this.#lastIdleSeq && !this.stopError) this.#emit({ type: 'idle-state', idleState });
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #fail(error: unknown): void {
    if (this.stopError) return;
    if (this.#phase.state === 'open') this.#options.onError(error, this.runId);
    this.stop(error instanceof Error ? error : new Error(String(error)));
  }

  /** Stops immediately because of `error`; nothing more is written. */
  stop(error: Error): void {
    if (this.stopError) return;
    this.#phase = { state: 'stopped', error };
    this.#detach();
    this.#executor.halt(error);
    this.#connections.close();
    this.#emissions.stop();
    this.#recordWriter.abort(error);
    this.#emit({ type: 'idle-state', idleState: 'ended', error });
  }

  #emit(event: RawEvent): void {
    if (event.type === 'idle-state') {
      this.#notifiedIdleState = event;
      this.#options.onIdleState(this, event);
    }
    this.#listeners.notify(event);
  }
}

/** The text of an attempt that was stopped may be incomplete. */
const STOPPED_ATTEMPT = { isInterrupted: true };

function entryOf({ entry }: AppliedEntry): Entry {
  return entry;
}
