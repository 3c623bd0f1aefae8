import { BlockError } from '@heddle/core/blocks';
import type { BlockContext, BlockExecutor, BlockResult } from '@heddle/core/blocks';
import type { EffectRequest } from './effect-server.ts';

/**
 * Returns executors of blocks of the types `effect` and `compute`, which call the effect server each time they run.
 * Fields: `ms`, the duration; `fail`, the number of attempts that fail. The output is the block's name and its other
 * fields.
 */
export function effectExecutors(url: string): BlockExecutor[] {
  return (['effect', 'compute'] as const).map((kind) => ({
    types: [kind],
    class: kind,
    execute: (context) => execute(context, kind, url),
  }));
}

async function execute(
  context: BlockContext,
  kind: EffectRequest['kind'],
  url: string,
): Promise<BlockResult> {
  const { ms = 0, fail = 0, ...fields } = context.fields();
  const { idempotencyKey: key, signal, block } = context;
  const request: EffectRequest = { key, try: context.attempt, kind, pid: process.pid, ms: Number(ms) };
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(request), signal });
  await response.text();
  if (context.attempt <= Number(fail))
    throw new BlockError('BLOCK_FAILED', `Attempt ${context.attempt} fails on purpose.`);
  return { output: { blockName: block.name, ...fields } };
}
