import type { Json } from '@heddle/core';
import type { PortResolver } from '@heddle/core/drafts';
import type { DraftEditor } from './draft-editor.ts';
import type { DeferredEdge, InputError, SkippedItem } from './schemas.ts';

/** An edge to a block that a later operation of the batch adds. */
export interface EdgeToLaterBlock {
  source: string;
  handle: string;
  /** The id of the target in the operation. */
  requestedId: string;
  targetHandle: string | undefined;
  operationType: string;
}

/** The state of a batch of operations: the draft, and the results for the response. */
export interface Batch {
  editor: DraftEditor;
  /** Block types that may be added. */
  types: ReadonlySet<string>;
  createId: () => string;
  skippedItems: SkippedItem[];
  /** Edges that were added after their target blocks, for the response. */
  deferredEdges: DeferredEdge[];
  inputErrors: InputError[];
  warnings: string[];
  /** The actual ids of added blocks, by the requested ids. */
  actualIds: Map<string, string>;
  /** Blocks that need a position. */
  unplacedBlockIds: Set<string>;
  /** Edges whose target blocks have not been added yet. */
  edgesToLaterBlocks: EdgeToLaterBlock[];
  /** Cached port resolvers by block, each with the values from which it was created. */
  portResolvers: Map<string, { values: readonly (Json | undefined)[]; resolve: PortResolver }>;
}

/** The operation that is being applied, and its block. */
export interface OperationContext {
  batch: Batch;
  operationType: string;
  blockId: string;
}

/** Records why something was not applied. Returns false. */
export function skip(
  { batch, operationType, blockId }: OperationContext,
  type: SkippedItem['type'],
  reason: string,
  details?: { [key: string]: Json },
): false {
  batch.skippedItems.push({ type, operationType, blockId, reason, ...(details && { details }) });
  return false;
}

/** Returns the id of a block in the draft. `requestedId`: the id of the block in an operation. */
export function actualIdOf({ actualIds }: Batch, requestedId: string): string {
  return actualIds.get(requestedId) ?? requestedId;
}
