import type { Clock, Json } from '@heddle/core';
import type { StartRequest } from './execution/run-start.ts';
import type { RuntimeDependencies } from './execution/runtime-dependencies.ts';
import type { ReadRunOptions } from './records/read-run.ts';
import type { RecordWithLogs, SharedStores } from './store/stores.ts';
import type { RunEvent } from './types.ts';

/** A run that has not ended. */
export interface LiveRun {
  readonly runId: string;
  /**
   * Resolves when the record shows that the run has ended, is paused for human input, or is suspended. Rejects if the
   * run cannot continue in this process.
   */
  whenIdle(): Promise<void>;
  /** Returns the events since the run was started or opened, until it has ended or is paused for human input. */
  events(): AsyncIterable<RunEvent>;
}

/** The interface of a runtime for an engine. Results of runs are read from the stores. */
export interface RuntimePort {
  /**
   * Records the run and starts it. Throws RUN_ID_TAKEN, INPUT_INVALID, OPTIONS_INVALID, ENGINE_CLOSED, DATA_UNWRITABLE;
   * then no run exists.
   */
  start(request: StartRequest): Promise<LiveRun>;
  /** Returns the run; undefined if it has ended. */
  open(runId: string): Promise<LiveRun | undefined>;
  /** Returns the current state of the run, by default without its logs; undefined if the run does not exist. */
  readRun(runId: string, options?: ReadRunOptions): Promise<RecordWithLogs | undefined>;
  /** Resolves when everything that the run has done so far is stored. */
  whenSaved(runId: string): Promise<void>;
  /** Resumes a pause point, and resolves like `LiveRun.whenIdle`. Throws the errors of `Engine.resume`. */
  resume(runId: string, answer: { token?: string; input?: Json }): Promise<void>;
  /** Resolves when the cancellation is recorded; false if the run had already ended. Throws RUN_NOT_FOUND. */
  cancel(runId: string, reason: string | undefined): Promise<boolean>;
}

/** Opens a runtime together with the stores that its processes share. */
export interface RuntimeProvider {
  /** The data folder of the runtime, if it has one. The process keeps its own files there too. */
  readonly data?: string;
  openStores(options: { clock?: Clock }): Promise<SharedStores> | SharedStores;
  /** Opens the runtime. `close` lets running blocks finish for `graceMs` and leaves the stores open. */
  open(
    dependencies: RuntimeDependencies,
  ): Promise<{ runtime: RuntimePort; close(graceMs: number): Promise<void> }>;
}
