import { isTriggerType } from '@heddle/core/drafts';
import type { JsonObject } from '@heddle/core';
import { containersOf } from '../containers.ts';
import type { Containers, DraftGraph } from '../containers.ts';
import { actualIdOf, skip } from './batch.ts';
import type { Batch, OperationContext } from './batch.ts';
import { addBlock, applyParams, checkNesting, isDisabled, levelCountOf, skipIfLocked } from './blocks.ts';
import { addDeferredEdges, removeEdges } from './connections.ts';
import { DraftEditor, stringOrDefault } from './draft-editor.ts';
import { layoutNewBlocks } from './layout.ts';
import { MAX_BLOCKS, MAX_EDGES } from '../draft-schemas.ts';
import type { DeferredEdge, DraftOperation, InputError, OperationsRequest, SkippedItem } from './schemas.ts';

/** A draft after a batch of operations, and the operations and parameters that were not applied. */
export interface EditOutcome {
  graph: DraftGraph & Containers;
  /** Number of operations that were applied, at least in part. */
  applied: number;
  skipped: SkippedItem[];
  /** Edges to blocks that a later operation added. They are in the draft. */
  deferred: DeferredEdge[];
  inputValidationErrors: InputError[];
  /** The ids of added blocks, by the requested ids, where they differ. */
  mintedBlockIds: { [requestedId: string]: string };
  warnings: string[];
}

export interface EditOptions {
  /** Block types that may be added. */
  types: ReadonlySet<string>;
  /** Returns a new id for a block or an edge. */
  createId: () => string;
}

/** Thrown if the draft would exceed the limits of drafts. */
export class DraftTooLargeError extends Error {
  override readonly name = 'DraftTooLargeError';
}

/**
 * Applies the operations in order, then `setBlockEnabled`. Does not change `graph`.
 *
 * @throws {DraftTooLargeError} if the draft would have too many blocks or edges.
 */
export function applyOperations(
  graph: DraftGraph,
  request: OperationsRequest,
  { types, createId }: EditOptions,
): EditOutcome {
  const batch: Batch = {
    editor: new DraftEditor(structuredClone({ blocks: graph.blocks, edges: graph.edges })),
    types,
    createId,
    skippedItems: [],
    deferredEdges: [],
    inputErrors: [],
    warnings: [],
    actualIds: new Map(),
    unplacedBlockIds: new Set(),
    edgesToLaterBlocks: [],
    portResolvers: new Map(),
  };
  let applied = 0;
  for (const operation of request.operations) {
    if (apply(batch, operation)) applied += 1;
    requireAllowedSize(batch);
  }
  addDeferredEdges(batch);
  requireAllowedSize(batch);
  for (const { block_id, enabled } of request.setBlockEnabled ?? []) setEnabled(batch, block_id, enabled);
  if (request.layout === 'targeted') layoutNewBlocks(batch.editor, batch.unplacedBlockIds);
  const editedGraph = batch.editor.toGraph();
  return {
    graph: {
      ...editedGraph,
      ...containersOf(Object.entries(editedGraph.blocks)),
      variables: graph.variables,
    },
    applied,
    skipped: batch.skippedItems,
    deferred: batch.deferredEdges,
    inputValidationErrors: batch.inputErrors,
    mintedBlockIds: Object.fromEntries(
      [...batch.actualIds].filter(([requestedId, id]) => requestedId !== id),
    ),
    warnings: batch.warnings,
  };
}

function requireAllowedSize({ editor }: Batch): void {
  const { size } = editor.blocks;
  if (size > MAX_BLOCKS) throw new DraftTooLargeError(`A draft has at most ${MAX_BLOCKS} blocks`);
  if (editor.edgeCount > MAX_EDGES) throw new DraftTooLargeError(`A draft has at most ${MAX_EDGES} edges`);
}

/** Returns true if the operation was applied, at least in part. */
function apply(batch: Batch, operation: DraftOperation): boolean {
  const { operation_type: operationType, block_id: requestedId } = operation;
  if (operation.operation_type === 'add') {
    return addBlock({ batch, operationType, blockId: requestedId }, operation.params);
  }
  const context: OperationContext = { batch, operationType, blockId: actualIdOf(batch, requestedId) };
  if (operation.operation_type === 'insert_into_subflow')
    return insert(context, requestedId, operation.params);
  if (!batch.editor.find(context.blockId))
    return skip(context, 'block_not_found', `There is no block "${requestedId}".`);
  if (skipIfLocked(context, context.blockId)) return false;
  switch (operation.operation_type) {
    case 'edit':
      edit(context, operation.params);
      return true;
    case 'delete':
      return remove(context);
    case 'extract_from_subflow':
      return extract(context, actualIdOf(batch, operation.params.subflowId));
  }
}

function edit(
  context: OperationContext,
  params: Extract<DraftOperation, { operation_type: 'edit' }>['params'],
): void {
  const { removeEdges: removedEdges, nestedNodes, ...commonParams } = params;
  if (removedEdges) removeEdges(context, removedEdges);
  applyParams(context, commonParams);
  for (const [requestedId, nestedParams] of Object.entries(nestedNodes ?? {})) {
    const nestedContext = { ...context, blockId: actualIdOf(context.batch, requestedId) };
    insert(nestedContext, requestedId, { ...nestedParams, subflowId: context.blockId });
    requireAllowedSize(context.batch);
  }
}

type Insertion = Extract<DraftOperation, { operation_type: 'insert_into_subflow' }>['params'];

/** Puts a new or an existing block into a container. */
function insert(
  context: OperationContext,
  requestedId: string,
  { subflowId, type, ...params }: Insertion,
): boolean {
  const { batch, blockId } = context;
  const parent = actualIdOf(batch, subflowId);
  const block = batch.editor.find(blockId);
  if (!block) {
    const newParams = { ...params, ...(type !== undefined && { type }) };
    return addBlock({ ...context, blockId: requestedId }, newParams, parent);
  }
  if (skipIfLocked(context, blockId)) return false;
  if (batch.editor.parentOf(blockId) !== parent && !moveInto(context, block, parent)) return false;
  applyParams(context, params);
  return true;
}

function moveInto(context: OperationContext, block: JsonObject, parent: string): boolean {
  const { batch, blockId } = context;
  if (blockId === parent || batch.editor.ancestors(parent).includes(blockId)) {
    return skip(context, 'nested_subflow_not_allowed', 'A container cannot be inside itself.');
  }
  if (!checkNesting(context, { parent, levels: levelCountOf(context, blockId) })) return false;
  if (isTriggerType(stringOrDefault(block['type'])) || block['triggerMode'] === true) {
    return skip(context, 'invalid_subflow_parent', 'A trigger starts runs: it cannot be in a container.');
  }
  move(context, parent);
  return true;
}

/** Moves a block from its container to the enclosing one. */
function extract(context: OperationContext, subflowId: string): boolean {
  const { editor } = context.batch;
  if (editor.parentOf(context.blockId) !== subflowId) {
    return skip(
      context,
      'invalid_subflow_parent',
      `The block is not directly in a container "${subflowId}".`,
    );
  }
  move(context, editor.parentOf(subflowId));
  return true;
}

function move({ batch, blockId }: OperationContext, parent: string | undefined): void {
  const removedEdges = batch.editor.move(blockId, parent);
  batch.unplacedBlockIds.add(blockId);
  if (removedEdges.length === 0) return;
  const [noun, verb] = removedEdges.length === 1 ? ['edge', 'was'] : ['edges', 'were'];
  batch.warnings.push(
    `${removedEdges.length} ${noun} of the block "${blockId}" ${verb} removed: the other end is in another container.`,
  );
}

/** Deletes a block, and for a container all blocks inside. */
function remove(context: OperationContext): boolean {
  const { editor, unplacedBlockIds } = context.batch;
  const descendantIds = [...editor.depths(context.blockId).keys()];
  const lockedId = descendantIds.find((id) => editor.find(id)?.['locked'] === true);
  if (lockedId !== undefined)
    return skip(context, 'block_locked', `The block "${lockedId}" inside is locked.`);
  for (const id of [context.blockId, ...descendantIds]) {
    editor.remove(id);
    unplacedBlockIds.delete(id);
  }
  return true;
}

function setEnabled(batch: Batch, requestedId: string, enabled: boolean): void {
  const context = { batch, operationType: 'set_block_enabled', blockId: actualIdOf(batch, requestedId) };
  const { editor } = batch;
  const block = editor.find(context.blockId);
  if (!block) {
    skip(context, 'block_not_found', `There is no block "${requestedId}".`);
    return;
  }
  if (skipIfLocked(context, context.blockId)) return;
  if (enabled && editor.ancestors(context.blockId).some((id) => isDisabled(editor.find(id)))) {
    skip(context, 'disabled_ancestor', 'A container around the block is disabled. Enable it first.');
    return;
  }
  editor.put(context.blockId, { ...block, enabled });
}
