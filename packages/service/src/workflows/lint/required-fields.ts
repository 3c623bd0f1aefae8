import { getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { BlockDescription } from '../../catalog/catalog.ts';
import { objectOrEmpty } from '../containers.ts';
import { isEmpty } from '../../transfer/graph.ts';
import { stringOrDefault } from '../edit/draft-editor.ts';
import type { Graph } from '../graph.ts';

/** The required fields of block types, by type. */
export type RequiredFields = ReadonlyMap<string, readonly string[]>;

/** An empty field that the type of its block requires. */
export interface MissingField {
  blockId: string;
  field: string;
}

/**
 * Returns a function that resolves with the required fields of block types. The schemas of the types are read once, and
 * again after a failure. Without `describeBlocks`, the function resolves with undefined.
 */
export function createRequiredFieldsReader(
  describeBlocks: (() => Promise<readonly BlockDescription[]>) | undefined,
): () => Promise<RequiredFields | undefined> {
  let cachedFields: Promise<RequiredFields> | undefined;
  return () => {
    if (!describeBlocks) return Promise.resolve(undefined);
    cachedFields ??= describeBlocks().then(
      (blocks) => new Map(blocks.map(({ type, fields }) => [type, requiredPropertiesOf(fields)])),
    );
    cachedFields.catch(() => (cachedFields = undefined));
    return cachedFields;
  };
}

/** Returns the required fields that are empty in enabled blocks. */
export function findMissingFields(graph: Graph, requiredFields: RequiredFields): MissingField[] {
  return Object.entries(graph.blocks).flatMap(([blockId, block]) => {
    if (block['enabled'] === false) return [];
    const subBlocks = objectOrEmpty(block['subBlocks']);
    const names = requiredFields.get(stringOrDefault(block['type'])) ?? [];
    return names
      .filter((name) => isBlank(objectOrEmpty(getOwn(subBlocks, name))['value']))
      .map((field) => ({ blockId, field }));
  });
}

/** Returns the required properties of a schema that have no default. */
function requiredPropertiesOf(schema: JsonObject): string[] {
  const required = getOwn(schema, 'required');
  const properties = objectOrEmpty(getOwn(schema, 'properties'));
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  return names.filter((name) => objectOrEmpty(getOwn(properties, name))['default'] === undefined);
}

function isBlank(value: Json | undefined): boolean {
  return isEmpty(typeof value === 'string' ? value.trim() : value);
}
