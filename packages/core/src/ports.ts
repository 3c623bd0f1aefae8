import type { Json, JsonObject } from './json.ts';
import type { BlockClass } from './machine/skeleton.ts';
import type { BlockConfig } from './plan/plan.ts';
import type { Entry } from './record/entry.ts';
import type { RunRecord } from './record/run.ts';
import type { BlockLog } from './record/log.ts';

declare global {
  /** The platform's. Core only passes it on, so that its own types need to know no platform. */
  interface AbortSignal {}
}

/** Time, injected: tests bring their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `fire` once at `atMs` (at once when past); the returned function cancels. Never earlier than `atMs`. */
  at(atMs: number, fire: () => void): () => void;
}

/** Runs one type of block, or several. `Services`: what the engine hands to its own executors; others need none. */
export interface BlockExecutor<Services = unknown> {
  /** Registry ids of the blocks it runs. */
  types: readonly string[];
  class: BlockClass;
  /** Declared output names and types; absent: any path below the block may be referenced. */
  outputs?: { [name: string]: string };
  /** Sub-blocks that must not be empty, for `check`. */
  required?: readonly string[];
  execute(context: BlockContext<Services>): Promise<BlockResult> | BlockResult;
  /** Pause blocks: the output once `input` was submitted; throws RESUME_INPUT_INVALID when it does not fit. */
  resume?(context: ResumeContext): JsonObject;
}

/** What a block tells while it runs: text of its answer as it comes, and how it comes about. */
export type BlockEmission =
  | { type: 'text'; text: string }
  /** The text so far was not the answer. */
  | { type: 'reset' }
  | { type: 'thinking'; text: string }
  | { type: 'tool'; phase: 'start'; id: string; name: string }
  | { type: 'tool'; phase: 'end'; id: string; name: string; status: 'success' | 'error' | 'cancelled' }
  /** Something went wrong that does not end the block. */
  | { type: 'error'; message: string };

/** What an executor is given for one try of a block. */
export interface BlockContext<Services = unknown> {
  runId: string;
  workflowId: string;
  block: BlockConfig;
  /** Turn and branch numbers around the block, outermost first. */
  scope: readonly number[];
  /** 1 for the first try. */
  attempt: number;
  /** Equal across tries and restarts: `runId/blockId/scope`. */
  idempotencyKey: string;
  /** Aborted when the block's time is up or the run is cancelled. */
  signal: AbortSignal;
  /** Milliseconds left until the block's or the run's deadline; undefined: none. */
  remainingMs: number | undefined;
  /**
   * The block's field, its references and placeholders resolved. `text` (default): texts. `native`: a text that is
   * exactly one reference keeps the type of its value. `json`: as `native`, and JSON text is parsed; its references are
   * holes of the authored JSON, so that values cannot change its structure.
   */
  field(name: string, mode?: 'text' | 'native' | 'json'): Json | undefined;
  /** All fields, native. */
  fields(): JsonObject;
  /** The output of the block that led here (the first source that ran), or {}. */
  sourceOutput(): JsonObject;
  /**
   * Tells whoever watches the run what the block is doing; it is kept nowhere, and another try tells it again. Secrets
   * are redacted in each text by itself.
   */
  emit(emission: BlockEmission): void;
  clock: Clock;
  /** What the engine keeps for executors: sandbox, egress, children, variables, code bindings. */
  services: Services;
}

/** What a try has come to: an output (and the port it leaves by, `source` when absent), a wait, or a pause for a person. */
export type BlockResult =
  | { output: JsonObject; port?: string; set?: { [variableId: string]: Json } }
  | { waitUntilMs: number; waiting: JsonObject; output: JsonObject }
  | { pause: JsonObject };

/** What a pause block is given when a person has answered. */
export interface ResumeContext {
  block: BlockConfig;
  /** Output of the block while it was paused. */
  paused: JsonObject;
  input: Json;
  pausedMs: number;
  nowMs: number;
}

/**
 * Everything a runtime stores about runs. One implementation's test is one call of `describeRunStore`.
 *
 * Runs, entries and records are handed over: whoever wrote them changes nothing of them any more, so that a store may
 * keep the objects. Logs of blocks that have not ended go on changing: a store keeps them as they were. What is read
 * belongs to the reader.
 */
export interface RunStore {
  /** Creates the run with its first entry; false when the id is taken. Without a record it is not listed until one is saved. */
  create(run: NewRun, first: Entry, record?: RunRecord): Promise<boolean> | boolean;
  /**
   * Appends entries, in order, durably as configured; group commit is the store's affair. `saved`: the record and logs
   * that the entries lead to, saved with them, never without.
   */
  append(runId: string, entries: readonly Entry[], saved?: SavedRun): Promise<void> | void;
  /**
   * Writes entries by their numbers, in place of those that are there already. For runtimes that keep the order of
   * entries elsewhere: several processes may write the same ones, at once, and each of them again; what was written by a
   * process that was lost before it could say so there is replaced.
   */
  upsert(runId: string, entries: readonly Entry[]): Promise<void> | void;
  journal(runId: string): Promise<Entry[]> | Entry[];
  header(runId: string): Promise<NewRun | undefined> | NewRun | undefined;
  /**
   * The projected record and logs, written behind the journal: at once when the run rests or ends, else within a second.
   * A record that is older than the stored one (its `seq` is lower) changes nothing, neither do its logs, and the answer
   * is false: they go with a later one, as those that are there may be of a process that was lost.
   */
  saveRecord(record: RunRecord, logs: readonly BlockLog[]): Promise<boolean> | boolean;
  record(runId: string): Promise<RunRecord | undefined> | RunRecord | undefined;
  logs(runId: string): Promise<BlockLog[]> | BlockLog[];
  list(
    query: RunQuery,
  ):
    | Promise<{ runs: RunRecord[]; cursor: string | undefined }>
    | { runs: RunRecord[]; cursor: string | undefined };
  /** Ids of runs that have not ended, oldest first. */
  open(): Promise<string[]> | string[];
  /** Ids of the runs that blocks of this one have called. */
  children(runId: string): Promise<string[]> | string[];
  /**
   * Removes a run that has ended, with all that is stored of it, and returns the keys of the values that it used.
   * Undefined, and nothing removed: there is no such run, or it has not ended.
   */
  remove(runId: string): Promise<string[] | undefined> | string[] | undefined;
}

/** A record, and the logs that have changed since the one before. */
export interface SavedRun {
  record: RunRecord;
  logs: readonly BlockLog[];
}

/** What a run needs to go on after a restart: never values of environment or secrets. */
export interface NewRun {
  runId: string;
  workflowId: string;
  planHash: string;
  /** Id by which the caller knows the run, where it is not `runId`. */
  callerId?: string;
  /** Version of the deployment; undefined: the run came from a file. */
  version: number | undefined;
  parent: { runId: string; block: string; scope: number[]; depth: number } | undefined;
  mocks: Json;
  /** Names of the environment values that the plan uses. */
  env: string[];
  createdMs: number;
  /** Workflows that called each other up to this run, first caller first, each as it stands in `X-Sim-Via`; absent: none. */
  via?: string[];
  /** A runtime of many processes moves it; absent: an engine that has the run in its own process. */
  elsewhere?: true;
  /** What the tokens of its pause points are made with, where a try may be run twice: both give the same token. Never shown. */
  tokenKey?: string;
  /** Secret by which the ids of its child runs are made. Absent: it has no blocks that call workflows, or began before there were keys. Never shown. */
  childKey?: string;
  /** Its input was accepted when stored files had owners already. Absent: an older run, whose input says which files it took. */
  ownsFiles?: true;
}

/** Which runs to list, newest first unless `order` says otherwise. A cursor goes on in the order it was given for. */
export interface RunQuery {
  workflowId?: string;
  status?: RunRecord['status'][];
  /** Created at this time or later, in milliseconds since the epoch. */
  fromMs?: number;
  /** Created at this time or earlier. */
  toMs?: number;
  order?: 'asc' | 'desc';
  limit?: number;
  cursor?: string;
}

/** Immutable versions of deployed workflows, and plans by content hash. */
export interface DefinitionStore {
  putPlan(hash: string, plan: Json): Promise<void> | void;
  plan(hash: string): Promise<Json | undefined> | Json | undefined;
  /** Deploys; returns the version number (1, 2, …), the same one when `planHash` is already the newest. */
  deploy(deployment: {
    workflowId: string;
    name: string;
    planHash: string;
    atMs: number;
  }): Promise<number> | number;
  /** The plan hash of a version; of the newest when `version` is absent. By id, else by name. */
  find(workflow: string, version?: number): Promise<Deployment | undefined> | Deployment | undefined;
}

/** A deployed version of a workflow. */
export interface Deployment {
  workflowId: string;
  name: string;
  version: number;
  planHash: string;
}

/** Values too large to stand inline, content-addressed. */
export interface ValueStore {
  /** Stores JSON text; the key is its content hash, so storing twice is harmless. */
  put(json: string): Promise<string> | string;
  get(key: string): Promise<string | undefined> | string | undefined;
  /**
   * Removes those of the values that no run uses and that nobody has put for `unusedMs` milliseconds: what was just put
   * is about to be used.
   */
  prune(keys: readonly string[], unusedMs: number): Promise<void> | void;
}
