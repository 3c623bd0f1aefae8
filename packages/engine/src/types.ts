import type { BlockLog, Diagnostic, Json, PausePoint, Plan, RunFailure, RunStatus } from '@heddle/core';
import type { FileReader, ReadLimits } from './files/storage.ts';
import type { TakeFilesOptions } from './files/ingest.ts';
import type { BlockEmission } from '@heddle/core/blocks';
import type { Span } from '@heddle/core/run';

/** What runs: the id or name of a deployed workflow, an exported workflow (JSON value), or a compiled plan. */
export type WorkflowSource =
  | string
  | { workflow: unknown; fileName?: string; compat?: boolean }
  | { plan: Plan };

/** How one run is to be run. */
export interface ExecuteOptions {
  /** Claimed once: a second run with the same id is refused (RUN_ID_TAKEN). No UUID of version 8: child runs have those. Default: a new UUID. */
  runId?: string;
  /** Id by which the caller knows the run, where it is not `runId`: the run's blocks see it as the id of their execution. */
  callerId?: string;
  /** Version of the deployment; default the newest. */
  version?: number;
  /** Block (id or name) at which the run starts; default the plan's start. */
  start?: string;
  /** Block (id or name, top level) after which nothing new starts. */
  until?: string;
  /** Milliseconds the run may last. */
  timeoutMs?: number;
  /** Scripted outputs in place of blocks: `{ blocks: { NAME: value | [values in turn] }, types: { TYPE: … } }`. */
  mocks?: Json;
  signal?: AbortSignal;
  /** Workflows that called each other up to this run, as `X-Sim-Via` lists them. Children and `api` blocks pass it on. */
  via?: readonly string[];
  /** The input was accepted, and its files were stored, by a version that stored files without their owner. */
  olderFiles?: boolean;
  /** Paths (`block.path`) whose values the resource shows as `blockOutputs`. */
  select?: readonly string[];
}

/** A block at which runs can begin. */
export interface Trigger {
  blockId: string;
  name: string;
  type: string;
}

/** A run and what came of it. */
export interface RunResource {
  runId: string;
  workflowId: string;
  status: RunStatus;
  output: Json;
  blockOutputs: { [path: string]: Json } | null;
  error: { code: string; message: string; details?: Json } | null;
  startedAt: string | null;
  endedAt: string | null;
  durationMs: number | null;
}

/** A run that has been started. */
export interface RunHandle {
  readonly runId: string;
  /**
   * Resolves when the run has ended, only a person can move it, or it is suspended (see `RunDetail.suspended`). Never
   * rejects for a failed run; it does when the run cannot go on here: DATA_UNWRITABLE, ENGINE_CLOSED.
   */
  result(): Promise<RunResource>;
  /**
   * Everything that happens from the call on, ending with the run (or with its rest, when a person is needed). The run
   * never waits for who reads. Rejects like `result`.
   */
  events(): AsyncIterable<RunEvent>;
  cancel(reason?: string): Promise<void>;
}

/** What happens in a run, in order. What came before is in the logs. */
export type RunEvent =
  | { type: 'run:started'; runId: string; atMs: number; workflowId: string }
  | {
      type: 'block:started' | 'block:paused' | 'block:completed' | 'block:failed' | 'block:cancelled';
      runId: string;
      atMs: number;
      log: BlockLog;
      output: Json;
    }
  /** A try has failed and another follows. */
  | {
      type: 'block:retrying';
      runId: string;
      atMs: number;
      blockId: string;
      blockName: string;
      attempt: number;
      dueMs: number;
    }
  /** A block tells what it is doing. Kept nowhere: only who watches hears it, and only in the process that runs the block. */
  | {
      type: 'block:emission';
      runId: string;
      atMs: number;
      blockId: string;
      blockName: string;
      scope: number[];
      emission: BlockEmission;
    }
  /** A turn of a loop or a branch of a parallel has opened; `count`: how many in all, when known. */
  | {
      type: 'container:iteration';
      runId: string;
      atMs: number;
      blockId: string;
      blockName: string;
      iteration: number;
      count: number | undefined;
    }
  | { type: 'run:paused'; runId: string; atMs: number; kind: 'human' | 'time'; pauses: PausePoint[] }
  | { type: 'run:resumed'; runId: string; atMs: number }
  | {
      type: 'run:ended';
      runId: string;
      atMs: number;
      status: 'completed' | 'failed' | 'cancelled';
      output: Json;
      error: RunFailure | undefined;
    };

/** A run with what it waits for. */
export interface RunDetail extends RunResource {
  /** Id by which the caller knows the run, where it is not `runId`. */
  callerId: string | null;
  workflowName: string;
  createdAt: string;
  pauseKind: 'human' | 'time' | null;
  /** All open pause points, earliest first; `token` resumes. */
  pauses: {
    token: string;
    blockId: string;
    blockName: string;
    scope: number[];
    kind: 'human' | 'time';
    pausedAt: string;
    resumesAt: string | null;
    output: Json;
    inputFormat: Json;
  }[];
  parentRunId: string | null;
  /** Why a run that should move does not. */
  suspended: string | null;
}

/** Which runs to list, newest first unless `order` says otherwise; `cursor` is the `nextCursor` of the page before. */
export interface ListQuery {
  workflowId?: string;
  status?: readonly RunStatus[];
  /** Created at this time or later, in milliseconds since the epoch. */
  fromMs?: number;
  /** Created at this time or earlier. */
  toMs?: number;
  order?: 'asc' | 'desc';
  limit?: number;
  cursor?: string;
}

/** A version that was deployed, or was there already. */
export interface Deployed {
  workflowId: string;
  name: string;
  version: number;
  planHash: string;
  /** Warnings; a definition with errors is not deployed. */
  diagnostics: Diagnostic[];
}

/** An engine: deploys workflows and runs them, durable in one process. */
export interface Engine {
  /** Compiles and stores a new immutable version. Throws WORKFLOW_INVALID with every diagnostic in `details`. */
  deploy(workflow: unknown, options?: { fileName?: string; compat?: boolean }): Promise<Deployed>;
  /** Runs to the end, or to a pause that needs a person. A failed run is a result; throws what `start` throws. */
  execute(workflow: WorkflowSource, input?: Json, options?: ExecuteOptions): Promise<RunResource>;
  /**
   * Starts a run and gives it back as soon as it is recorded.
   *
   * Throws WORKFLOW_NOT_FOUND, WORKFLOW_INVALID, RUN_ID_TAKEN, START_NOT_FOUND, BLOCK_NOT_FOUND, INPUT_INVALID,
   * OPTIONS_INVALID, DATA_UNWRITABLE, ENGINE_CLOSED; then there is no run.
   */
  start(workflow: WorkflowSource, input?: Json, options?: ExecuteOptions): Promise<RunHandle>;
  /**
   * The input with the files in the start's file fields (`{type: "file" | "url", name, data}`) kept, and their records
   * in place of them: for callers that hand over what others sent, before `start`.
   *
   * Throws INPUT_INVALID for a file that cannot be taken, WORKFLOW_NOT_FOUND, WORKFLOW_INVALID, START_NOT_FOUND,
   * BLOCK_NOT_FOUND, DATA_UNWRITABLE, ENGINE_CLOSED.
   */
  takeFiles(
    workflow: WorkflowSource,
    input: Json,
    options?: Pick<ExecuteOptions, 'version' | 'start' | 'signal'> & TakeFilesOptions,
  ): Promise<Json>;
  /**
   * The blocks at which runs of the workflow can begin, the default first.
   * Throws WORKFLOW_NOT_FOUND, WORKFLOW_INVALID.
   */
  triggers(workflow: WorkflowSource, options?: Pick<ExecuteOptions, 'version'>): Promise<Trigger[]>;
  /**
   * Returns the value without the secrets that the workflow's blocks can read, as a run of it would record the value: for
   * callers that keep inputs or errors of their own. Throws WORKFLOW_NOT_FOUND, WORKFLOW_INVALID,
   * ENVIRONMENT_UNAVAILABLE, ENGINE_CLOSED.
   */
  redact(workflow: WorkflowSource, value: Json, options?: Pick<ExecuteOptions, 'version'>): Promise<Json>;
  /**
   * Returns a function that reads files by their records, for one answer about a run: content as Base64, or undefined
   * where the record belongs to no file of the run's tenant. Each key is read once. Throws RUN_NOT_FOUND.
   */
  fileReader(runId: string, limits?: ReadLimits): Promise<FileReader>;
  /** Throws RUN_NOT_FOUND. */
  getRun(runId: string, options?: { select?: readonly string[] }): Promise<RunDetail>;
  /** The runs of blocks so far, in order of their starts, with their values. Throws RUN_NOT_FOUND, VALUE_MISSING. */
  getLogs(runId: string): Promise<(Omit<BlockLog, 'input' | 'output'> & { input: Json; output: Json })[]>;
  /** The run as nested spans: containers, their turns or branches, blocks; outputs by reference where they are large. Throws RUN_NOT_FOUND. */
  getTrace(runId: string): Promise<Span>;
  /**
   * Everything that has happened in the run, from its beginning, and that will, to its end or until only a person can
   * move it. Whoever follows gets the same events in the same order; only `run:paused` and `run:resumed` are for those
   * who are there. Throws RUN_NOT_FOUND.
   */
  follow(runId: string, options?: { signal?: AbortSignal }): AsyncIterable<RunEvent>;
  /**
   * The runs that blocks of the run have called, in order of those blocks' starts; not those that these call in turn.
   * Throws RUN_NOT_FOUND.
   */
  childRuns(runId: string): Promise<{ runId: string; workflowId: string; blockId: string }[]>;
  /** A page of runs. Throws OPTIONS_INVALID for a cursor or limit that is none. */
  listRuns(query?: ListQuery): Promise<{ runs: RunDetail[]; nextCursor: string | null }>;
  /**
   * Submits `input` to an open pause point (the only open one when `token` is absent), and goes on to the next rest.
   * The same token again answers as the first time.
   *
   * Throws RUN_NOT_FOUND, RUN_ENDED, RESUME_POINT_NOT_FOUND, RESUME_POINT_CLOSED, RESUME_INPUT_INVALID, ENV_MISSING;
   * what is refused leaves no trace.
   */
  resume(
    runId: string,
    options?: { token?: string; input?: Json; select?: readonly string[] },
  ): Promise<RunResource>;
  /** Cancels, and waits until that is recorded; false when the run had ended before. Throws RUN_NOT_FOUND. */
  cancel(runId: string, reason?: string): Promise<boolean>;
  /**
   * A new run that starts at `block` with the outputs of an earlier run, in its plan or in a changed one.
   *
   * Throws RUN_NOT_FOUND, RUN_NOT_SETTLED, BLOCK_NOT_FOUND, BLOCK_NOT_RESTARTABLE, and what `start` throws.
   */
  runFromBlock(
    runId: string,
    block: string,
    options?: { workflow?: WorkflowSource; input?: Json } & ExecuteOptions,
  ): Promise<RunHandle>;
  /**
   * Deletes a run that has ended: its record, journal and logs, those of its children, and the values that no other run
   * uses. Values that were stored within the last hour stay.
   *
   * Throws RUN_NOT_FOUND, RUN_NOT_SETTLED while it or a child has not ended; then nothing is deleted.
   */
  deleteRun(runId: string): Promise<void>;
  /** Deletes stored files by their keys, but for those that were stored within the last hour or that a run names. */
  deleteFiles(keys: readonly string[]): Promise<void>;
  /** A handle on a run that has not ended. Throws RUN_NOT_FOUND, RUN_ENDED. */
  attach(runId: string): Promise<RunHandle>;
  /** Stops taking work, lets running blocks finish for `graceMs` (default 5,000), and closes; open runs go on at the next start. */
  close(options?: { graceMs?: number }): Promise<void>;
}
