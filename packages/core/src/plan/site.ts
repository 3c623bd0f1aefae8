import type { Block } from '../schema/workflow.ts';

/** A field that is being compiled: whose it is, and where it stands in the input. */
export interface Site {
  block: Block;
  path: (string | number)[];
}

/** What sort of field it is: an unknown name is worse in code than in text. */
export type SiteKind = 'text' | 'code' | 'expression';

/** The site of a sub-block's value. */
export function fieldSite(block: Block, name: string): Site {
  return { block, path: ['blocks', block.id, 'subBlocks', name, 'value'] };
}
