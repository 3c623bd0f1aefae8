import type { Compilation } from '../compilation.ts';
import type { BlockConfig } from '../plan.ts';
import { checkBlocks } from './blocks.ts';
import { checkJsonFields } from './json-fields.ts';
import { checkNames } from './names.ts';
import { checkReach, reachedFrom } from './reach.ts';
import { checkReferences } from './references.ts';
import { checkStarts } from './starts.ts';

/** Every check that looks at the workflow as a whole; findings go to the compilation. */
export function runChecks(
  compilation: Compilation,
  starts: readonly string[],
  blocks: ReadonlyMap<string, BlockConfig>,
): void {
  checkStarts(compilation, starts);
  checkNames(compilation);
  checkBlocks(compilation, blocks);
  checkJsonFields(compilation, blocks);
  const reached = reachedFrom(compilation.structure, starts);
  checkReach(compilation, reached);
  checkReferences(compilation, reached, blocks);
}
