import { isReserved, isTriggerType, MAX_NESTING, normalizeName, TRIGGER_PRIORITY } from '@heddle/core/drafts';
import type { JsonObject } from '@heddle/core';
import { isContainer, objectOrEmpty } from '../containers.ts';
import { actualIdOf, skip } from './batch.ts';
import type { OperationContext } from './batch.ts';
import { connect } from './connections.ts';
import { stringOrDefault } from './draft-editor.ts';
import { setInputs } from './inputs.ts';
import type { AddBlockParams } from './schemas.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Trigger types that a draft has at most once. */
const SINGLETON_TRIGGER_TYPES: ReadonlySet<string> = new Set(TRIGGER_PRIORITY);
/** Block types, besides triggers and containers, that are never retried. */
const NEVER_RETRIED_TYPES: ReadonlySet<string> = new Set(['human_in_the_loop', 'note']);

/** Adds a block. Returns true if it was added. */
export function addBlock(context: OperationContext, params: AddBlockParams, parent?: string): boolean {
  const { batch, blockId: requestedId } = context;
  const { type, name } = params;
  if (type === undefined || name === undefined) {
    return skip(context, 'missing_required_params', 'A new block needs a type and a name.');
  }
  if (batch.editor.find(actualIdOf(batch, requestedId))) {
    return skip(
      context,
      'duplicate_block_name',
      `A block with the id "${requestedId}" already exists. Edit it.`,
    );
  }
  if (!checkType(context, type, parent) || !checkName(context, name)) return false;
  if (parent !== undefined && !checkNesting(context, { parent, levels: isContainer(type) ? 1 : 0 }))
    return false;
  const id = UUID.test(requestedId) ? requestedId : batch.createId();
  batch.actualIds.set(requestedId, id);
  batch.editor.put(id, newBlock(id, { type, name, parent }));
  batch.unplacedBlockIds.add(id);
  applyParams({ ...context, blockId: id }, params);
  return true;
}

function newBlock(
  id: string,
  { type, name, parent }: { type: string; name: string; parent: string | undefined },
): JsonObject {
  const data: JsonObject = isContainer(type) ? { width: 500, height: 300 } : {};
  if (parent !== undefined) Object.assign(data, { parentId: parent, extent: 'parent' });
  const position = { x: 0, y: 0 };
  return { id, type, name, position, subBlocks: {}, outputs: {}, enabled: true, data };
}

/** Sets the parameters that add, edit and insert have in common. Skips invalid parameters and applies the others. */
export function applyParams(context: OperationContext, params: Omit<AddBlockParams, 'type'>): void {
  const { batch, blockId } = context;
  const currentBlock = batch.editor.find(blockId) ?? {};
  const block: JsonObject = { ...currentBlock };
  const { name, inputs, retry, triggerMode, advancedMode } = params;
  if (name !== undefined && name !== currentBlock['name'] && checkName(context, name)) block['name'] = name;
  if (triggerMode !== undefined) block['triggerMode'] = triggerMode;
  if (advancedMode !== undefined) block['advancedMode'] = advancedMode;
  if (retry === null) delete block['retry'];
  else if (retry !== undefined && checkRetry(context, block)) block['retry'] = retry as JsonObject;
  if (inputs !== undefined) applyInputs(context, block, inputs);
  batch.editor.put(blockId, block);
  if (params.connections !== undefined) connect(context, params.connections);
}

function applyInputs(
  context: OperationContext,
  block: JsonObject,
  inputs: { [field: string]: unknown },
): void {
  const { unknownFields, errors } = setInputs(block, inputs);
  const blockType = stringOrDefault(block['type']);
  for (const field of unknownFields) {
    const reason = `Blocks of the type "${blockType}" have no field "${field}".`;
    skip(context, 'invalid_subblock_field', reason, { field });
  }
  for (const { field, error } of errors) {
    context.batch.inputErrors.push({ blockId: context.blockId, blockType, field, error });
  }
}

/** Returns true if the block can be retried. Otherwise records a skip. */
function checkRetry(context: OperationContext, block: JsonObject): boolean {
  const type = stringOrDefault(block['type']);
  const isNeverRetried = NEVER_RETRIED_TYPES.has(type) || isContainer(type) || isTriggerType(type);
  if (!isNeverRetried && block['triggerMode'] !== true) return true;
  return skip(context, 'retry_not_supported', `Blocks of the type "${type}" cannot be retried.`);
}

/** Returns true if a block of the type can be added. Otherwise records a skip. */
function checkType(context: OperationContext, type: string, parent: string | undefined): boolean {
  const { editor, types } = context.batch;
  if (!types.has(type)) return skip(context, 'invalid_block_type', `There is no block type "${type}".`);
  if (!isTriggerType(type)) return true;
  if (parent !== undefined) {
    return skip(context, 'invalid_subflow_parent', 'A trigger starts runs: it cannot be in a container.');
  }
  const exists =
    SINGLETON_TRIGGER_TYPES.has(type) && [...editor.blocks.values()].some((block) => block['type'] === type);
  return (
    !exists || skip(context, 'duplicate_trigger', `The draft has a trigger of the type "${type}" already.`)
  );
}

/** Returns true if the block can have the name. Otherwise records a skip. */
function checkName(context: OperationContext, name: string): boolean {
  const { editor } = context.batch;
  const block = editor.find(context.blockId);
  // The block may take a name that references do not distinguish from its current name.
  if (block && normalizeName(stringOrDefault(block['name'])) === normalizeName(name)) return true;
  if (isReserved(name)) {
    const reason = `"${name}" is reserved: it has another meaning in references.`;
    return skip(context, 'reserved_block_name', reason, { name });
  }
  if (!editor.hasName(name)) return true;
  const reason = `A block is named "${name}" already; upper case, spaces and dots make no difference.`;
  return skip(context, 'duplicate_block_name', reason, { name });
}

/** Returns true if a block with `levelCount` levels of containers fits into `parent`. Otherwise records a skip. */
export function checkNesting(
  context: OperationContext,
  { parent, levels: levelCount }: { parent: string; levels: number },
): boolean {
  const { editor } = context.batch;
  const container = editor.find(parent);
  if (!container || !isContainer(container['type'])) {
    return skip(context, 'invalid_subflow_parent', `There is no loop or parallel "${parent}".`);
  }
  if (skipIfLocked(context, parent)) return false;
  if (editor.ancestors(parent).length + 1 + levelCount <= MAX_NESTING) return true;
  return skip(context, 'nested_subflow_not_allowed', `Containers nest at most ${MAX_NESTING} levels deep.`);
}

/** Records a skip and returns true if the block, or an enclosing container, is locked. */
export function skipIfLocked(context: OperationContext, id: string): boolean {
  const { editor } = context.batch;
  const lockedId = [id, ...editor.ancestors(id)].find(
    (ancestorId) => editor.find(ancestorId)?.['locked'] === true,
  );
  if (lockedId === undefined) return false;
  const subject = lockedId === id ? 'The block' : `The container "${lockedId}" of the block`;
  skip(context, 'block_locked', `${subject} is locked.`);
  return true;
}

/**
 * Returns the number of levels of containers that a block adds: its own level, and the levels of the containers inside
 * it. Returns 0 for a block that is not a container.
 */
export function levelCountOf({ batch: { editor } }: OperationContext, id: string): number {
  if (!isContainer(editor.find(id)?.['type'])) return 0;
  const innerContainers = [...editor.depths(id)].filter(([innerId]) =>
    isContainer(editor.find(innerId)?.['type']),
  );
  return 1 + innerContainers.reduce((max, [, depth]) => Math.max(max, depth), 0);
}

/** Returns true if the block is disabled. */
export function isDisabled(block: JsonObject | undefined): boolean {
  return objectOrEmpty(block)['enabled'] === false;
}
