import type { Clock } from '@heddle/core';
import type { Definitions } from './definitions.ts';
import type { Registry } from './executors/registry.ts';
import type { Runtime } from './local/runtime.ts';
import type { Values } from './local/values.ts';
import type { Stores } from './store/stores.ts';

/** What an engine is made of. */
export interface EngineParts {
  stores: Stores;
  values: Values;
  clock: Clock;
  registry: Registry;
  definitions: Definitions;
  runtime: Runtime;
  close(graceMs: number): Promise<void>;
}
