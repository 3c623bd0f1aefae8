import { BlockError } from '@heddle/core/blocks';
import type { BlockContext, BlockExecutor, BlockResult } from '@heddle/core/blocks';
import type { Asking } from './effect-server.ts';

/**
 * Returns an executor of blocks that call the effect server each time they run. Fields: `ms`, the duration; `fail`, the
 * attempts that fail. The output is the block's name and its other fields.
 */
export function blocksOf(url: string): BlockExecutor[] {
  return (['effect', 'compute'] as const).map((kind) => ({
    types: [kind],
    class: kind,
    execute: (context) => execute(context, kind, url),
  }));
}

async function execute(context: BlockContext, kind: Asking['kind'], url: string): Promise<BlockResult> {
  const { ms = 0, fail = 0, ...fields } = context.fields();
  const { idempotencyKey: key, signal, block } = context;
  const asking: Asking = { key, try: context.attempt, kind, pid: process.pid, ms: Number(ms) };
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(asking), signal });
  await answer.text();
  if (context.attempt <= Number(fail))
    throw new BlockError('BLOCK_FAILED', `Attempt ${context.attempt} fails on purpose.`);
  return { output: { by: block.name, ...fields } };
}
