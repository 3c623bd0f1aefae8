import { isTriggerType } from '@heddle/core/drafts';
import type { JsonObject } from '@heddle/core';
import { containersOf } from '../containers.ts';
import type { Containers, DraftGraph } from '../containers.ts';
import { actualId, skip } from './batch.ts';
import type { Batch, OperationContext } from './batch.ts';
import { addBlock, applyParams, checkFit, isDisabled, levelsOf, skipIfLocked } from './blocks.ts';
import { connectPending, removeEdges } from './connections.ts';
import { DraftEditor, textOr } from './draft-editor.ts';
import { layoutNewBlocks } from './layout.ts';
import { MAX_BLOCKS, MAX_EDGES } from '../draft-schemas.ts';
import type { DeferredEdge, DraftOperation, InputError, OperationsRequest, SkippedItem } from './schemas.ts';

/** A draft after a batch of operations, and the parts that were not applied. */
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
  newId: () => string;
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
  { types, newId }: EditOptions,
): EditOutcome {
  const batch: Batch = {
    editor: new DraftEditor(structuredClone({ blocks: graph.blocks, edges: graph.edges })),
    types,
    newId,
    skipped: [],
    deferred: [],
    inputErrors: [],
    warnings: [],
    ids: new Map(),
    unplaced: new Set(),
    edgesToLaterBlocks: [],
    ports: new Map(),
  };
  let applied = 0;
  for (const operation of request.operations) {
    if (apply(batch, operation)) applied += 1;
    expectSize(batch);
  }
  connectPending(batch);
  expectSize(batch);
  for (const { block_id, enabled } of request.setBlockEnabled ?? []) setEnabled(batch, block_id, enabled);
  if (request.layout === 'targeted') layoutNewBlocks(batch.editor, batch.unplaced);
  const edited = batch.editor.graph();
  return {
    graph: { ...edited, ...containersOf(Object.entries(edited.blocks)), variables: graph.variables },
    applied,
    skipped: batch.skipped,
    deferred: batch.deferred,
    inputValidationErrors: batch.inputErrors,
    mintedBlockIds: Object.fromEntries([...batch.ids].filter(([requestedId, id]) => requestedId !== id)),
    warnings: batch.warnings,
  };
}

function expectSize({ editor }: Batch): void {
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
  const step: OperationContext = { batch, operationType, blockId: actualId(batch, requestedId) };
  if (operation.operation_type === 'insert_into_subflow') return insert(step, requestedId, operation.params);
  if (!batch.editor.find(step.blockId))
    return skip(step, 'block_not_found', `There is no block "${requestedId}".`);
  if (skipIfLocked(step, step.blockId)) return false;
  switch (operation.operation_type) {
    case 'edit':
      edit(step, operation.params);
      return true;
    case 'delete':
      return remove(step);
    case 'extract_from_subflow':
      return extract(step, actualId(batch, operation.params.subflowId));
  }
}

function edit(
  step: OperationContext,
  params: Extract<DraftOperation, { operation_type: 'edit' }>['params'],
): void {
  const { removeEdges: removedEdges, nestedNodes, ...common } = params;
  if (removedEdges) removeEdges(step, removedEdges);
  applyParams(step, common);
  for (const [requestedId, nested] of Object.entries(nestedNodes ?? {})) {
    const nestedStep = { ...step, blockId: actualId(step.batch, requestedId) };
    insert(nestedStep, requestedId, { ...nested, subflowId: step.blockId });
    expectSize(step.batch);
  }
}

type Insertion = Extract<DraftOperation, { operation_type: 'insert_into_subflow' }>['params'];

/** Puts a new or an existing block into a container. */
function insert(
  step: OperationContext,
  requestedId: string,
  { subflowId, type, ...params }: Insertion,
): boolean {
  const { batch, blockId } = step;
  const parent = actualId(batch, subflowId);
  const block = batch.editor.find(blockId);
  if (!block) {
    const newParams = { ...params, ...(type !== undefined && { type }) };
    return addBlock({ ...step, blockId: requestedId }, newParams, parent);
  }
  if (skipIfLocked(step, blockId)) return false;
  if (batch.editor.parentOf(blockId) !== parent && !moveInto(step, block, parent)) return false;
  applyParams(step, params);
  return true;
}

function moveInto(step: OperationContext, block: JsonObject, parent: string): boolean {
  const { batch, blockId } = step;
  if (blockId === parent || batch.editor.ancestors(parent).includes(blockId)) {
    return skip(step, 'nested_subflow_not_allowed', 'A container cannot be inside itself.');
  }
  if (!checkFit(step, { parent, levels: levelsOf(step, blockId) })) return false;
  if (isTriggerType(textOr(block['type'])) || block['triggerMode'] === true) {
    return skip(step, 'invalid_subflow_parent', 'A trigger starts runs: it cannot be in a container.');
  }
  move(step, parent);
  return true;
}

/** Moves a block from its container to the enclosing one. */
function extract(step: OperationContext, subflow: string): boolean {
  const { editor } = step.batch;
  if (editor.parentOf(step.blockId) !== subflow) {
    return skip(step, 'invalid_subflow_parent', `The block is not directly in a container "${subflow}".`);
  }
  move(step, editor.parentOf(subflow));
  return true;
}

function move({ batch, blockId }: OperationContext, parent: string | undefined): void {
  const removedEdges = batch.editor.move(blockId, parent);
  batch.unplaced.add(blockId);
  if (removedEdges.length === 0) return;
  const [edges, were] = removedEdges.length === 1 ? ['edge', 'was'] : ['edges', 'were'];
  batch.warnings.push(
    `${removedEdges.length} ${edges} of the block "${blockId}" ${were} removed: the other end is in another container.`,
  );
}

/** Deletes a block, and for a container all blocks inside. */
function remove(step: OperationContext): boolean {
  const { editor, unplaced } = step.batch;
  const descendants = [...editor.depths(step.blockId).keys()];
  const lockedId = descendants.find((id) => editor.find(id)?.['locked'] === true);
  if (lockedId !== undefined) return skip(step, 'block_locked', `The block "${lockedId}" inside is locked.`);
  for (const id of [step.blockId, ...descendants]) {
    editor.remove(id);
    unplaced.delete(id);
  }
  return true;
}

function setEnabled(batch: Batch, requestedId: string, enabled: boolean): void {
  const step = { batch, operationType: 'set_block_enabled', blockId: actualId(batch, requestedId) };
  const { editor } = batch;
  const block = editor.find(step.blockId);
  if (!block) {
    skip(step, 'block_not_found', `There is no block "${requestedId}".`);
    return;
  }
  if (skipIfLocked(step, step.blockId)) return;
  if (enabled && editor.ancestors(step.blockId).some((id) => isDisabled(editor.find(id)))) {
    skip(step, 'disabled_ancestor', 'A container around the block is disabled. Enable it first.');
    return;
  }
  editor.put(step.blockId, { ...block, enabled });
}
