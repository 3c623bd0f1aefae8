import type { Clock } from '@heddle/core';
import type { Definitions } from './definitions.ts';
import type { Registry } from './executors/registry.ts';
import type { Outlet } from './executors/services.ts';
import type { Values } from './local/values.ts';
import type { RuntimePort } from './runtime-port.ts';
import type { SharedStores } from './store/stores.ts';

/** What an engine is made of. */
export interface EngineParts {
  stores: SharedStores;
  values: Values;
  clock: Clock;
  registry: Registry;
  definitions: Definitions;
  runtime: RuntimePort;
  /** The way out by which files of inputs are fetched. */
  outlet: () => Promise<Outlet>;
  close(graceMs: number): Promise<void>;
}
