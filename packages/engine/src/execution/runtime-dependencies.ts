import type { Clock } from '@heddle/core';
import type { ResolvedChild, Definitions } from '../definitions.ts';
import type { Registry } from '../executors/registry.ts';
import type {
  ConfiguredService,
  ExecutorServices,
  HttpClient,
  PauseLinkFactory,
} from '../executors/services.ts';
import type { TenantLookup } from '../files/storage.ts';
import type { TenantSkills } from './skills.ts';
import type { TenantFiles } from './tenant-files.ts';
import type { TenantKnowledge } from './tenant-knowledge.ts';
import type { TenantCredentials } from '../secrets/credentials.ts';
import type { Values } from '../records/values.ts';
import type { SharedStores } from '../store/stores.ts';
import type { CodeService } from './code-service.ts';
import type { Connections } from './run-connections.ts';
import type { SpendingCaps } from './spending-caps.ts';
import type { Environments } from './run-environment.ts';

/** The dependencies that all runs of a process share. */
export interface RuntimeDependencies {
  stores: SharedStores;
  values: Values;
  clock: Clock;
  registry: Registry;
  environments: Environments;
  codeService: CodeService;
  connections: Connections;
  /** Time limits of code, in milliseconds. */
  codeLimits: { wallMs?: number; cpuMs?: number };
  blockHttpClient(): Promise<HttpClient>;
  service(name: string): Promise<ConfiguredService>;
  /** Undefined: tenants have no credentials. */
  credentials: TenantCredentials | undefined;
  skills: TenantSkills | undefined;
  tenantFiles: TenantFiles | undefined;
  tenantKnowledge: TenantKnowledge | undefined;
  /** The caps on the cost of model calls. */
  maxCost: SpendingCaps;
  /** Maximum number of bytes of files that the blocks of one run store in this process. */
  maxRunFileBytes: number;
  /** Maximum number of effects that run at the same time, in the engine and in each run. */
  concurrency: { engine: number; run: number };
  definitions: Definitions;
  pauseLinks: PauseLinkFactory | undefined;
  /** Calls the notification tools of pauses. Undefined if no executor can call them. */
  notify: ExecutorServices['notify'];
  /** Returns the workflow that a block refers to and its live version; undefined if there is none. */
  resolveChild: (
    this: void,
    caller: string,
    reference: string,
  ) => Promise<ResolvedChild | undefined> | ResolvedChild | undefined;
  /** Returns the tenant of a workflow; undefined if it has none. */
  tenant: TenantLookup;
  /** True if the host has set both `tenant` and `resolveChild`. */
  separatesTenants: boolean;
  onError(error: unknown, runId: string | undefined): void;
}
