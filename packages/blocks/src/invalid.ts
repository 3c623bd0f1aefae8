import { BlockError } from '@heddle/core/blocks';
import type { BlockContext } from '@heddle/core/blocks';

/** Returns BLOCK_CONFIG_INVALID: `The block "…" <why>.` A retry would not help. */
export function invalid({ block }: Pick<BlockContext, 'block'>, why: string): BlockError {
  return new BlockError('BLOCK_CONFIG_INVALID', `The block "${block.name}" ${why}.`, { retryable: false });
}
