import type { Json, JsonObject } from './json.ts';
import type { BlockClass } from './machine/skeleton.ts';
import type { BlockConfig } from './plan/plan.ts';
import type { Entry, Place } from './record/entry.ts';
import type { RunRecord } from './record/run-record.ts';
import type { BlockLog } from './record/block-log.ts';
import type { StoredValue } from './record/stored-value.ts';

declare global {
  /** The platform's AbortSignal. Core only forwards it, so its types do not depend on a platform. */
  interface AbortSignal {}
}

/** The injected source of time. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Calls `fire` once, at `atMs`, or immediately if that time has passed; never earlier. Returns a function that
   * cancels the call.
   */
  at(atMs: number, fire: () => void): () => void;
}

/**
 * Executes one or several block types. `Services` are the services that the engine passes to its built-in
 * executors; other executors need none.
 */
export interface BlockExecutor<Services = unknown> {
  /** Registry ids of the block types. */
  types: readonly string[];
  class: BlockClass;
  /** Declared output names and types. If absent, references may use any path below the block. */
  outputs?: { [name: string]: string };
  /** Fields that must not be empty; `check` reports empty ones. */
  required?: readonly string[];
  /**
   * The fields that blocks of these types need, by value of the field `operation`: of each list, at least one field
   * must not be empty. The first operation is the default. `check` reports missing fields.
   */
  requiredFieldsByOperation?: { readonly [operation: string]: readonly (readonly string[])[] };
  /**
   * The data of the host that operations use, by value of the field `operation`. `check` reports blocks whose host
   * lacks it.
   */
  featureByOperation?: { readonly [operation: string]: HostFeature };
  execute(context: BlockContext<Services>): Promise<BlockResult> | BlockResult;
  /**
   * Blocks that pause: returns the output after `input` was submitted, or the answer for a block that continues. Called
   * before the answer is recorded. Throws RESUME_INPUT_INVALID if the input is invalid.
   */
  resume?(context: ResumeContext): Promise<JsonObject> | JsonObject;
  /**
   * Calls all tools in the field `notification` of a block that is about to pause, and returns their outcomes. A failed
   * call does not fail the block. Only one executor of an engine can have this method.
   */
  notify?(context: BlockContext<Services>): Promise<NotificationOutcome[]>;
}

/** The outcome of a notification of a pause. */
export interface NotificationOutcome {
  /** The type of the tool, and its title in the field `notification`. */
  type: string;
  title?: string;
  /** `unknown`: the call was interrupted, and may have sent the notification. */
  status: 'sent' | 'failed' | 'unknown';
  /** The reason why the notification was not sent, or may not have been sent. */
  error?: string;
}

/** Tenant data that blocks use and that only some hosts store. */
export type HostFeature = 'files' | 'knowledge';

/** A piece of live output of a running block: text of its answer as it arrives, or progress. */
export type BlockEmission =
  | { type: 'text'; text: string }
  /** Discards the text received so far: it was not the answer. */
  | { type: 'reset' }
  | { type: 'thinking'; text: string }
  | { type: 'tool'; phase: 'start'; id: string; name: string }
  | { type: 'tool'; phase: 'end'; id: string; name: string; status: 'success' | 'error' | 'cancelled' }
  /** Progress of the tool call `id`, out of `total` if known. `progress` never decreases. */
  | { type: 'progress'; id: string; progress: number; total?: number; message?: string }
  /** A problem that does not end the block. */
  | { type: 'error'; message: string };

/** The context of one attempt at a block. */
export interface BlockContext<Services = unknown> {
  runId: string;
  workflowId: string;
  block: BlockConfig;
  /** Iteration and branch numbers around the block, outermost first. */
  scope: readonly number[];
  /** 1 for the first attempt. */
  attempt: number;
  /** Equal for all attempts and after restarts: `runId/blockId/scope`. */
  idempotencyKey: string;
  /** Aborted at the block's timeout, and when the run is cancelled or ends without waiting for the block. */
  signal: AbortSignal;
  /** Milliseconds until the block's timeout or the run's deadline; undefined if there is none. */
  remainingMs: number | undefined;
  /**
   * Returns a field of the block with references and placeholders resolved. `text` (default): as strings. `native`: a
   * string that is exactly one reference keeps the type of its value. `json`: like `native`, and JSON text is parsed
   * before its references are resolved, so that their values cannot change the structure of the JSON.
   */
  field(name: string, mode?: 'text' | 'native' | 'json'): Json | undefined;
  /** Returns all fields, in mode `native`. */
  fields(): JsonObject;
  /** Returns the output of the first of the block's sources that ran, or {}. */
  sourceOutput(): JsonObject;
  /**
   * Publishes an emission to the clients that follow the run. Emissions are stored for a limited time, and another
   * attempt publishes them again. Secrets are redacted, even if they are split across several texts: the end of a text
   * that may be the beginning of a secret is sent with the next text.
   */
  emit(emission: BlockEmission): void;
  /**
   * Runs `work`, stores its result (a JSON value without secrets) and returns it. Later calls with the same key return
   * the stored result and do not run `work`: in this attempt, in another one, and after a crash. `key` names the step
   * within this execution of the block (up to 200 characters).
   *
   * If `work` throws, nothing is stored, and the next call runs it again. A step that was interrupted by a crash, a
   * timeout or a cancellation may have taken effect: it runs again only if it is `idempotent`; otherwise the call
   * throws STEP_OUTCOME_UNKNOWN, as do all later ones.
   */
  step<T extends Json>(
    key: string,
    work: (step: StepCall) => Promise<T> | T,
    options?: StepOptions,
  ): Promise<T>;
  /**
   * Returns the answers to the earlier pauses that continue this block, oldest first. Pauses of earlier attempts are
   * included, because the steps of those attempts are stored too.
   */
  answers(): Promise<Json[]>;
  clock: Clock;
  /** The services of the engine for executors: sandbox, egress, children, variables, code bindings. */
  services: Services;
}

/** The argument of the work of a step. */
export interface StepCall {
  /** Equal whenever the step runs: `runId/blockId/scope/key`. */
  idempotencyKey: string;
}

export interface StepOptions {
  /**
   * True if the step may run again without harm, for example because its request contains the idempotency key. Default
   * false.
   */
  idempotent?: boolean;
}

/**
 * The result of an attempt: an output with its port (default `source`) and new values of workflow variables (`set`), a
 * wait (`waiting`: the output until then), or a pause for a person. The answer to a pause ends the block; with
 * `continues`, the block is executed again with the answer, in the same attempt and with all its steps.
 */
export type BlockResult =
  | { output: JsonObject; port?: string; set?: { [variableId: string]: Json } }
  | { waitUntilMs: number; waiting: JsonObject; output: JsonObject }
  | { pause: JsonObject; continues?: true };

/** The context in which an executor handles the answer to a paused block. */
export interface ResumeContext {
  block: BlockConfig;
  /** Output of the block while it was paused. */
  pausedOutput: JsonObject;
  input: Json;
  pausedMs: number;
  nowMs: number;
}

/**
 * The storage of runs. `describeRunStore` tests an implementation.
 *
 * The store owns its arguments: callers do not change runs, entries and records afterwards, so a store may keep the
 * objects. Logs of blocks that have not ended do change, so a store copies them. Results belong to the caller.
 */
export interface RunStore extends StepStore {
  /**
   * Creates the run with its first entry. Returns false if the id is taken. A run is not listed until a record is
   * saved.
   */
  create(header: RunHeader, firstEntry: Entry, record?: RunRecord): Promise<boolean> | boolean;
  /**
   * Appends entries in order, with the configured durability. `saved`: the record and logs after these entries, written
   * in the same transaction.
   */
  append(runId: string, entries: readonly Entry[], saved?: SavedRun): Promise<void> | void;
  /**
   * Writes entries by number and replaces existing ones. For runtimes that keep the order of entries in another system:
   * several processes may write the same entries concurrently and repeatedly, and may replace those of a process that
   * died before it reported them.
   */
  upsert(runId: string, entries: readonly Entry[]): Promise<void> | void;
  journal(runId: string): Promise<Entry[]> | Entry[];
  header(runId: string): Promise<RunHeader | undefined> | RunHeader | undefined;
  /**
   * Writes the record and logs, which may be older than the journal: they are written immediately when the run becomes
   * idle or ends, else within a second. Returns false and changes nothing if the stored record is newer (has a higher
   * `seq`). The caller then saves its `logs` again with a later record, because the stored ones may be from a process
   * that died.
   */
  saveRecord(record: RunRecord, logs: readonly BlockLog[]): Promise<boolean> | boolean;
  record(runId: string): Promise<RunRecord | undefined> | RunRecord | undefined;
  logs(runId: string): Promise<BlockLog[]> | BlockLog[];
  list(
    query: RunQuery,
  ):
    | Promise<{ runs: RunRecord[]; cursor: string | undefined }>
    | { runs: RunRecord[]; cursor: string | undefined };
  /** Returns the ids of runs that have not ended, oldest first. */
  unfinishedRunIds(): Promise<string[]> | string[];
  /** Returns the ids of the runs that blocks of this run have called, oldest first. `open`: only unfinished ones. */
  childRunIds(runId: string, filter?: { open: boolean }): Promise<string[]> | string[];
  /**
   * Removes an ended run with everything stored for it. Returns the keys of the values that it used; undefined if there
   * is no such run or it has not ended.
   */
  remove(runId: string): Promise<string[] | undefined> | string[] | undefined;
}

/**
 * The steps of blocks (`BlockContext.step`), which are removed together with their run.
 *
 * The first call counts: if two processes run the same step, both get the result that was stored first.
 */
interface StepStore {
  /** Returns the steps of one execution of a block. */
  steps(runId: string, place: Place): Promise<StoredStep[]> | StoredStep[];
  /** Records that the step begins. If it is recorded already, changes nothing and returns the recorded step. */
  beginStep(
    runId: string,
    place: Place,
    key: string,
  ): Promise<StoredStep | undefined> | StoredStep | undefined;
  /** Records the result of the step, unless it has one. Returns the recorded result. */
  endStep(runId: string, place: Place, key: string, result: StoredValue): Promise<StoredValue> | StoredValue;
  /** Removes the record of a step that has begun and has no result. */
  forgetStep(runId: string, place: Place, key: string): Promise<void> | void;
}

/** A step that has begun. */
interface StoredStep {
  key: string;
  /** Undefined if the step is running or was interrupted. */
  result: StoredValue | undefined;
}

/** A record, and the logs that changed since the previous one. */
export interface SavedRun {
  record: RunRecord;
  logs: readonly BlockLog[];
}

/** The data with which a run continues after a restart. It never contains environment values or secrets. */
export interface RunHeader {
  runId: string;
  workflowId: string;
  planHash: string;
  /** The caller's id of the run, if it differs from `runId`. */
  callerId?: string;
  /** Version of the deployment; undefined for a run of a file. */
  version: number | undefined;
  /** The block that called the run. `call`: identifies one of its calls; absent: the block makes a single call. */
  parent: { runId: string; block: string; scope: number[]; depth: number; call?: string } | undefined;
  mocks: Json;
  /** Names of the environment values that the plan uses. */
  env: string[];
  createdMs: number;
  /**
   * Workflows that called each other up to this run, outermost first, each as it appears in `X-Sim-Via`; absent: none.
   */
  via?: string[];
  /** True if a runtime of several processes drives the run; absent: an engine within one process drives it. */
  elsewhere?: true;
  /**
   * Secret for the tokens of pause points, if an attempt may run twice: both executions produce the same token. Never
   * shown.
   */
  tokenKey?: string;
  /**
   * Secret for the ids of child runs. Absent: no block can call a workflow, or the run was started by a version without
   * these secrets. Never shown.
   */
  childKey?: string;
  /**
   * True if stored files already had owners when the input was accepted. Absent: an older run, whose input determines
   * its files.
   */
  ownsFiles?: true;
}

/**
 * A query of runs, newest first unless `order` says otherwise. A cursor is valid only for the order that produced it.
 */
export interface RunQuery {
  workflowId?: string;
  status?: RunRecord['status'][];
  /** Earliest creation time, in milliseconds since the epoch. */
  fromMs?: number;
  /** Latest creation time. */
  toMs?: number;
  order?: 'asc' | 'desc';
  limit?: number;
  cursor?: string;
}

/** Immutable versions of deployed workflows, and plans by content hash. */
export interface DefinitionStore {
  putPlan(hash: string, plan: Json): Promise<void> | void;
  plan(hash: string): Promise<Json | undefined> | Json | undefined;
  /** Deploys a plan. Returns the version number (1, 2, …), which stays the same if `planHash` is already the newest. */
  deploy(deployment: {
    workflowId: string;
    name: string;
    planHash: string;
    atMs: number;
  }): Promise<number> | number;
  /** Returns a deployed version, the newest one if `version` is absent. Looks up by id, then by name. */
  find(workflow: string, version?: number): Promise<Deployment | undefined> | Deployment | undefined;
}

/** A deployed version of a workflow. */
export interface Deployment {
  workflowId: string;
  name: string;
  version: number;
  planHash: string;
}

/** Content-addressed storage of values that are too large to be inline. */
export interface ValueStore {
  /** Stores JSON text. Returns its content hash as the key, so storing it twice is harmless. */
  put(json: string): Promise<string> | string;
  get(key: string): Promise<string | undefined> | string | undefined;
  /**
   * Removes values that no run uses and that were not stored within the last `unusedMs` milliseconds: a run may be
   * about to use a recently stored value.
   */
  prune(keys: readonly string[], unusedMs: number): Promise<void> | void;
}
