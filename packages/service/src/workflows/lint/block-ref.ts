import type { Json } from '@heddle/core';
import type { Graph } from '../graph.ts';

/** A block, as it is named in reports. */
export interface BlockRef {
  blockId: string;
  blockName: string | null;
  blockType: string | null;
}

/** Returns how a report names a block. Name and type are null for a block that does not exist. */
export function refOf(graph: Graph, blockId: string): BlockRef {
  const block = Object.hasOwn(graph.blocks, blockId) ? graph.blocks[blockId] : undefined;
  return { blockId, blockName: textOrNull(block?.['name']), blockType: textOrNull(block?.['type']) };
}

export function textOrNull(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
