import type { Json } from '@heddle/core';
import type { StartRequest } from '../../execution/run-start.ts';
import type { RuntimeDependencies } from '../../execution/runtime-dependencies.ts';
import { readRun } from '../../records/read-run.ts';
import type { ReadRunOptions } from '../../records/read-run.ts';
import type { RecordWithLogs } from '../../store/stores.ts';
import type { LiveRun, RuntimePort } from '../../runtime-port.ts';
import type { RunEvent } from '../../types.ts';
import type { ActiveRun } from './active-run.ts';
import { eventsAfter, eventsBetween, RUN_START } from '../../records/follow.ts';
import type { EventPosition } from '../../records/follow.ts';
import { runEvents } from './event-stream.ts';
import { resumeRun } from './resume.ts';
import type { RunRegistry } from './run-registry.ts';

export type LocalDependencies = Pick<
  RuntimeDependencies,
  'stores' | 'registry' | 'values' | 'clock' | 'definitions' | 'onError'
> & { runs: RunRegistry };

/** The runtime that executes runs in this process. */
export class LocalRuntime implements RuntimePort {
  protected readonly dependencies: LocalDependencies;

  constructor(dependencies: LocalDependencies) {
    this.dependencies = dependencies;
  }

  async start(request: StartRequest): Promise<LiveRun> {
    const run = await this.dependencies.runs.start(request);
    if (request.signal) this.#cancelOnAbort(request.signal, run);
    return this.toLiveRun(run, RUN_START);
  }

  /**
   * Cancels the run when the signal is aborted. The signal may outlive the run, so its listener is removed when the run
   * ends.
   */
  #cancelOnAbort(signal: AbortSignal, run: ActiveRun): void {
    if (run.hasEnded()) return;
    const { runId } = run;
    const cancel = (): void => {
      // If the run cannot be cancelled, the error is reported, and the promise of the run's result rejects.
      this.cancel(runId, 'The caller aborted.').catch(() => undefined);
    };
    if (signal.aborted) return cancel();
    signal.addEventListener('abort', cancel, { once: true });
    const stopListening = run.listen((event) => {
      if (event.type !== 'idle-state' || event.idleState !== 'ended') return;
      signal.removeEventListener('abort', cancel);
      stopListening();
    });
  }

  /** Returns the live run. `startPosition`: the position after which its events begin. */
  protected toLiveRun(startedRun: ActiveRun, startPosition: EventPosition): LiveRun {
    const { runs } = this.dependencies;
    const { runId } = startedRun;
    let latestRun = startedRun;
    /** Returns the run, opened again if it was evicted; undefined if it has ended in the meantime. */
    const reopen = async (): Promise<ActiveRun | undefined> => {
      if (latestRun.isEvicted) latestRun = (await runs.open(runId)) ?? latestRun;
      return latestRun.isEvicted ? undefined : latestRun;
    };
    const reopenedEvents = async function* (this: LocalRuntime): AsyncGenerator<RunEvent> {
      const run = await reopen();
      yield* run
        ? this.#eventsOf(run, startPosition)
        : eventsAfter(this.#readerDependencies(), runId, startPosition);
    };
    return {
      runId,
      whenIdle: () => (latestRun.isEvicted ? reopen().then((run) => run?.whenIdle()) : latestRun.whenIdle()),
      events: () =>
        latestRun.isEvicted ? reopenedEvents.call(this) : this.#eventsOf(latestRun, startPosition),
    };
  }

  #eventsOf(run: ActiveRun, startPosition: EventPosition): AsyncGenerator<RunEvent> {
    const { values, clock } = this.dependencies;
    const definition = { header: run.header, plan: run.runState.plan };
    return runEvents(run, {
      afterSeq: startPosition.seq,
      readMissedEvents: (upToSeq) => eventsBetween(this.dependencies, definition, startPosition, upToSeq),
      values,
      now: () => clock.now(),
    });
  }

  /** Returns the dependencies for reading the events of a run that has ended. */
  #readerDependencies() {
    return { ...this.dependencies, mayContinue: () => true };
  }

  async open(runId: string): Promise<LiveRun | undefined> {
    const run = await this.dependencies.runs.open(runId);
    if (!run) return undefined;
    const emissionNumber = await this.dependencies.stores.liveEvents.lastNumber(runId);
    return this.toLiveRun(run, { seq: run.lastNotifiedSeq, emissionNumber });
  }

  async readRun(
    runId: string,
    options: ReadRunOptions = { withLogs: false },
  ): Promise<RecordWithLogs | undefined> {
    const run = this.#runInMemory(runId);
    if (run && !options.withLogs) return { record: await run.record(), logs: [] };
    // The logs of ended blocks are not in memory.
    await run?.save();
    return readRun(this.dependencies, runId, options);
  }

  async whenSaved(runId: string): Promise<void> {
    await this.#runInMemory(runId)?.save();
  }

  /** Returns the run if it is in memory and was not stopped. Of a stopped run, only the stored data is valid. */
  #runInMemory(runId: string): ActiveRun | undefined {
    const run = this.dependencies.runs.findActiveRun(runId);
    return run?.stopError ? undefined : run;
  }

  async resume(runId: string, answer: { token?: string; input?: Json }): Promise<void> {
    await resumeRun(this.dependencies, runId, answer, async (run) => run?.whenIdle());
  }

  cancel(runId: string, reason: string | undefined): Promise<boolean> {
    return this.dependencies.runs.cancel(runId, reason);
  }
}
