import type { Clock } from '@heddle/core';
import type { Definitions } from './definitions.ts';
import type { Registry } from './executors/registry.ts';
import type { TenantOf } from './files/storage.ts';
import type { HttpClient } from './executors/services.ts';
import type { Environments } from './execution/run-environment.ts';
import type { Values } from './records/values.ts';
import type { RuntimePort } from './runtime-port.ts';
import type { SharedStores } from './store/stores.ts';

/** What an engine is made of. */
export interface EngineParts {
  stores: SharedStores;
  values: Values;
  clock: Clock;
  registry: Registry;
  definitions: Definitions;
  environments: Environments;
  runtime: RuntimePort;
  /** Whose a workflow is, by its id; undefined: the engine has no tenants. */
  tenant: TenantOf;
  /** The way out by which files of inputs are fetched. */
  httpClient: () => Promise<HttpClient>;
  close(graceMs: number): Promise<void>;
}
