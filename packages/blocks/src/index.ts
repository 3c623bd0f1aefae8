/** Blocks that reach outside: agents and the models that they call. */
// Says which Node.js is needed before anything else fails.
import '@heddle/core/blocks';
import type { BlockExecutor } from '@heddle/core/blocks';
import type { ExecutorServices } from '@heddle/engine';
import type { BlocksOptions } from './options.ts';

export { knownModels } from './models/catalog.ts';
export type { ModelInfo, Prices } from './models/catalog.ts';
export type { AgentTool, AgentToolCall, BlocksOptions } from './options.ts';

/** Returns the executors of all blocks of this package, for `createEngine({ blocks })`. What a block needs loads at its first use. */
export function blocks(options: BlocksOptions = {}): BlockExecutor[] {
  const agent: BlockExecutor<ExecutorServices> = {
    types: ['agent'],
    class: 'effect',
    execute: async (context) => (await import('./agent/agent.ts')).runAgent(context, options),
  };
  return [agent as BlockExecutor];
}
