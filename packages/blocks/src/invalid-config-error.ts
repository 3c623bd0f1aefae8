import { BlockError } from '@heddle/core/blocks';
import type { BlockContext } from '@heddle/core/blocks';

/** Returns a BlockError that is not retryable: BLOCK_CONFIG_INVALID with the message `The block "…" <problem>.` */
export function invalidConfigError({ block }: Pick<BlockContext, 'block'>, problem: string): BlockError {
  return new BlockError('BLOCK_CONFIG_INVALID', `The block "${block.name}" ${problem}.`, {
    retryable: false,
  });
}
