import type { Json, JsonObject } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';

/** The parts of a draft that users edit. Loops and parallels are derived from the blocks. */
export interface DraftGraph {
  blocks: { [id: string]: JsonObject };
  edges: JsonObject[];
  variables: JsonObject;
}

/** Loops and parallels of a draft by block id. */
export interface Containers {
  loops: JsonObject;
  parallels: JsonObject;
}

/** Returns whether blocks of the type contain other blocks. */
export function isContainer(type: Json | undefined): type is 'loop' | 'parallel' {
  return type === 'loop' || type === 'parallel';
}

/** Returns the id of the container of a block; undefined at the top level. */
export function parentIdOf(block: JsonObject): string | undefined {
  const { parentId } = objectOrEmpty(block['data']);
  return typeof parentId === 'string' && parentId !== '' ? parentId : undefined;
}

/** Returns the value if it is an object, otherwise an empty object. */
export function objectOrEmpty(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns the ids of the blocks directly inside each container. */
export function childIdsByParent(blocks: Iterable<readonly [string, JsonObject]>): Map<string, string[]> {
  const childIds = new Map<string, string[]>();
  for (const [id, block] of blocks) {
    const parentId = parentIdOf(block);
    if (parentId === undefined) continue;
    const siblings = childIds.get(parentId);
    if (siblings) siblings.push(id);
    else childIds.set(parentId, [id]);
  }
  return childIds;
}

/** Returns the loops and parallels that the blocks define. */
export function containersOf(blocks: Iterable<readonly [string, JsonObject]>): Containers {
  const entries = [...blocks];
  const childIds = childIdsByParent(entries);
  const containersOfType = (
    type: string,
    toContainer: (sharedProperties: JsonObject, data: JsonObject) => JsonObject,
  ): JsonObject =>
    Object.fromEntries(
      entries.flatMap(([id, block]): [string, Json][] => {
        if (block['type'] !== type) return [];
        const sharedProperties = { id, nodes: childIds.get(id) ?? [], enabled: block['enabled'] !== false };
        return [[id, toContainer(sharedProperties, objectOrEmpty(block['data']))]];
      }),
    );
  return { loops: containersOfType('loop', toLoop), parallels: containersOfType('parallel', toParallel) };
}

function toLoop(sharedProperties: JsonObject, data: JsonObject): JsonObject {
  return omitUndefined({
    ...sharedProperties,
    iterations: data['count'] ?? 5,
    loopType: data['loopType'] ?? 'for',
    forEachItems: data['collection'],
    whileCondition: data['whileCondition'],
    doWhileCondition: data['doWhileCondition'],
  });
}

function toParallel(sharedProperties: JsonObject, data: JsonObject): JsonObject {
  return omitUndefined({
    ...sharedProperties,
    distribution: data['collection'],
    count: data['count'],
    parallelType: data['parallelType'] ?? 'count',
    batchSize: data['batchSize'],
  });
}

/** Returns the object without its undefined keys. */
export function omitUndefined(value: { [key: string]: Json | undefined }): JsonObject {
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, Json] => entry[1] !== undefined),
  );
}
