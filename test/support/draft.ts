import type { Json, JsonObject } from '@heddle/core';

/** Returns the definition of an exported workflow as a draft with new ids, because ids are unique in a workspace. */
export function draftOf(definition: Json): JsonObject {
  const { blocks, edges, variables = {} } = (definition as { state: { [key: string]: JsonObject } }).state;
  const suffix = crypto.randomUUID().slice(0, 8);
  const copy = JSON.parse(JSON.stringify({ blocks, edges })) as { blocks: JsonObject; edges: JsonObject[] };
  const ids = new Map(Object.keys(copy.blocks).map((id) => [id, `${id}-${suffix}`]));
  const blockEntries = Object.entries(copy.blocks).map(([id, block]): [string, Json] => {
    const { data, ...properties } = block as { data?: JsonObject };
    const parentId = data?.['parentId'];
    const newId = ids.get(id) ?? id;
    const newData =
      typeof parentId === 'string' ? { ...data, parentId: ids.get(parentId) ?? parentId } : data;
    return [newId, { ...properties, id: newId, ...(newData && { data: newData }) } as Json];
  });
  const copyEdge = (edge: JsonObject): JsonObject => ({
    ...edge,
    id: crypto.randomUUID(),
    source: ids.get(edge['source'] as string) ?? '',
    target: ids.get(edge['target'] as string) ?? '',
  });
  return { blocks: Object.fromEntries(blockEntries), edges: copy.edges.map(copyEdge), variables };
}
