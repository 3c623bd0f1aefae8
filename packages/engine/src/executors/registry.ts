import { EngineError } from '@heddle/core/blocks';
import type { BlockExecutor, BlockTypeInfo } from '@heddle/core/blocks';
import type { EngineExecutor } from './services.ts';

/** Which executor runs which type of block. */
export type Registry = ReadonlyMap<string, EngineExecutor>;

/** The registry of an engine's own executors and the embedder's. Throws EXECUTOR_DUPLICATE: nothing is replaced silently. */
export function createRegistry(
  builtIns: readonly EngineExecutor[],
  custom: readonly BlockExecutor[] = [],
): Registry {
  const registry = new Map<string, EngineExecutor>();
  for (const executor of [...builtIns, ...custom]) {
    for (const type of executor.types) {
      if (registry.has(type)) {
        throw new EngineError(
          'EXECUTOR_DUPLICATE',
          `Two executors run blocks of the type "${type}": register each type once, under a name that no other has.`,
          { details: { type } },
        );
      }
      registry.set(type, executor);
    }
  }
  return registry;
}

/** What the compiler has to know of the registered types. */
export function blockTypeInfos(registry: Registry): BlockTypeInfo[] {
  return [...registry].map(([type, executor]) => ({
    type,
    class: executor.class,
    ...(executor.outputs === undefined ? {} : { outputs: executor.outputs }),
    ...(executor.required === undefined ? {} : { required: executor.required }),
  }));
}
