import { builtInExecutors } from '../../executors/built-ins.ts';
import { createRegistry } from '../../executors/registry.ts';
import { partsOf } from '../../assemble.ts';
import type { RuntimeParts } from '../../execution/runtime-parts.ts';
import type { EngineOptions } from '../../options.ts';
import type { SharedStores } from '../../store/stores.ts';

/** What blocks run with, without an engine: for workers of other runtimes. */
export interface Host {
  parts: RuntimeParts;
  /** Stops the sandbox. The stores stay open. */
  close(): Promise<void>;
}

/** The parts of an engine with these options, over stores that are open. Throws EXECUTOR_DUPLICATE, OPTIONS_INVALID. */
export function createHost(
  stores: SharedStores,
  options: Omit<EngineOptions, 'runtime' | 'postgres' | 'durability'>,
): Host {
  const parts = partsOf(stores, createRegistry(builtInExecutors, options.blocks), options);
  return { parts, close: () => parts.code.close() };
}
