import type {
  BlockContext,
  BlockExecutor,
  Json,
  JsonObject,
  Lookup,
  NotificationOutcome,
  Template,
  VariableConfig,
} from '@heddle/core/blocks';
import type { BlockLog, RunQuery, RunRecord } from '@heddle/core';
import type { InputField } from '@heddle/core/fields';
import type { FileRecord } from '@heddle/core/files';
import type { StoredValue } from '@heddle/core/run';
import type { Egress, EgressRequest, EgressResponse, EgressStream } from '@heddle/sandbox/egress';
import type { Sandbox } from '@heddle/sandbox';
import type { SharedConnection } from '../execution/run-connections.ts';
import type { Skills } from '../execution/skills.ts';
import type { RunTenantFiles } from '../execution/tenant-files.ts';
import type { RunTenantKnowledge } from '../execution/tenant-knowledge.ts';
import type { Credential, CredentialQuery } from '../secrets/credentials.ts';
import type { FileContent, FileStream } from '../files/storage.ts';
import type { RateStore } from '../store/rates.ts';

/** The services for the engine's own executors, in addition to the fields of a block. One object per attempt. */
export interface ExecutorServices {
  /** Returns the sandbox for code; started at the first call. */
  sandbox(): Promise<CodeSandbox>;
  /** Returns the HTTP client with the egress policy; loaded at the first call. */
  httpClient(): Promise<HttpClient>;
  /** Returns the operator's configuration of a service, such as a provider of models. */
  service(name: string): Promise<ConfiguredService>;
  /**
   * Returns a credential that the run's tenant has stored; undefined if it has none. Its secret is redacted in all data
   * of the run. Read it immediately before use, because an access token may expire. Throws a BlockError if it cannot be
   * used now.
   */
  credential(query: CredentialQuery): Promise<Credential | undefined>;
  /** The skills that the run's tenant has stored. */
  skills: Skills;
  /** The files that the run's tenant has stored, besides those of runs; undefined: the host stores none. */
  tenantFiles: RunTenantFiles | undefined;
  /** The knowledge bases that the run's tenant has stored; undefined: the host stores none. */
  tenantKnowledge: RunTenantKnowledge | undefined;
  /**
   * Returns the content of a stored file as Base64; undefined if the record belongs to no file of the run's tenant.
   * Throws FILE_TOO_LARGE for more than 20 MB.
   */
  readFile(record: Pick<FileRecord, 'id' | 'key'>): Promise<string | undefined>;
  /**
   * Stores a file for the run's tenant as it arrives, and returns its record. Throws FILE_TOO_LARGE if the run has
   * stored too much, and the errors of `chunks`; then nothing is stored.
   */
  storeFile(file: FileStream): Promise<FileRecord>;
  /** Opens a stored file of any size; undefined if the record belongs to no file of the run's tenant. */
  openFile(record: Pick<FileRecord, 'id' | 'key'>): Promise<FileContent | undefined>;
  /** Returns the log of runs. */
  runs(): RunLog;
  /**
   * Returns a conversation of the tenant, which blocks of all its workflows can continue. The id has 1 to 255
   * characters.
   */
  conversation(id: string): Conversation;
  /** Returns the ids of the tenant's conversations, sorted, at most `limit`. */
  conversationIds(limit: number): Promise<string[]>;
  /** The reservations for calls of the block that cost money. */
  spending: Spending;
  /** The rate limiter of provider keys, which all processes of the engine share. */
  rateLimiter: RateLimiter;
  /**
   * Returns the connection with this key that the blocks of the run share in this process; `open` opens it at the first
   * call. It is closed when the run ends, becomes idle, or leaves the process.
   */
  connection<T extends SharedConnection>(key: string, open: () => Promise<T>): Promise<T>;
  /** Calls `wait`. Until it ends, the block gives up its concurrency slot, so that another effect block can run. */
  withoutSlot<T>(wait: () => Promise<T>): Promise<T>;
  /** The data that the block can read. */
  lookup: Lookup;
  run: RunInfo;
  /** Returns the id of the first block that `port` of this block leads to. */
  target(port: string): string | undefined;
  /** Returns the ports by which edges leave this block. */
  ports(): string[];
  /**
   * Returns the workflow with this id or name; undefined if the run's tenant has none. After the child of this `call`
   * has started, returns the workflow of the child.
   */
  findChild(workflow: string, call?: string): Promise<ChildWorkflow | undefined>;
  /**
   * Runs a child to its end. After a restart, the same call of the same attempt continues the same child. While a block
   * of the class `effect` waits for child runs only, another effect may run in its place.
   */
  runChild(request: ChildRequest): Promise<ChildOutcome>;
  /**
   * Returns the output of a workflow of the run's tenant, which runs as a child run. `call` and `otherWorkDone` are
   * those of `ChildRequest`. Throws CHILD_DEPTH, CHILD_CYCLE, CHILD_NOT_FOUND, CHILD_FAILED.
   */
  callWorkflow(
    reference: string,
    request: { input: Json; call: string; otherWorkDone: Promise<unknown> },
  ): Promise<JsonObject>;
  /** URLs at which a person can resume the pause; absent if the engine has none. */
  pauseLinks?(): PauseLinks;
  /**
   * Calls the notification tools of the pause that the block is about to open, with its final URLs. Absent if no
   * executor of the engine can call them.
   */
  notify?: (context: EngineContext) => Promise<NotificationOutcome[]>;
}

/**
 * The exchanges of a conversation, oldest first. Only the newest 500 are stored. Throws an InfrastructureError if the
 * store fails.
 */
export interface Conversation {
  /** Returns the newest exchanges that have at most `maxChars` characters together, as JSON. */
  newestExchanges(maxChars: number): Promise<Json[]>;
  /**
   * Adds the exchange of this execution, without secrets. Further calls of `add`, including those of other attempts, do
   * nothing.
   */
  add(exchange: Json): Promise<void>;
  /** Removes all exchanges. */
  remove(): Promise<void>;
}

/** A call whose maximum cost is reserved. Amounts are in millionths of a dollar. */
export interface SpendingRequest {
  /** PROVIDER/MODEL, for messages. */
  model: string;
  /** The maximum cost of the call, and its cost if it is interrupted immediately. Undefined: unknown. */
  cost: { maxMicros: number; minMicros: number } | undefined;
  /** The maximum cost of this execution of the block, with all its attempts. */
  maxBlockMicros?: number;
  /** The conversation that the call continues. */
  conversation?: string;
}

/** Reservations of calls that cost money, under the caps of the engine. */
export interface Spending {
  /**
   * Reserves the maximum cost of a call, to be settled when the call has ended. Throws SPENDING_CAP_REACHED if it would
   * exceed a cap, SPENDING_PRICE_UNKNOWN for a call of unknown cost under a cap.
   */
  reserve(request: SpendingRequest): Promise<SpendingReservation>;
}

/** A reservation for one call. It is renewed until it is settled, or its process dies. */
export interface SpendingReservation {
  /** Reports the cost of the call so far. If the process dies, this cost replaces the reservation. */
  reportCost(micros: number): void;
  /** Replaces the reservation with the cost of the call. */
  settle(micros: number): Promise<void>;
}

/** Limits the rates of keys, for all processes of the engine together. A key is a hash, never a secret. */
export type RateLimiter = Pick<RateStore, 'take' | 'correctTokens' | 'pauseKey'>;

/** The stored runs of the tenant's workflows: without secrets, and with a delay of up to a second. */
export interface RunLog {
  /** Returns the newest runs of a workflow that match. Returns undefined if the tenant does not have the workflow. */
  list(query: RunLogQuery): Promise<RunRecord[] | undefined>;
  /** Returns a run with the logs of its blocks. Returns undefined if no workflow of the tenant has the run. */
  get(runId: string): Promise<{ record: RunRecord; logs: BlockLog[] } | undefined>;
  /** Returns a value of a run or a log. */
  load(stored: StoredValue): Promise<Json>;
}

/** A query of runs. */
export interface RunLogQuery extends Pick<RunQuery, 'status' | 'fromMs' | 'toMs' | 'limit'> {
  /** Id or name. Default: the workflow of the block. */
  workflow?: string;
}

/** URLs at which a person can resume a pause. */
export interface PauseLinks {
  url?: string;
  resumeEndpoint?: string;
}

/** Returns the URLs of a pause. `token` is the token of the pause, which is not open yet. */
export type PauseLinkFactory = (pause: { workflowId: string; runId: string; token: string }) => PauseLinks;

/** Information about the run for executors. */
export interface RunInfo {
  variables: readonly VariableConfig[];
  /** The environment values that the blocks of the run can read, by name. */
  env: { readonly [name: string]: string };
  /** Maximum time for code from the engine's options, in milliseconds; it also limits the timeout of a block. */
  codeLimits?: { wallMs?: number; cpuMs?: number };
  /** True: the workflow was deployed with the lenient rules of older engines. */
  compat: boolean;
  /** Number of ancestor workflows in the call chain; 0 for a run that no workflow started. */
  depth: number;
  /** The workflows of the call chain, ending with the workflow of this run, as in `X-Sim-Via`. */
  callChain: readonly string[];
}

/** The context of a field reader. */
export interface FieldContext {
  lookup: Lookup;
  /** True: the workflow was deployed with the lenient rules of older engines. */
  compat: boolean;
  /** The value of another field of the block. */
  field: (name: string) => Json | undefined;
}

/** Resolves a field whose text has a structure, so that values cannot change the structure. */
export type FieldReader = (template: Template, context: FieldContext) => Json;

export type CodeSandbox = Pick<Sandbox, 'run' | 'evaluate'>;

/** The part of the egress that executors use. */
export interface HttpClient {
  fetch(request: EgressRequest): Promise<EgressResponse>;
  /** Sends the request like `fetch`, and returns as soon as the head of the response has arrived. */
  open(request: EgressRequest): Promise<EgressStream>;
  /**
   * Returns the IP addresses to which a caller may connect, for a server with a protocol other than HTTP. Throws
   * EGRESS_DENIED.
   */
  checkServer: Egress['checkServer'];
}

/** A number of calls per period. Calls are spread over the period: a burst has at most a tenth of them. */
export interface ServiceRate {
  calls: number;
  seconds: number;
}

/** The configuration of a service. */
export interface ConfiguredService {
  /** Base URL; undefined: the default of the service. */
  baseUrl: string | undefined;
  /** Undefined: the operator has configured no credential. */
  credential: string | undefined;
  /** Rate limit of each credential; undefined: the operator has configured none. */
  rate: ServiceRate | undefined;
  /** The HTTP client with the egress policy, which may also access `baseUrl`. */
  http: HttpClient;
}

export interface ChildWorkflow {
  workflowId: string;
  /** The version that the child runs; before the child has started, the deployed version. */
  version: number | undefined;
  name: string;
  description: string | undefined;
  /** The declared inputs. */
  inputs: readonly InputField[];
}

export interface ChildRequest {
  workflow: Pick<ChildWorkflow, 'workflowId' | 'version'>;
  input: Json;
  /**
   * Name of the call, for a block that calls several workflows. Calls with the same name in one attempt are one child
   * run. Undefined: the block makes a single call.
   */
  call?: string;
  /** Resolves when the block has no work left except waiting for child runs. Undefined: it has no other work. */
  otherWorkDone?: Promise<unknown>;
}

export type ChildOutcome =
  | { status: 'completed'; runId: string; output: JsonObject }
  | { status: 'cancelled'; runId: string }
  | {
      status: 'failed';
      runId: string;
      error: { code: string; message: string; blockName?: string; details?: Json };
    };

export type EngineContext = BlockContext<ExecutorServices>;

export type EngineExecutor = BlockExecutor<ExecutorServices>;
