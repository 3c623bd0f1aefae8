import type { BlockExecutor, Clock, PlanLimits } from '@heddle/core';
import type { ImageSource, IsolationOptions } from '@heddle/sandbox';
import type { ResolvedChild } from './definitions.ts';
import type { EnvironmentValue, TenantEnvironments } from './execution/run-environment.ts';
import type { RuntimeProvider } from './runtime-port.ts';
import type { PostgresOptions } from './store/open-postgres.ts';

/** Options of an engine; every one has a default that works on a laptop. */
export interface EngineOptions {
  /** Where runs run; default: in this process, over `data`. Another runtime brings its own stores, and `data` and `durability` are its affair. */
  runtime?: RuntimeProvider;
  /** Data folder; absent: everything in memory, gone with the process. */
  data?: string;
  /** A PostgreSQL database in place of the folder: any number of processes run its runs, and take over from each other. */
  postgres?: PostgresPlace;
  /** `process` (default): nothing is lost when the process dies; `power`: nor when the machine does. */
  durability?: 'process' | 'power';
  /**
   * Values of `{{NAME}}` for workflows that belong to no tenant. A text is a secret: redacted wherever the data of a run
   * is recorded or shown that can read it. A value that may be seen is given as `{ value, secret: false }`.
   */
  env?: { [name: string]: EnvironmentValue };
  /** Values of `{{NAME}}` for the workflows of each tenant; default: they have none. */
  environments?: TenantEnvironments;
  /** Executors of block types of your own; see `defineBlock`. */
  blocks?: readonly BlockExecutor[];
  /** Effect blocks and sandboxes that run at once: over the engine (default 64), and within one run (default 16). */
  concurrency?: { engine?: number; run?: number };
  limits?: Partial<PlanLimits>;
  /** Which addresses `api` blocks and `fetch` in function blocks may reach; default: public ones. */
  egress?: EgressOptions;
  sandbox?: SandboxLimits;
  /** Where the packages come from that function blocks import: opened by the `sandboxId` of a block. */
  images?: ImageSource;
  /**
   * The workflow that another one, `caller` by its id, means by an id or a name when it starts a child; undefined: there
   * is none that it may run. Default: the newest version that was deployed with this id or name.
   */
  resolveChild?: (
    caller: string,
    reference: string,
  ) => Promise<ResolvedChild | undefined> | ResolvedChild | undefined;
  /**
   * Whose workflow this is, by its id: code of different tenants never shares a process, and they take turns. A child is
   * always of its parent's tenant. Undefined, and the default: all belong to one.
   */
  tenant?: (workflowId: string) => Promise<string | undefined> | string | undefined;
  clock?: Clock;
  /** Take up the open runs of the data folder at the start, and of a database those that nobody has, whenever there are some (default true). */
  takeUp?: boolean;
  /** Called with what went wrong in the background and reached no caller. */
  onError?: (error: unknown, runId: string | undefined) => void;
}

/** A PostgreSQL database whose runs several processes run. */
export interface PostgresPlace extends PostgresOptions {
  /** After so many milliseconds in which a process was not heard of, others take up its runs. Default 10,000. */
  leaseMs?: number | undefined;
}

/** Where requests may go. Link-local and metadata addresses need a range of their own in `allowPrivate`. */
export interface EgressOptions {
  allowPrivate?: boolean | readonly string[];
  allowHosts?: readonly string[];
  denyHosts?: readonly string[];
  /** Allowed besides: `HOST[:PORT]` or `CIDR[:PORT]`, `*` for any port. Files that callers name by an address are not fetched there. */
  exceptions?: readonly string[];
  ports?: readonly number[];
  /** What refusals say to do, `{target}` being HOST:PORT; default: to add it to `exceptions`. */
  remedy?: string;
}

/** What code may use: times in milliseconds, memory in MiB, of one isolate (64 by default) or of one Python interpreter (256). */
export interface SandboxLimits {
  maxProcesses?: number;
  memoryMiB?: number;
  cpuMs?: number;
  wallMs?: number;
  /** Largest result as JSON, and what code is given together; default 4. Code needs the memory for it too. */
  resultMiB?: number;
  /**
   * How far the operating system has to confine code. A `minimum`, or a `level` other than `best`, is looked at when the
   * engine starts (ISOLATION_TOO_LOW); else at the first code.
   */
  isolation?: IsolationOptions;
}
