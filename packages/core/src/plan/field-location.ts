import type { Block } from '../schema/workflow.ts';

/** A field that is being compiled: its block and its path in the input. */
export interface FieldLocation {
  block: Block;
  path: (string | number)[];
}

/** The kind of a field. It decides the severity of unknown names. */
export type CompiledFieldKind = 'text' | 'code' | 'expression';

/** Returns the location of a field's value. */
export function fieldLocation(block: Block, name: string): FieldLocation {
  return { block, path: ['blocks', block.id, 'subBlocks', name, 'value'] };
}
