import type {
  BlockContext,
  BlockExecutor,
  Json,
  JsonObject,
  Lookup,
  Template,
  VariableConfig,
} from '@heddle/core/blocks';
import type { EgressRequest, EgressResponse } from '@heddle/sandbox/egress';
import type { Sandbox } from '@heddle/sandbox';

/** What the engine's own executors get beside a block's fields. One object per block that runs. */
export interface ExecutorServices {
  /** Where code runs; started at the first call. */
  sandbox(): Promise<CodeSandbox>;
  /** The guarded way out; loaded at the first call. */
  egress(): Promise<HttpClient>;
  /** The data that the block can see, from where it stands. */
  lookup: Lookup;
  run: RunInfo;
  /** Id of the first block that an edge of this one leads to by `port`. */
  target(port: string): string | undefined;
  /** The workflow that a child block names by id or name, or undefined. Once its child has started: the workflow of that. */
  findChild(workflow: string): Promise<ChildWorkflow | undefined>;
  /** Runs a child to its end; the same block of the same run gets the same child again after a restart. */
  child(request: ChildRequest): Promise<ChildOutcome>;
  /** Where a person answers a pause, when the engine has such a place. */
  pauseLinks?(): PauseLinks;
}

/** Where a person answers a pause. */
export interface PauseLinks {
  url?: string;
  resumeEndpoint?: string;
}

/** What executors know of the run. */
export interface RunInfo {
  variables: readonly VariableConfig[];
  /** The environment values that the run's blocks can read, by name. */
  env: { readonly [name: string]: string };
  /** Most that the engine's options let code use, in milliseconds; a block's own timeout cannot go beyond it. */
  codeLimits?: { wallMs?: number; cpuMs?: number };
  /** True: the deployment asked for the lenient reading of older engines. */
  compat: boolean;
  /** How many workflows called this one in a chain; 0 for a run of its own. */
  depth: number;
  /** The workflows of that chain and then the run's own, as `X-Sim-Via` lists them. */
  callChain: readonly string[];
}

/** What a field that its block takes apart is read with. */
export interface FieldContext {
  lookup: Lookup;
  /** True: the deployment asked for the lenient reading of older engines. */
  compat: boolean;
  /** The value of another field of the block. */
  field: (name: string) => Json | undefined;
}

/** Fills in a field whose text has a structure, so that values cannot change the structure. */
export type FieldReader = (template: Template, scene: FieldContext) => Json;

export type CodeSandbox = Pick<Sandbox, 'run' | 'evaluate'>;

/** The part of the egress that executors use. */
export interface HttpClient {
  fetch(request: EgressRequest): Promise<EgressResponse>;
}

export interface ChildWorkflow {
  workflowId: string;
  /** The version that is live when the child starts, or the one that it was started with. */
  version: number | undefined;
  name: string;
  /** Names of the declared inputs; undefined: none are declared. */
  inputs: readonly string[] | undefined;
}

export interface ChildRequest {
  workflow: ChildWorkflow;
  input: Json;
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
