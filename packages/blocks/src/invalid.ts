import { BlockError } from '@heddle/core/blocks';
import type { BlockContext } from '@heddle/core/blocks';

/** Returns a BlockError that is not retryable: BLOCK_CONFIG_INVALID with the message `The block "…" <why>.` */
export function invalid({ block }: Pick<BlockContext, 'block'>, why: string): BlockError {
  return new BlockError('BLOCK_CONFIG_INVALID', `The block "${block.name}" ${why}.`, { retryable: false });
}
