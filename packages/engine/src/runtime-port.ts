import type { Clock, Json, RunRecord } from '@heddle/core';
import type { RunRequest } from './execution/run-start.ts';
import type { RuntimeParts } from './execution/runtime-parts.ts';
import type { SharedStores } from './store/stores.ts';
import type { RunEvent } from './types.ts';

/** A run that has not ended, as its runtime shows it. */
export interface LiveRun {
  readonly runId: string;
  /** Resolves when the run has ended, only a person can move it, or it is suspended; its record says so then. Rejects when it cannot go on here. */
  whenIdle(): Promise<void>;
  /** Everything that happens from the call on, to the run's end or its rest. */
  events(): AsyncIterable<RunEvent>;
}

/** Where runs run: what an engine asks for. Everything that has come of a run is read from the stores. */
export interface RuntimePort {
  /** Records the run and starts it. Throws RUN_ID_TAKEN, INPUT_INVALID, OPTIONS_INVALID, ENGINE_CLOSED, DATA_UNWRITABLE; then there is no run. */
  start(request: RunRequest): Promise<LiveRun>;
  /** The run, when it has not ended. */
  open(runId: string): Promise<LiveRun | undefined>;
  /** The run as it stands; undefined: there is none. */
  record(runId: string): Promise<RunRecord | undefined>;
  /** Resolves when what the run has done so far is in the stores. */
  saved(runId: string): Promise<void>;
  /** Submits an answer, and resolves at the run's next rest. Throws as `Engine.resume` does. */
  resume(runId: string, answer: { token?: string; input?: Json }): Promise<void>;
  /** Resolves when the cancel is recorded; false when the run had ended before. Throws RUN_NOT_FOUND. */
  cancel(runId: string, reason: string | undefined): Promise<boolean>;
}

/** A runtime to be: it brings the stores that its processes share. */
export interface RuntimeProvider {
  /** The data folder of the runtime, where it has one: what a process keeps for itself is kept there too. */
  readonly data?: string;
  openStores(options: { clock?: Clock }): Promise<SharedStores> | SharedStores;
  /** Throws what keeps it from being opened. `close` lets running blocks finish for so many milliseconds; the stores stay open. */
  open(parts: RuntimeParts): Promise<{ runtime: RuntimePort; close(graceMs: number): Promise<void> }>;
}
