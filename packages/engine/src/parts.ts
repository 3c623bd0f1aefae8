import type { Clock } from '@heddle/core';
import type { Definitions } from './definitions.ts';
import type { Registry } from './executors/registry.ts';
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
  close(graceMs: number): Promise<void>;
}
