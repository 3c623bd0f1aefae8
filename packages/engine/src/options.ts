import type { BlockExecutor, Clock, PlanLimits } from '@heddle/core';
import type { TriggerInfo } from '@heddle/core/drafts';
import type { ImageSource, IsolationOptions } from '@heddle/sandbox';
import type { ResolvedChild } from './definitions.ts';
import type { EnvironmentValue, TenantEnvironments } from './execution/run-environment.ts';
import type { TenantSkills } from './execution/skills.ts';
import type { TenantFiles } from './execution/tenant-files.ts';
import type { TenantKnowledge } from './execution/tenant-knowledge.ts';
import type { MaxCost } from './execution/spending-caps.ts';
import type { PauseLinkFactory, ServiceRate } from './executors/services.ts';
import type { TenantCredentials } from './secrets/credentials.ts';
import type { RuntimeProvider } from './runtime-port.ts';
import type { PostgresOptions } from './store/postgres/open.ts';

/** Options of an engine. All have defaults. */
export interface EngineOptions {
  /**
   * Executes the runs. Default: this process executes them and stores them in `data`. Another runtime provides its own
   * stores: then `durability` does not apply, and `data` contains only files of the sandbox.
   */
  runtime?: RuntimeProvider;
  /** Data folder. Default: none; everything is in memory and lost with the process. */
  data?: string;
  /**
   * A PostgreSQL database instead of the folder. Any number of processes execute its runs and take over from each
   * other.
   */
  postgres?: PostgresEngineOptions;
  /** `process` (default): nothing is lost if the process dies. `power`: nothing is lost if the machine loses power. */
  durability?: 'process' | 'power';
  /**
   * Values of `{{NAME}}` for workflows without a tenant. A string is a secret: it is redacted from the recorded and
   * shown data of every run that can read it. `{ value, secret: false }` is not redacted.
   */
  env?: { [name: string]: EnvironmentValue };
  /** Values of `{{NAME}}` for the workflows of each tenant. Default: none. */
  environments?: TenantEnvironments;
  /** Executors of custom block types; see `defineBlock`. */
  blocks?: readonly BlockExecutor[];
  /** Trigger types that the host fires: deploying warns about other types. Default: triggers are not checked. */
  triggers?: readonly TriggerInfo[];
  /**
   * Maximum number of effect blocks and sandbox jobs that run at the same time: in the engine (default 64) and in one
   * run (default 16).
   */
  concurrency?: { engine?: number; run?: number };
  /**
   * Caps on the cost of model calls. A call that could exceed a cap is not made. The caps are shared by all processes
   * with the same store. Default: no caps.
   */
  maxCost?: MaxCost;
  /**
   * Maximum size in bytes of a file that a block stores (default 100 MiB), and of all files that the blocks of one run
   * store in one process (default 1 GiB).
   */
  maxFileBytes?: { file?: number; run?: number };
  limits?: Partial<PlanLimits>;
  /** The addresses that blocks, and `fetch` in the code of function blocks, may access. Default: public addresses. */
  egress?: EgressOptions;
  /**
   * Base URLs of services, by name, which replace their defaults: `{ openai: 'http://localhost:8080/v1' }`. Blocks may
   * access the base URL of a service that they use even if `egress` does not allow it.
   */
  services?: { readonly [name: string]: string };
  /**
   * Credentials of services, by name. Every workflow may use them, and they take precedence over the credentials of a
   * block.
   */
  credentials?: { readonly [name: string]: string };
  /**
   * Rates of services, by name: the number of calls per period that each credential may make. All processes with the
   * same store share them.
   */
  serviceRates?: { readonly [name: string]: ServiceRate };
  /** Credentials that tenants have stored, for blocks of their workflows. Default: none. */
  tenantCredentials?: TenantCredentials;
  /** Skills that tenants have stored, for agents of their workflows. Default: none. */
  tenantSkills?: TenantSkills;
  /**
   * Files that tenants have stored, for blocks and agents of their workflows. Default: none, and deploying warns about
   * blocks that need them.
   */
  tenantFiles?: TenantFiles;
  /** Knowledge bases that tenants have stored. Default: none, as for `tenantFiles`. */
  tenantKnowledge?: TenantKnowledge;
  sandbox?: SandboxLimits;
  /** Provides the dependency images that function blocks select with `sandboxId`. */
  images?: ImageSource;
  /**
   * Returns the workflow that a child run executes. `caller` is the id of the workflow that starts the child, and
   * `reference` the id or name that its block contains; undefined: the caller may not run that workflow. Default: the
   * newest deployed version.
   */
  resolveChild?: (
    caller: string,
    reference: string,
  ) => Promise<ResolvedChild | undefined> | ResolvedChild | undefined;
  /**
   * Returns the tenant of a workflow. Code of different tenants never shares a process, and tenants take turns. A child
   * run always has its parent's tenant. Default: undefined for all workflows, which then share processes.
   */
  tenant?: (workflowId: string) => Promise<string | undefined> | string | undefined;
  /**
   * Returns the URLs at which a person can resume a pause: `url` and `resumeEndpoint` of its output. Fields of the
   * pausing block can refer to both. `token` is the token of the pause, which is not open yet. Default: none.
   */
  pauseLinks?: PauseLinkFactory;
  clock?: Clock;
  /**
   * True (default): recovers the unfinished runs of a data folder when the engine starts, and the runs of a database as
   * soon as no process owns them.
   */
  recover?: boolean;
  /** Receives errors that reach no caller. Default: a Node warning. */
  onError?: (error: unknown, runId: string | undefined) => void;
}

/** A PostgreSQL database that several engines share. */
export interface PostgresEngineOptions extends PostgresOptions {
  /** Milliseconds without a heartbeat after which other processes take over the runs of a process. Default 10,000. */
  leaseMs?: number | undefined;
}

/**
 * The addresses that requests may access, and the maximum size of responses. Link-local and metadata addresses must be
 * listed in `allowPrivate` explicitly.
 */
export interface EgressOptions {
  allowPrivate?: boolean | readonly string[];
  allowHosts?: readonly string[];
  denyHosts?: readonly string[];
  /**
   * Additional allowed targets: `HOST[:PORT]` or `CIDR[:PORT]`, `*` for any port. They do not apply to files whose URLs
   * callers send.
   */
  exceptions?: readonly string[];
  ports?: readonly number[];
  /**
   * Largest response of a request from a block or from code, in bytes after decompression; default 10 MiB. Files have
   * separate limits.
   */
  maxResponseBytes?: number;
  /**
   * The advice in error messages about blocked targets, with `{target}` for HOST:PORT. Default: to add the target to
   * `exceptions`.
   */
  hint?: string;
}

/**
 * Limits of code: times in milliseconds, memory in MiB for one isolate (default 64) or one Python interpreter (default
 * 256).
 */
export interface SandboxLimits {
  maxProcesses?: number;
  memoryMiB?: number;
  cpuMs?: number;
  wallMs?: number;
  /** Largest size of a result and of the input, as JSON; default 4. Code also needs the memory for them. */
  resultMiB?: number;
  /**
   * How strictly the operating system must confine code. A `minimum`, or a `level` other than `best`, is checked when
   * the engine starts (ISOLATION_TOO_LOW). Without them, the level is determined when code first runs.
   */
  isolation?: IsolationOptions;
}
