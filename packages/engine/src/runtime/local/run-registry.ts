import { EngineError } from '@heddle/core';
import type { RunHeader, Plan } from '@heddle/core';
import type { Entry } from '@heddle/core/run';
import PQueue from 'p-queue';
import { isAwaited } from '../../execution/child-runs.ts';
import { createLimiter } from '../../execution/concurrency-limiter.ts';
import { missingEnvironmentReason } from '../../execution/plan-queries.ts';
import type { RunEnvironment } from '../../execution/run-environment.ts';
import { prepareStart } from '../../execution/run-start.ts';
import type { StartRequest } from '../../execution/run-start.ts';
import type { RuntimeDependencies } from '../../execution/runtime-dependencies.ts';
import { mapMaybePromise } from '../../map-maybe-promise.ts';
import { readHeader, recordSuspension } from '../../records/read-run.ts';
import { runElsewhere, runIdTakenError } from '../../records/run-errors.ts';
import type { IdleStateEvent } from '../../records/run-events.ts';
import { isEnded } from '../../store/journal.ts';
import { runHeldByAnother, isHeldByAnother } from '../../store/leases.ts';
import type { TailableRunStore } from '../../store/stores.ts';
import { ActiveRun } from './active-run.ts';
import { callChild } from './child-call.ts';
import type { RunOwnership } from './run-ownership.ts';

/**
 * Maximum number of runs waiting for a person that stay in memory, so that an early answer finds its run there. None
 * stays if other processes own runs in the same stores.
 */
const MAX_IDLE_RUNS_IN_MEMORY = 64;

/** The state of a run in the memory of this process. */
type Registration =
  | { state: 'opening'; openedRun: Promise<ActiveRun | undefined> }
  | { state: 'active'; run: ActiveRun };

interface RunResources {
  header: RunHeader;
  store: TailableRunStore;
  environment: RunEnvironment;
}

/**
 * The runs of this process: starts them, opens and recovers recorded ones, and removes those that have ended or are
 * idle.
 */
export class RunRegistry {
  readonly #dependencies: RuntimeDependencies;
  readonly #ownership: RunOwnership;
  readonly #runs = new Map<string, Registration>();
  /** Runs that this process has started or opened and that have not ended, even if they were evicted. */
  readonly #ownRunIds = new Set<string>();
  /** Active runs that are paused for human input, the longest idle first. */
  readonly #idleRuns = new Set<ActiveRun>();
  readonly #queue: PQueue;
  #isClosing = false;

  constructor(dependencies: RuntimeDependencies, ownership: RunOwnership) {
    this.#dependencies = dependencies;
    this.#ownership = ownership;
    this.#queue = new PQueue({ concurrency: dependencies.concurrency.engine });
  }

  /**
   * Records the run and starts it. Throws RUN_ID_TAKEN, INPUT_INVALID, OPTIONS_INVALID, ENVIRONMENT_UNAVAILABLE,
   * ENGINE_CLOSED, DATA_UNWRITABLE.
   */
  async start(request: StartRequest): Promise<ActiveRun> {
    this.#throwIfClosing();
    const { runId } = request;
    if (this.#runs.has(runId)) throw runIdTakenError(runId);
    const startedRun = this.#create(request);
    if (!(startedRun instanceof Promise)) return startedRun;
    const registration: Registration = { state: 'opening', openedRun: startedRun.catch(() => undefined) };
    this.#runs.set(runId, registration);
    try {
      return await startedRun;
    } finally {
      this.#unregister(runId, registration);
    }
  }

  /** Creates and starts the run; synchronously if the stores are synchronous. */
  #create(request: StartRequest): ActiveRun | Promise<ActiveRun> {
    return mapMaybePromise(this.#dependencies.environments.open(request.plan), (environment) =>
      mapMaybePromise(this.#dependencies.definitions.storePlan(request.plan), () =>
        mapMaybePromise(
          prepareStart({ ...this.#dependencies, environment }, request),
          ({ header, firstEntry, record }) =>
            mapMaybePromise(this.#ownership.create(header, firstEntry, record), (store) => {
              if (!store) throw runIdTakenError(request.runId);
              return this.#begin(request, firstEntry, { header, store, environment });
            }),
        ),
      ),
    );
  }

  #begin(request: StartRequest, firstEntry: Entry, resources: RunResources): ActiveRun {
    this.#throwIfClosing();
    const run = this.#createRun(request.plan, { ...resources, isNew: true });
    this.#addActive(run);
    // If the caller cancels before the start, no block may run.
    if (request.signal?.aborted) run.stopExecuting();
    run.start(firstEntry);
    return run;
  }

  #addActive(run: ActiveRun): void {
    this.#runs.set(run.runId, { state: 'active', run });
    this.#ownRunIds.add(run.runId);
  }

  #unregister(runId: string, registration: Registration): void {
    if (this.#runs.get(runId) === registration) this.#runs.delete(runId);
  }

  /** Returns the run if it is in memory. */
  findActiveRun(runId: string): ActiveRun | undefined {
    const registration = this.#runs.get(runId);
    return registration?.state === 'active' ? registration.run : undefined;
  }

  /** True if this process has started or opened the run and the run has not ended. */
  has(runId: string): boolean {
    return this.#ownRunIds.has(runId);
  }

  /** Returns the run, recovered from its journal if it is not in memory; undefined if it has ended. */
  open(runId: string): Promise<ActiveRun | undefined> {
    return this.#openWith(runId, (run) => run.proceed());
  }

  async #openWith(runId: string, onLoaded: (run: ActiveRun) => void): Promise<ActiveRun | undefined> {
    this.#throwIfClosing();
    const existingRegistration = this.#runs.get(runId);
    if (existingRegistration?.state === 'active') return existingRegistration.run;
    if (existingRegistration?.state === 'opening') return existingRegistration.openedRun;
    const openedRun = this.#load(runId, onLoaded).finally(() => this.#unregister(runId, registration));
    const registration: Registration = { state: 'opening', openedRun };
    this.#runs.set(runId, registration);
    return openedRun;
  }

  async #load(runId: string, onLoaded: (run: ActiveRun) => void): Promise<ActiveRun | undefined> {
    const { runs } = this.#dependencies.stores;
    const header = await runs.header(runId);
    const record = await runs.record(runId);
    if (!header || (record && isEnded(record.status))) return undefined;
    if (header.elsewhere) throw runElsewhere(header);
    const store = await this.#acquire(header);
    // The previous owner may have written the record after it was read above.
    const latestRecord = store === runs ? record : await store.record(runId);
    const plan = await this.#dependencies.definitions.plan(header.planHash);
    const environment = await this.#dependencies.environments.open(plan);
    const suspensionReason = missingEnvironmentReason(header, environment.values);
    const run = this.#createRun(plan, { header, store, environment, isNew: false, suspensionReason });
    run.restore(await store.journal(runId), latestRecord);
    this.#throwIfClosing();
    this.#ownership.writableStore(runId);
    this.#addActive(run);
    onLoaded(run);
    if (run.runState.idleState() !== 'ended') return run;
    await run.whenIdle();
    return undefined;
  }

  /** Takes ownership of a run. A child run belongs to the process that owns its parent, which is opened first. */
  async #acquire({ runId, parent }: RunHeader): Promise<TailableRunStore> {
    try {
      if (parent && this.#ownership.isShared) await this.open(parent.runId);
    } catch (error) {
      // Other errors are reported when the parent itself is recovered.
      if (isHeldByAnother(error, parent?.runId)) throw runHeldByAnother(runId);
    }
    return this.#ownership.acquire(runId);
  }

  #createRun(
    plan: Plan,
    resources: RunResources & { isNew: boolean; suspensionReason?: string | undefined },
  ): ActiveRun {
    const ownership = this.#ownership;
    const dependencies = this.#dependencies;
    const beforeEffect = ownership.isShared ? (): void => ownership.checkOwnership() : undefined;
    return new ActiveRun({
      suspensionReason: undefined,
      ...resources,
      plan,
      runtime: dependencies,
      limiter: createLimiter(this.#queue, dependencies.concurrency.run, beforeEffect),
      runChild: (parent, request, place, task) =>
        callChild(this, dependencies, {
          parent,
          place,
          attempt: task.attempt,
          call: request.call,
          request,
          task,
        }),
      onIdleState: (run, event) => this.#onIdleState(run, event),
      onError: (error, runId) => {
        // A process that loses its runs reports the loss once, not for each run.
        if (!isHeldByAnother(error, runId)) dependencies.onError(error, runId);
      },
    });
  }

  /** Recovers every run that has not ended and that belongs to this runtime. */
  async recoverAll(): Promise<void> {
    for (const runId of await this.#dependencies.stores.runs.unfinishedRunIds()) await this.recover(runId);
  }

  /**
   * Recovers a run and the children that it waits for; a child that no parent waits for is cancelled. Never rejects:
   * errors are written to the run's record.
   */
  async recover(runId: string): Promise<void> {
    const { runs } = this.#dependencies.stores;
    try {
      const header = await runs.header(runId);
      if (header?.elsewhere) return;
      if (header?.parent && !(await this.#isAwaitedByParent(header, header.parent.runId))) {
        await this.cancel(runId, 'The parent run has ended.');
        return;
      }
      const run = await this.open(runId);
      // A suspended parent does not open its children itself.
      const childRunIds = run ? await runs.childRunIds(runId, { open: true }) : [];
      for (const childRunId of childRunIds) await this.recover(childRunId);
    } catch (error) {
      if (isHeldByAnother(error, runId)) return;
      this.#dependencies.onError(error, runId);
      await this.#recordFailure(runId, error);
    }
  }

  /**
   * True if the parent waits for the child, or if the parent cannot be read; the error is reported when the parent is
   * recovered.
   */
  async #isAwaitedByParent(child: RunHeader, parentId: string): Promise<boolean> {
    try {
      const parent = await this.open(parentId);
      return parent !== undefined && isAwaited(child, parent);
    } catch {
      return true;
    }
  }

  /** Cancels the run and its children. Returns false if the run had already ended. Throws RUN_NOT_FOUND. */
  async cancel(runId: string, reason: string | undefined): Promise<boolean> {
    // A run that is loaded only to be cancelled must not execute anything first.
    const run = await this.#openWith(runId, (loadedRun) => loadedRun.stopExecuting());
    if (!run) {
      await readHeader(this.#dependencies, runId);
      return false;
    }
    await run.cancel(reason);
    for (const childRunId of await this.#dependencies.stores.runs.childRunIds(runId, { open: true }))
      await this.cancel(childRunId, 'The parent run was stopped.');
    return run.runState.machineState.end?.status === 'cancelled';
  }

  /**
   * Closes all runs. Running blocks may finish until `graceElapsed` resolves; unfinished runs continue at the next
   * start.
   */
  async close(graceElapsed: Promise<void>): Promise<void> {
    this.#isClosing = true;
    await Promise.allSettled(
      [...this.#runs.values()].flatMap((registration) =>
        registration.state === 'opening' ? [registration.openedRun] : [],
      ),
    );
    const runs = this.#activeRuns();
    await Promise.race([Promise.all(runs.map((run) => run.drain())), graceElapsed]);
    // All runs stop accepting entries before any is stopped, so that a stopping parent does not reach a child that
    // still accepts them.
    for (const run of runs) run.beginClose();
    for (const result of await Promise.allSettled(runs.map((run) => run.close())))
      if (result.status === 'rejected') this.#dependencies.onError(result.reason, undefined);
  }

  /** Stops all runs because this process no longer owns them; nothing more is written. */
  stopAll(createError: (runId: string) => Error): void {
    for (const run of this.#activeRuns()) run.stop(createError(run.runId));
  }

  /** Evicts idle runs from memory, the longest idle first, until only as many as allowed are left. */
  evictIdle(): void {
    const maxIdle = this.#ownership.isShared ? 0 : MAX_IDLE_RUNS_IN_MEMORY;
    for (const run of this.#idleRuns) {
      if (this.#idleRuns.size <= maxIdle) return;
      if (!run.isEvictable()) continue;
      run.evict();
      this.#idleRuns.delete(run);
      this.#remove(run);
      this.#ownRunIds.add(run.runId);
      this.#ownership.onEvicted(run.runId);
    }
  }

  /** Writes to the run's record why the run does not continue. */
  async #recordFailure(runId: string, error: unknown): Promise<void> {
    try {
      const stores = { ...this.#dependencies.stores, runs: this.#ownership.writableStore(runId) };
      const message = error instanceof Error ? error.message : String(error);
      await recordSuspension({ ...this.#dependencies, stores }, runId, message);
    } catch {
      // The error that stopped the run also prevents this write; it has been reported already.
    }
    this.#ownership.onFailure(runId, () => void this.recover(runId));
  }

  #onIdleState(run: ActiveRun, { idleState, error }: IdleStateEvent): void {
    this.#idleRuns.delete(run);
    if (error !== undefined) void this.#removeStopped(run, error);
    else if (idleState === 'ended') this.#forget(run);
    else if (idleState === 'human') {
      this.#idleRuns.add(run);
      // Shared runs are evicted by a timer instead: a run stays in memory for the caller who has just opened it.
      if (!this.#ownership.isShared) this.evictIdle();
    }
  }

  async #removeStopped(run: ActiveRun, error: Error): Promise<void> {
    if (this.#isClosing) return;
    if (isHeldByAnother(error, run.runId)) return this.#forget(run);
    await this.#recordFailure(run.runId, error);
    this.#remove(run);
  }

  #forget(run: ActiveRun): void {
    this.#remove(run);
    this.#ownership.forget(run.runId);
  }

  #remove(run: ActiveRun): void {
    if (this.findActiveRun(run.runId) === run) {
      this.#runs.delete(run.runId);
      this.#ownRunIds.delete(run.runId);
    }
    this.#dependencies.codeService.release(run.runId);
  }

  #activeRuns(): ActiveRun[] {
    return [...this.#runs.values()].flatMap((registration) =>
      registration.state === 'active' ? [registration.run] : [],
    );
  }

  #throwIfClosing(): void {
    if (this.#isClosing)
      throw new EngineError('ENGINE_CLOSED', 'The engine is closed and accepts no more work.');
  }
}
