import type {
  BlockLog,
  Diagnostic,
  Json,
  JsonObject,
  PausePoint,
  Plan,
  RunFailure,
  RunStatus,
} from '@heddle/core';
import type { FileRecord } from '@heddle/core/files';
import type { FileContent, FileReader, ReadLimits } from './files/storage.ts';
import type { StoreFilesOptions } from './files/ingest.ts';
import type { BlockEmission } from '@heddle/core/blocks';
import type { Span, StoredValue } from '@heddle/core/run';

/**
 * The workflow to run: the id or name of a deployed workflow, an exported workflow (JSON value), or a compiled plan.
 */
export type WorkflowSource =
  | string
  | { workflow: unknown; fileName?: string; compat?: boolean }
  | { plan: Plan };

/** Options of one run. */
export interface ExecuteOptions {
  /**
   * Id of the run; a second run with the same id is rejected (RUN_ID_TAKEN). Must not be a UUID of version 8, which
   * child runs have. Default: a new UUID.
   */
  runId?: string;
  /** The caller's own id of the run, if it differs from `runId`. Blocks see it as the id of their execution. */
  callerId?: string;
  /** Version of the deployment; default the newest. */
  version?: number;
  /** Block (id or name) at which the run starts; default the plan's start. */
  start?: string;
  /** Block (id or name, top level) after which no further block starts. */
  until?: string;
  /** Time limit of the run, in milliseconds. */
  timeoutMs?: number;
  /**
   * Outputs that replace the execution of blocks, by the name or the type of the block:
   * `{ blocks: { NAME: value | [one value per execution] }, types: { TYPE: … } }`.
   */
  mocks?: Json;
  signal?: AbortSignal;
  /** The chain of workflow calls that led to this run, as in `X-Sim-Via`. Child runs and `api` blocks pass it on. */
  via?: readonly string[];
  /** True: the input was accepted by a version that stored files without their owner. */
  hasUnownedFiles?: boolean;
  /** Paths (`block.path`) whose values the result contains as `blockOutputs`. */
  select?: readonly string[];
}

/** A block of a workflow. */
export interface WorkflowBlock {
  blockId: string;
  name: string;
  type: string;
}

/** A run and its result. */
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
   * Resolves when the run has ended, is paused for human input, or is suspended (see `RunDetail.suspended`). Resolves
   * for a failed run too. Rejects if the run cannot continue in this engine: DATA_UNWRITABLE, ENGINE_CLOSED.
   */
  result(): Promise<RunResource>;
  /**
   * Returns the events of the run since `start`, or since `attach`, even if it has ended in the meantime. The iterable
   * ends when the run has ended or is paused for human input. Each call begins at the same point. The run never waits
   * for readers. Emissions of blocks are stored for a limited time. Rejects like `result`.
   */
  events(): AsyncIterable<RunEvent>;
  cancel(reason?: string): Promise<void>;
}

/** An event of a run. */
export type RunEvent =
  | { type: 'run:started'; runId: string; atMs: number; workflowId: string }
  | {
      type: 'block:started' | 'block:paused' | 'block:completed' | 'block:failed' | 'block:cancelled';
      runId: string;
      atMs: number;
      log: BlockLog;
      output: Json;
    }
  /** An attempt has failed and another one follows. */
  | {
      type: 'block:retrying';
      runId: string;
      atMs: number;
      blockId: string;
      blockName: string;
      scope: number[];
      attempt: number;
      dueMs: number;
    }
  /**
   * Progress that a running block reports. Stored for a limited time, separately from the journal. `number`: 1 for the
   * first emission of the run, without gaps.
   */
  | {
      type: 'block:emission';
      runId: string;
      atMs: number;
      number: number;
      blockId: string;
      blockName: string;
      scope: number[];
      emission: BlockEmission;
    }
  /** An iteration of a loop or a branch of a parallel has started. `count`: their total number, if known. */
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

/** A block log with its values loaded. */
export type LogDetail = Omit<BlockLog, 'input' | 'output'> & { input: Json; output: Json };

/** A run with its pause points and metadata. */
export interface RunDetail extends RunResource {
  /** The caller's own id of the run, if it differs from `runId`. */
  callerId: string | null;
  workflowName: string;
  createdAt: string;
  pauseKind: 'human' | 'time' | null;
  /** All open pause points, earliest first. `token` identifies the pause point for `resume`. */
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
  /** Number of pause points of any block type that people have answered. */
  resumedCount: number;
  parentRunId: string | null;
  /** The reason why the run does not continue. */
  suspended: string | null;
}

/** A preview of a run from a block. Blocks inside containers are not listed. */
export interface RestartPreview {
  /** Id of the block at which the run would start. */
  blockId: string;
  /** The reason why a run cannot start there; null if it can. */
  refusal: string | null;
  /**
   * The outermost container around the start, which continues its earlier execution; null for a start at the top level.
   */
  continuedContainer: { blockId: string; name: string } | null;
  /**
   * The blocks that could run again, including the start or the container that continues. `ran`: they ran in the
   * earlier run.
   */
  rerunBlocks: { blockId: string; name: string; type: string; ran: boolean }[];
  /** The blocks that lead to the start, or to the container that continues. `ran`: their outputs are reused. */
  upstreamBlocks: { blockId: string; name: string; type: string; ran: boolean }[];
}

export interface RunFromBlockOptions extends ExecuteOptions {
  /** Default: the definition of the earlier run. */
  workflow?: WorkflowSource;
  /** Default: the input of the earlier run. */
  input?: Json;
  edits?: RestartEdits;
  /**
   * For a block inside loops or parallels: the indexes of the iterations or branches around it, outermost first.
   * Earlier iterations, and other branches that have ended, keep their results. Variables begin with the values that
   * the blocks that keep their results have set.
   */
  iterations?: readonly number[];
}

/** Values that replace those of the earlier run. */
export interface RestartEdits {
  /** Values that replace resolved fields of the block, by name. Other fields are resolved as usual. */
  fields?: JsonObject | undefined;
  /** Outputs of blocks whose outputs are reused, by name or id. */
  outputs?: JsonObject | undefined;
}

/** A summary of a run, for an index of runs. */
export interface RunSummary {
  callerId: string | null;
  workflowId: string;
  /** Version of the deployment; null for a run of a file or draft. */
  version: number | null;
  parentRunId: string | null;
  status: RunStatus;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
  durationMs: number | null;
  /**
   * Number of journal entries that this summary covers. Of two summaries of a run, the one with the higher number is
   * newer.
   */
  seq: number;
  /** Types of all blocks of the workflow; empty if its plan cannot be read. */
  blockTypes: string[];
}

/** Changes to runs, oldest first; each run appears once. */
export interface RunChanges {
  /** `run` is null for a run that was deleted. */
  changes: { runId: string; run: RunSummary | null }[];
  /** True if there may be more changes. */
  hasMore: boolean;
  /** Acknowledges these changes. Until then, `runChanges` returns them again. */
  acknowledge(): Promise<void>;
}

/** A query for runs. Default order: newest first. `cursor` is the `nextCursor` of the previous page. */
export interface RunListQuery {
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

/** A deployed version, which may have existed before the call. */
export interface DeployedVersion {
  workflowId: string;
  name: string;
  version: number;
  planHash: string;
  /** Warnings; a definition with errors is not deployed. */
  diagnostics: Diagnostic[];
}

/** A workflow engine: deploys workflows, runs them, and reads their runs. */
export interface Engine {
  /**
   * True if the engine was created with `tenant` and `resolveChild`, so that workflows call only workflows of their
   * tenant.
   */
  readonly separatesTenants: boolean;
  /**
   * Compiles the workflow and stores it as a new immutable version, unless the newest version is equal. Throws
   * WORKFLOW_INVALID with every diagnostic in `details`.
   */
  deploy(workflow: unknown, options?: { fileName?: string; compat?: boolean }): Promise<DeployedVersion>;
  /**
   * Returns all diagnostics of a workflow, as `deploy` finds them with the blocks of this engine. Stores nothing, and
   * never throws for a workflow.
   */
  check(workflow: unknown, options?: { fileName?: string; compat?: boolean }): Diagnostic[];
  /**
   * Runs the workflow to its end, or until it is paused for human input. Returns a failed run too. Throws the errors of
   * `start`.
   */
  execute(workflow: WorkflowSource, input?: Json, options?: ExecuteOptions): Promise<RunResource>;
  /**
   * Starts a run and returns it as soon as it is recorded.
   *
   * Throws WORKFLOW_NOT_FOUND, WORKFLOW_INVALID, RUN_ID_TAKEN, START_NOT_FOUND, BLOCK_NOT_FOUND, INPUT_INVALID,
   * OPTIONS_INVALID, DATA_UNWRITABLE, ENGINE_CLOSED; then no run exists.
   */
  start(workflow: WorkflowSource, input?: Json, options?: ExecuteOptions): Promise<RunHandle>;
  /**
   * Stores the files of the input (`{type: "file" | "url", name, data}` in the start block's file fields) and returns
   * the input with file records in their place. Callers that forward input from others call it before `start`.
   *
   * Throws INPUT_INVALID for a file that cannot be stored, WORKFLOW_NOT_FOUND, WORKFLOW_INVALID, START_NOT_FOUND,
   * BLOCK_NOT_FOUND, DATA_UNWRITABLE, ENGINE_CLOSED.
   */
  storeFiles(
    workflow: WorkflowSource,
    input: Json,
    options?: Pick<ExecuteOptions, 'version' | 'start' | 'signal'> & StoreFilesOptions,
  ): Promise<Json>;
  /**
   * Returns the blocks at which runs of the workflow can start, the default first.
   * Throws WORKFLOW_NOT_FOUND, WORKFLOW_INVALID.
   */
  triggers(workflow: WorkflowSource, options?: Pick<ExecuteOptions, 'version'>): Promise<WorkflowBlock[]>;
  /** Returns all blocks of the workflow, including disabled ones. Throws WORKFLOW_NOT_FOUND, WORKFLOW_INVALID. */
  blocks(workflow: WorkflowSource, options?: Pick<ExecuteOptions, 'version'>): Promise<WorkflowBlock[]>;
  /**
   * Returns the value without the secrets that the workflow's blocks can read, as a run would record it: for callers
   * that store inputs or errors themselves. `secrets` are further secrets, by name. Throws WORKFLOW_NOT_FOUND,
   * WORKFLOW_INVALID, ENVIRONMENT_UNAVAILABLE, ENGINE_CLOSED.
   */
  redact(
    workflow: WorkflowSource,
    value: Json,
    options?: Pick<ExecuteOptions, 'version'> & { secrets?: ReadonlyMap<string, string> },
  ): Promise<Json>;
  /**
   * Returns a reader of files for one response about a run. The reader returns the content of a file as Base64;
   * undefined if the record belongs to no file of the run's tenant. It reads each file once. Throws RUN_NOT_FOUND.
   */
  fileReader(runId: string, limits?: ReadLimits): Promise<FileReader>;
  /**
   * Opens a file of any size by its record, to be read in parts; undefined if the record belongs to no file of the
   * run's tenant. Throws RUN_NOT_FOUND.
   */
  openFile(runId: string, file: Pick<FileRecord, 'id' | 'key'>): Promise<FileContent | undefined>;
  /** Returns the current state of the run. Throws RUN_NOT_FOUND. */
  getRun(runId: string, options?: { select?: readonly string[] }): Promise<RunDetail>;
  /**
   * Returns the logs of the blocks that have run so far, in order of their starts. Throws RUN_NOT_FOUND, VALUE_MISSING.
   */
  getLogs(runId: string): Promise<LogDetail[]>;
  /**
   * Returns the run as nested spans: containers, their iterations or branches, and blocks. Large outputs are
   * references. Throws RUN_NOT_FOUND.
   */
  getTrace(runId: string): Promise<Span>;
  /**
   * Returns all events of the run from its start, until it has ended or is paused for human input. Every follower
   * receives the same events in the same order, except `run:paused` and `run:resumed`, which are not repeated for later
   * followers, and events of a lost task of a run on Temporal: a follower that has received them then receives the
   * events that replace them. Throws RUN_NOT_FOUND.
   */
  follow(runId: string, options?: { signal?: AbortSignal }): AsyncIterable<RunEvent>;
  /**
   * Returns the child runs that the run's blocks have called, in the order in which they were created. Descendants of
   * child runs are not included. Throws RUN_NOT_FOUND.
   */
  childRuns(runId: string): Promise<{ runId: string; workflowId: string; blockId: string }[]>;
  /** Returns the plan that the run executes. Throws RUN_NOT_FOUND. */
  planOf(runId: string): Promise<Plan>;
  /** Returns a value of a trace, loaded from the value store if it is not inline. Throws VALUE_MISSING. */
  readValue(storedValue: StoredValue): Promise<Json>;
  /**
   * Returns runs that were created, changed their status or were deleted since they were last acknowledged, for a
   * consumer that keeps an index of runs. Changes are recorded in the transaction that makes them, by any process, from
   * the first call on; at that call, every stored run counts as changed. `limit`: maximum number of changes.
   */
  runChanges(limit: number): Promise<RunChanges>;
  /**
   * Returns the size of each run in the stores in bytes, without its children. A value that several runs use counts for
   * each of them. Unknown runs are absent.
   */
  runSizes(runIds: readonly string[]): Promise<Map<string, number>>;
  /** Returns a page of runs. Throws OPTIONS_INVALID for an invalid cursor or limit. */
  listRuns(query?: RunListQuery): Promise<{ runs: RunDetail[]; nextCursor: string | null }>;
  /**
   * Submits `input` to an open pause point (the only open one if `token` is absent). Resolves when the run has ended or
   * is paused for human input again. A repeated call with the same token returns the result of the first.
   *
   * Throws RUN_NOT_FOUND, RUN_ENDED, RESUME_POINT_NOT_FOUND, RESUME_POINT_CLOSED, RESUME_INPUT_INVALID, ENV_MISSING;
   * a rejected resume changes nothing.
   */
  resume(
    runId: string,
    options?: { token?: string; input?: Json; select?: readonly string[] },
  ): Promise<RunResource>;
  /**
   * Cancels the run. Resolves with true when the cancellation is recorded, with false if the run had already ended.
   * Throws RUN_NOT_FOUND.
   */
  cancel(runId: string, reason?: string): Promise<boolean>;
  /**
   * Starts a new run at `block` with the outputs of an earlier run, in the same workflow or in a changed one.
   *
   * Throws RUN_NOT_FOUND, RUN_NOT_SETTLED, BLOCK_NOT_FOUND, BLOCK_NOT_RESTARTABLE, OPTIONS_INVALID for an invalid edit,
   * and the errors of `start`. An edit is invalid if the block does not have the field, if the run does not reuse
   * the output, or if the value is not JSON.
   */
  runFromBlock(runId: string, block: string, options?: RunFromBlockOptions): Promise<RunHandle>;
  /**
   * Returns a preview of `runFromBlock`, and starts nothing. Throws RUN_NOT_FOUND, RUN_NOT_SETTLED, BLOCK_NOT_FOUND,
   * WORKFLOW_INVALID.
   */
  previewFromBlock(
    runId: string,
    block: string,
    options?: Pick<RunFromBlockOptions, 'workflow' | 'iterations'>,
  ): Promise<RestartPreview>;
  /**
   * Deletes a run that has ended and its child runs, at any depth: their records, journals, logs, steps and emissions,
   * and the values that no other run uses, except values stored within the last hour.
   *
   * Throws RUN_NOT_FOUND, RUN_NOT_SETTLED if one of these runs has not ended; then nothing is deleted.
   */
  deleteRun(runId: string): Promise<void>;
  /** Deletes stored files by their keys, except files stored within the last hour and files that a run refers to. */
  deleteFiles(keys: readonly string[]): Promise<void>;
  /** Returns a handle on a run that has not ended. Throws RUN_NOT_FOUND, RUN_ENDED. */
  attach(runId: string): Promise<RunHandle>;
  /**
   * Stops accepting work, lets running blocks finish for `graceMs` (default 5,000), and closes. Unfinished runs
   * continue at the next start.
   */
  close(options?: { graceMs?: number }): Promise<void>;
}
