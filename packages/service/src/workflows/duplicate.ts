import { branchPorts } from '@heddle/core/drafts';
import type { Json, JsonObject } from '@heddle/core';
import { containersOf, objectOr } from './containers.ts';
import type { Containers, DraftGraph } from './containers.ts';
import { rowBlock } from './edit/connections.ts';

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;
/** Keys whose whole value is the id of a block or variable, whatever its form. */
const ID_KEYS: ReadonlySet<string> = new Set(['parentId', 'blockId', 'variableId']);
/** Maximum length of a workflow's name. */
const MAX_NAME = 255;

/**
 * Returns the graph with new ids of blocks, edges and variables. References to them inside the graph follow: edges, ports,
 * containers, and ids in fields. Inside strings, only UUIDs are treated as ids, because a shorter id may be an ordinary word.
 */
export function withNewIds(graph: DraftGraph, newId: () => string): DraftGraph & Containers {
  return regenerated(graph, newId).graph;
}

/** Returns the same as `withNewIds`, and the new id by each old id of a block, variable or edge. */
export function regenerated(
  graph: DraftGraph,
  newId: () => string,
): { graph: DraftGraph & Containers; idMap: Map<string, string> } {
  const blockIds = new Map(Object.keys(graph.blocks).map((id) => [id, newId()]));
  const variableIds = new Map(Object.keys(graph.variables).map((id) => [id, newId()]));
  const ids = new Map([...blockIds, ...variableIds]);
  const ports = new Map<string, Map<string, string>>();
  const blocks = Object.entries(graph.blocks).map(([id, block]): [string, JsonObject] => {
    const own = blockIds.get(id) as string;
    const { name, type } = block;
    const copy = { ...renamed(block, ids), id: own, ...namesOf({ name, type }) };
    ports.set(id, renamedPorts([id, block], [own, copy]));
    return [own, copy];
  });
  const idMap = new Map(ids);
  const edges = graph.edges.map((edge): JsonObject => {
    const { id: before, source, target, sourceHandle } = edge;
    const end = (id: Json | undefined): Json => (typeof id === 'string' && blockIds.get(id)) || (id ?? null);
    const handle = typeof sourceHandle === 'string' ? sourceHandle : undefined;
    const port = handle !== undefined && ports.get(source as string)?.get(handle);
    const id = newId();
    if (typeof before === 'string' && !idMap.has(before)) idMap.set(before, id);
    return {
      ...renamed(edge, ids),
      id,
      source: end(source),
      target: end(target),
      ...(typeof port === 'string' && { sourceHandle: port }),
    };
  });
  const variables = Object.entries(graph.variables).map(([id, stored]): [string, Json] => {
    const own = variableIds.get(id) as string;
    return [own, { ...objectOr(stored), id: own }];
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

/** Names are not changed, because references use them, even if one looks like an id. */
function namesOf(names: { [key: string]: Json | undefined }): JsonObject {
  return Object.fromEntries(
    Object.entries(names).filter((entry): entry is [string, Json] => entry[1] !== undefined),
  );
}

/** Returns the ports of a copied block by those of the original. Ids of rows may be derived from the block's. */
function renamedPorts(
  [id, block]: [string, JsonObject],
  [newId, copy]: [string, JsonObject],
): Map<string, string> {
  const after = branchPorts(rowBlock(newId, copy));
  const before = branchPorts(rowBlock(id, block));
  return new Map(before.map(({ handle }, index) => [handle, after[index]?.handle ?? handle]));
}

/** Returns a copy with the new ids. Keys are not changed. */
function renamed(root: JsonObject, ids: ReadonlyMap<string, string>): JsonObject {
  const copy = structuredClone(root);
  const waiting: (JsonObject | Json[])[] = [copy];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const [key, value] of Object.entries(next)) {
      if (typeof value === 'string') setOwn(next, key, renamedText(key, value, ids));
      else if (typeof value === 'object' && value !== null) waiting.push(value);
    }
  }
  return copy;
}

function renamedText(key: string, value: string, ids: ReadonlyMap<string, string>): string {
  if (ID_KEYS.has(key)) return ids.get(value) ?? value;
  return value.replaceAll(UUID, (id) => ids.get(id) ?? id);
}

/** Defined, not assigned: a key may be `__proto__`. */
function setOwn(object: JsonObject | Json[], key: string, value: Json): void {
  Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true });
}

/** Returns the name if it is free, else the name with the first number that makes it free. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const end = number === 1 ? '' : ` (${number})`;
    const next = name.slice(0, MAX_NAME - end.length) + end;
    if (!taken.has(next)) return next;
  }
}
