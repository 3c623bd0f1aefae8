import type { Json, JsonObject } from '@heddle/core';

/** Returns the draft of an export with new ids, because ids are unique in a workspace. */
export function draftOf(exported: Json): JsonObject {
  const { blocks, edges, variables = {} } = (exported as { state: { [key: string]: JsonObject } }).state;
  const suffix = crypto.randomUUID().slice(0, 8);
  const copy = JSON.parse(JSON.stringify({ blocks, edges })) as { blocks: JsonObject; edges: JsonObject[] };
  const ids = new Map(Object.keys(copy.blocks).map((id) => [id, `${id}-${suffix}`]));
  const renamed = Object.entries(copy.blocks).map(([id, block]): [string, Json] => {
    const { data, ...other } = block as { data?: JsonObject };
    const parent = data?.['parentId'];
    const placed = typeof parent === 'string' ? { ...data, parentId: ids.get(parent) ?? parent } : data;
    return [ids.get(id) ?? id, { ...other, id: ids.get(id) ?? id, ...(placed && { data: placed }) } as Json];
  });
  const edge = (each: JsonObject): JsonObject => ({
    ...each,
    id: crypto.randomUUID(),
    source: ids.get(each['source'] as string) ?? '',
    target: ids.get(each['target'] as string) ?? '',
  });
  return { blocks: Object.fromEntries(renamed), edges: copy.edges.map(edge), variables };
}
