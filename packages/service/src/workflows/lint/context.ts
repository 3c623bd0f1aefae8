import type { Json } from '@heddle/core';
import type { LintReport } from '../draft-schemas.ts';
import type { Graph } from '../graph.ts';
import type { RequiredFields } from './required-fields.ts';

/**
 * The data against which a draft is checked, besides the workflows of its workspace. A check whose data is undefined is
 * skipped.
 */
export interface LintContext {
  /** The required fields of block types. */
  requiredFields: RequiredFields | undefined;
  /** The names of the values that the engine resolves for the workspace. */
  environmentNames: ReadonlySet<string> | undefined;
  hasSandboxes: boolean;
  /** The tools that agents can call. */
  tools: readonly { id: string }[] | undefined;
}

/** Maximum length of each list of a report that can have more items than the draft has blocks. */
export const MAX_LISTED_ITEMS = 500;

/** Maximum length of a value of the draft that a report repeats. */
const MAX_SHOWN_CHARACTERS = 200;

/** Returns the value, shortened for a report. */
export function truncateForReport(text: string): string {
  return text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS - 1)}…` : text;
}

/** Returns how a report names a block. Name and type are null for a block that does not exist. */
export function blockRefOf(graph: Graph, blockId: string): LintReport['orphanBlocks'][number] {
  const block = Object.hasOwn(graph.blocks, blockId) ? graph.blocks[blockId] : undefined;
  return { blockId, blockName: stringOrNull(block?.['name']), blockType: stringOrNull(block?.['type']) };
}

export function stringOrNull(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
