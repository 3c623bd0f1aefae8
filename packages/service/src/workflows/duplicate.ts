import { branchPorts } from '@heddle/core/drafts';
import type { Json, JsonObject } from '@heddle/core';
import { containersOf, objectOrEmpty, omitUndefined } from './containers.ts';
import type { Containers, DraftGraph } from './containers.ts';
import { toBlockWithFields } from './edit/connections.ts';

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;
/** Keys whose whole value is the id of a block or variable, whatever its form. */
const ID_KEYS: ReadonlySet<string> = new Set(['parentId', 'blockId', 'variableId']);
/** Maximum length of a workflow's name. */
const MAX_NAME_CHARACTERS = 255;

/**
 * Returns the graph with new ids of blocks, edges and variables. The old ids are replaced everywhere: in edges, ports,
 * containers and fields. Inside strings, only UUIDs are treated as ids, because a shorter id may be an ordinary word.
 */
export function withNewIds(graph: DraftGraph, createId: () => string): DraftGraph & Containers {
  return regenerateIds(graph, createId).graph;
}

/** Returns the graph of `withNewIds`, and a map from the old to the new ids of blocks, variables and edges. */
export function regenerateIds(
  graph: DraftGraph,
  createId: () => string,
): { graph: DraftGraph & Containers; idMap: Map<string, string> } {
  const blockIds = new Map(Object.keys(graph.blocks).map((id) => [id, createId()]));
  const variableIds = new Map(Object.keys(graph.variables).map((id) => [id, createId()]));
  const ids = new Map([...blockIds, ...variableIds]);
  const ports = new Map<string, Map<string, string>>();
  const blocks = Object.entries(graph.blocks).map(([id, block]): [string, JsonObject] => {
    const newBlockId = blockIds.get(id) as string;
    const { name, type } = block;
    // Names and types are copied even if they look like ids, because references use names.
    const copy = { ...replaceIds(block, ids), id: newBlockId, ...omitUndefined({ name, type }) };
    ports.set(id, mapPorts([id, block], [newBlockId, copy]));
    return [newBlockId, copy];
  });
  const idMap = new Map(ids);
  const edges = graph.edges.map((edge): JsonObject => {
    const { id: oldId, source, target, sourceHandle } = edge;
    const newEndOf = (id: Json | undefined): Json =>
      (typeof id === 'string' && blockIds.get(id)) || (id ?? null);
    const handle = typeof sourceHandle === 'string' ? sourceHandle : undefined;
    const port = handle !== undefined && ports.get(source as string)?.get(handle);
    const id = createId();
    if (typeof oldId === 'string' && !idMap.has(oldId)) idMap.set(oldId, id);
    return {
      ...replaceIds(edge, ids),
      id,
      source: newEndOf(source),
      target: newEndOf(target),
      ...(typeof port === 'string' && { sourceHandle: port }),
    };
  });
  const variables = Object.entries(graph.variables).map(([id, variable]): [string, Json] => {
    const newVariableId = variableIds.get(id) as string;
    return [newVariableId, { ...objectOrEmpty(variable), id: newVariableId }];
  });
  return {
    idMap,
    graph: {
      blocks: Object.fromEntries(blocks),
      edges,
      ...containersOf(blocks),
      variables: Object.fromEntries(variables),
    },
  };
}

/** Returns a map from the ports of a block to those of its copy. Ids of ports may contain the id of the block. */
function mapPorts(
  [id, block]: [string, JsonObject],
  [newId, copy]: [string, JsonObject],
): Map<string, string> {
  const newPorts = branchPorts(toBlockWithFields(newId, copy));
  const oldPorts = branchPorts(toBlockWithFields(id, block));
  return new Map(oldPorts.map(({ handle }, index) => [handle, newPorts[index]?.handle ?? handle]));
}

/** Returns a copy with the new ids. Keys are not changed. */
function replaceIds(root: JsonObject, ids: ReadonlyMap<string, string>): JsonObject {
  const copy = structuredClone(root);
  const stack: (JsonObject | Json[])[] = [copy];
  for (let object = stack.pop(); object !== undefined; object = stack.pop()) {
    for (const [key, value] of Object.entries(object)) {
      if (typeof value === 'string') setOwnProperty(object, key, replaceIdsIn(key, value, ids));
      else if (typeof value === 'object' && value !== null) stack.push(value);
    }
  }
  return copy;
}

function replaceIdsIn(key: string, value: string, ids: ReadonlyMap<string, string>): string {
  if (ID_KEYS.has(key)) return ids.get(value) ?? value;
  return value.replaceAll(UUID, (id) => ids.get(id) ?? id);
}

/** Defines the property instead of assigning it, because the key may be `__proto__`. */
function setOwnProperty(object: JsonObject | Json[], key: string, value: Json): void {
  Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true });
}

/** Returns the name if it is free, otherwise the name with the first number that makes it free. */
export function findFreeName(name: string, takenNames: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? '' : ` (${number})`;
    const candidate = name.slice(0, MAX_NAME_CHARACTERS - suffix.length) + suffix;
    if (!takenNames.has(candidate)) return candidate;
  }
}
