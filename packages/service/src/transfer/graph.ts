import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { DraftGraph } from '../workflows/containers.ts';

/** The graph of an export or of an imported file. */
export interface PortableGraph extends DraftGraph {
  loops?: JsonObject | undefined;
  parallels?: JsonObject | undefined;
  metadata?: JsonObject | undefined;
}

/** An editable value of a block: a sub-block, or a field of a container. */
export interface Field {
  blockId: string;
  blockType: string;
  blockName: string;
  /** The key of the sub-block; `data.` and the name of a container's field; or `block.type`. */
  key: string;
  /** The type of the sub-block; '' for a container's field; `custom-block` for the type of a custom block. */
  type: string;
  value: Json;
}

/** Fields of a container's `data` that may have references. */
const CONTAINER_FIELDS = ['collection', 'count', 'whileCondition', 'doWhileCondition'] as const;
const DATA_PREFIX = 'data.';
/** The key of the field for the type of a custom block: this type names the block's definition. */
const BLOCK_TYPE_KEY = 'block.type';
const CUSTOM_BLOCK_TYPE = /^custom_block_./;

/** Yields the fields of all blocks. */
export function* fieldsOf(graph: PortableGraph): Generator<Field> {
  for (const [blockId, block] of Object.entries(graph.blocks)) {
    const blockType = textOf(block, 'type');
    const blockInfo = { blockId, blockType, blockName: textOf(block, 'name') || blockId };
    if (CUSTOM_BLOCK_TYPE.test(blockType))
      yield { ...blockInfo, key: BLOCK_TYPE_KEY, type: 'custom-block', value: blockType };
    for (const [key, subBlock] of Object.entries(objectOf(block, 'subBlocks'))) {
      // Sub-blocks in a file may have the keys that are reserved here for other fields.
      if (!isJsonObject(subBlock) || key === BLOCK_TYPE_KEY || key.startsWith(DATA_PREFIX)) continue;
      yield { ...blockInfo, key, type: textOf(subBlock, 'type'), value: getOwn(subBlock, 'value') ?? null };
    }
    const data = objectOf(block, 'data');
    for (const name of CONTAINER_FIELDS) {
      const value = getOwn(data, name);
      if (value !== undefined) yield { ...blockInfo, key: DATA_PREFIX + name, type: '', value };
    }
  }
}

/** New values of fields, by block and key. */
export type FieldValues = ReadonlyMap<string, ReadonlyMap<string, Json>>;

/** Returns the graph with these values in its fields. Values for unknown fields are ignored. */
export function withFieldValues(graph: PortableGraph, values: FieldValues): PortableGraph {
  const blocks = Object.entries(graph.blocks).map(([id, block]): [string, JsonObject] => {
    const changes = values.get(id);
    return [id, changes ? withChanges(block, changes) : block];
  });
  return { ...graph, blocks: Object.fromEntries(blocks) };
}

function withChanges(block: JsonObject, changes: ReadonlyMap<string, Json>): JsonObject {
  const subBlocks = Object.entries(objectOf(block, 'subBlocks')).map(([key, field]): [string, Json] => {
    const value = changes.get(key);
    return [key, value !== undefined && isJsonObject(field) ? { ...field, value } : field];
  });
  const data = Object.entries(objectOf(block, 'data')).map(([key, value]): [string, Json] => [
    key,
    changes.get(DATA_PREFIX + key) ?? value,
  ]);
  const type = changes.get(BLOCK_TYPE_KEY);
  return {
    ...block,
    // A block needs a type, so clearing the type has no effect.
    ...(typeof type === 'string' && { type }),
    ...(Object.hasOwn(block, 'subBlocks') && { subBlocks: Object.fromEntries(subBlocks) }),
    ...(isJsonObject(block['data']) && { data: Object.fromEntries(data) }),
  };
}

/** Returns whether the value is only a reference or placeholder, possibly after an authentication scheme (`Bearer`). */
export function isReferenceOrPlaceholder(value: Json): boolean {
  return typeof value === 'string' && REFERENCE_OR_PLACEHOLDER.test(value);
}

const REFERENCE_OR_PLACEHOLDER = /^\s*(?:(?:bearer|basic|token)\s{1,5})?(?:\{\{[^{}]+\}\}|<[^<>]+>)\s*$/i;

/** Returns whether a field has no value. */
export function isEmpty(value: Json | undefined): boolean {
  return value == null || value === '' || (Array.isArray(value) && value.length === 0);
}

/** Returns an own property that is an object; an empty object otherwise. */
export function objectOf(object: JsonObject, key: string): JsonObject {
  const value = getOwn(object, key);
  return isJsonObject(value) ? value : {};
}

/** Returns an own property that is a string; '' otherwise. */
export function textOf(object: JsonObject, key: string): string {
  const value = getOwn(object, key);
  return typeof value === 'string' ? value : '';
}
