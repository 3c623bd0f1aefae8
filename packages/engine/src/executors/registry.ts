import { BlockError, EngineError } from '@heddle/core/blocks';
import type { BlockTypeInfo } from '@heddle/core';
import type { BlockConfig, BlockExecutor } from '@heddle/core/blocks';
import type { EngineExecutor } from './services.ts';

/** The executors by block type. */
export type Registry = ReadonlyMap<string, EngineExecutor>;

/**
 * Returns the registry of the built-in and custom executors. Throws EXECUTOR_DUPLICATE if a type is registered twice,
 * and OPTIONS_INVALID if several custom executors have `notify`.
 */
export function createRegistry(
  builtIns: readonly EngineExecutor[],
  customExecutors: readonly BlockExecutor[] = [],
): Registry {
  const registry = new Map<string, EngineExecutor>();
  for (const executor of [...builtIns, ...customExecutors]) {
    for (const type of executor.types) {
      if (registry.has(type)) {
        throw new EngineError(
          'EXECUTOR_DUPLICATE',
          `Two executors are registered for the block type "${type}": register each type once.`,
          { details: { type } },
        );
      }
      registry.set(type, executor);
    }
  }
  requireOneNotifier(customExecutors);
  return registry;
}

/** A notifier calls all notification tools of a pause: a second one would be ignored, or would call them again. */
function requireOneNotifier(customExecutors: readonly BlockExecutor[]): void {
  const notifiers = customExecutors.filter((executor) => executor.notify !== undefined);
  if (notifiers.length <= 1) return;
  const names = notifiers.map(({ types }) => `"${types.join('", "')}"`).join(' and ');
  throw new EngineError(
    'OPTIONS_INVALID',
    `Only one executor can have the method "notify", which sends all notifications of a pause. The executors for ${names} have it.`,
  );
}

/** Returns the properties of the registered types for the compiler. */
export function blockTypeInfos(registry: Registry): BlockTypeInfo[] {
  return [...registry].map(([type, executor]) => ({
    type,
    class: executor.class,
    ...(executor.outputs === undefined ? {} : { outputs: executor.outputs }),
    ...(executor.required === undefined ? {} : { required: executor.required }),
    ...(executor.requiredFieldsByOperation === undefined
      ? {}
      : { requiredFieldsByOperation: executor.requiredFieldsByOperation }),
    ...(executor.featureByOperation === undefined ? {} : { featureByOperation: executor.featureByOperation }),
  }));
}

/** Returns the error BLOCK_TYPE_UNKNOWN for a block whose type has no executor. */
export function unknownTypeError({ name, type }: Pick<BlockConfig, 'name' | 'type'>): BlockError {
  return new BlockError(
    'BLOCK_TYPE_UNKNOWN',
    `No executor is registered for the block type "${type}". Mock the block ({"blocks": {${JSON.stringify(name)}: {…}}}) or its type ` +
      `({"types": {${JSON.stringify(type)}: {…}}}), or register an executor for it.`,
    { retryable: false, details: { type } },
  );
}
