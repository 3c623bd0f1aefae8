import type { Clock } from '@heddle/core';
import type { Definitions } from '../definitions.ts';
import type { Registry } from '../executors/registry.ts';
import type { Outlet } from '../executors/services.ts';
import type { SharedStores } from '../store/stores.ts';
import type { CodeService } from './code.ts';
import type { Keeper } from './keeper.ts';
import type { Values } from './values.ts';

/** What the runs of a process share. */
export interface RuntimeParts {
  stores: SharedStores;
  values: Values;
  clock: Clock;
  registry: Registry;
  env: { readonly [name: string]: string };
  keeper: Keeper;
  code: CodeService;
  /** Most that code may use, in milliseconds. */
  codeLimits: { wallMs?: number; cpuMs?: number };
  egress(): Promise<Outlet>;
  concurrency: { engine: number; run: number };
  definitions: Definitions;
  /** The id of the workflow that a run's block may mean; undefined: none. */
  callee: (this: void, caller: string, reference: string) => Promise<string | undefined> | string | undefined;
  /** Whose code a workflow's blocks run; undefined: of whoever the engine belongs to. */
  tenant: (this: void, workflowId: string) => Promise<string | undefined> | string | undefined;
  report(error: unknown, runId: string | undefined): void;
}
