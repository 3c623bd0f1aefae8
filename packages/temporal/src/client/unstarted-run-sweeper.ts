import { isEngineError } from '@heddle/core';
import { RemoteRuns } from '@heddle/engine/runtime';
import type { RuntimeDependencies } from '@heddle/engine/runtime';
import type { Profile } from '../messages.ts';
import { runInputOf } from '../run-input.ts';
import type { Launcher } from './launcher.ts';

/** Time between two sweeps. */
const SWEEP_INTERVAL_MS = 15_000;
/** Time for the process that recorded a run to start it. */
const START_TIMEOUT_MS = 10_000;

interface SweeperDependencies {
  runtime: RuntimeDependencies;
  launcher: Pick<Launcher, 'start'>;
  profile: Profile;
}

/** Starts runs that were recorded but never started, because their process could not reach the server or died. */
export class UnstartedRunSweeper {
  readonly #dependencies: SweeperDependencies;
  readonly #runs: RemoteRuns;
  /** Open runs that this process need not start. */
  #ignoredRunIds = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #currentSweep: Promise<void> | undefined;
  #isStopped = false;

  constructor(dependencies: SweeperDependencies) {
    this.#dependencies = dependencies;
    this.#runs = new RemoteRuns(dependencies.runtime);
  }

  /** Sweeps immediately, and then periodically until `stop`. */
  start(): void {
    this.#currentSweep = this.sweep().then(() => {
      if (this.#isStopped) return;
      this.#timer = setTimeout(() => this.start(), SWEEP_INTERVAL_MS);
      this.#timer.unref();
    });
  }

  /** Stops sweeping. Resolves when the current sweep has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#currentSweep;
  }

  /** Starts every overdue run. Never rejects: errors are reported, and the next sweep retries an unreachable server. */
  async sweep(): Promise<void> {
    const { runtime } = this.#dependencies;
    try {
      const openRunIds = await runtime.stores.runs.unfinishedRunIds();
      const openRunIdSet = new Set(openRunIds);
      this.#ignoredRunIds = new Set([...this.#ignoredRunIds].filter((runId) => openRunIdSet.has(runId)));
      for (const runId of openRunIds) {
        if (this.#isStopped) return;
        if (!this.#ignoredRunIds.has(runId)) await this.#startIfDue(runId);
      }
    } catch (error) {
      if (!this.#isStopped) runtime.onError(error, undefined);
    }
  }

  async #startIfDue(runId: string): Promise<void> {
    const { runtime, launcher, profile } = this.#dependencies;
    const timing = await this.#readStartTiming(runId);
    if (timing === 'later') return;
    if (timing === 'never') return void this.#ignoredRunIds.add(runId);
    try {
      const recordedRun = await this.#runs.readStart(runId);
      if (recordedRun)
        await launcher.start(
          runInputOf(recordedRun.plan, recordedRun.header, recordedRun.startedEntry, profile),
        );
      this.#ignoredRunIds.add(runId);
    } catch (error) {
      if (isEngineError(error) && error.code === 'RUNTIME_UNREACHABLE') throw error;
      this.#ignoredRunIds.add(runId);
      runtime.onError(error, runId);
    }
  }

  /** Returns when this process should start the run. `later`: the process that recorded it may still start it. */
  async #readStartTiming(runId: string): Promise<'now' | 'later' | 'never'> {
    const { stores, clock } = this.#dependencies.runtime;
    const record = await stores.runs.record(runId);
    // A run that has started has more entries than its first.
    if (record && record.seq > 1) return 'never';
    const header = await stores.runs.header(runId);
    // Without `elsewhere`, an engine with the local runtime starts the run. Parents start their child runs.
    if (!header?.elsewhere || header.parent) return 'never';
    const isOverdue = clock.now() - header.createdMs > START_TIMEOUT_MS;
    return record?.suspended !== undefined || isOverdue ? 'now' : 'later';
  }
}
