import type { Block } from '../schema/workflow.ts';

/** A field that is being compiled: whose it is, and where it stands in the input. */
export interface FieldLocation {
  block: Block;
  path: (string | number)[];
}

/** What sort of field it is: an unknown name is worse in code than in text. */
export type CompiledFieldKind = 'text' | 'code' | 'expression';

/** The site of a sub-block's value. */
export function fieldLocation(block: Block, name: string): FieldLocation {
  return { block, path: ['blocks', block.id, 'subBlocks', name, 'value'] };
}
