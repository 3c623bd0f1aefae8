import { BlockError } from '@heddle/core/blocks';
import type { BlockConfig } from '@heddle/core/blocks';

/** The failure of a block whose type nothing runs: what to mock or register. */
export function unknownType({ name, type }: Pick<BlockConfig, 'name' | 'type'>): BlockError {
  return new BlockError(
    'BLOCK_TYPE_UNKNOWN',
    `Nothing runs blocks of the type "${type}". Mock the block ({"blocks": {${JSON.stringify(name)}: {…}}}) or its type ` +
      `({"types": {${JSON.stringify(type)}: {…}}}), or register an executor for it.`,
    { retryable: false, details: { type } },
  );
}
