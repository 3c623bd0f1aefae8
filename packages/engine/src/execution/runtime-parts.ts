import type { Clock } from '@heddle/core';
import type { ResolvedChild, Definitions } from '../definitions.ts';
import type { Registry } from '../executors/registry.ts';
import type { HttpClient } from '../executors/services.ts';
import type { TenantOf } from '../files/storage.ts';
import type { SharedStores } from '../store/stores.ts';
import type { CodeService } from './code-service.ts';
import type { Environments } from './run-environment.ts';
import type { Values } from '../records/values.ts';

/** What the runs of a process share. */
export interface RuntimeParts {
  stores: SharedStores;
  values: Values;
  clock: Clock;
  registry: Registry;
  environments: Environments;
  code: CodeService;
  /** Most that code may use, in milliseconds. */
  codeLimits: { wallMs?: number; cpuMs?: number };
  egress(): Promise<HttpClient>;
  concurrency: { engine: number; run: number };
  definitions: Definitions;
  /** The workflow that a run's block may mean, and its live version; undefined: none. */
  resolveChild: (
    this: void,
    caller: string,
    reference: string,
  ) => Promise<ResolvedChild | undefined> | ResolvedChild | undefined;
  /** Whose code a workflow's blocks run; undefined: of whoever the engine belongs to. */
  tenant: TenantOf;
  report(error: unknown, runId: string | undefined): void;
}
