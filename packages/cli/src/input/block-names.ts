import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json } from '@heddle/core';

/** Returns a function that looks up the name of a block by its id. The workflow may be invalid. */
export function blockNameLookup(text: string): (blockId: string) => string | undefined {
  const blocks = findBlocks(text);
  return (blockId) => {
    const block = blocks[blockId];
    const name = isJsonObject(block) ? getOwn(block, 'name') : undefined;
    return typeof name === 'string' && name.trim() !== '' ? name : undefined;
  };
}

function findBlocks(text: string): { [id: string]: Json } {
  const blocks = valueAt(parseGraph(text), 'blocks');
  return isJsonObject(blocks) ? blocks : {};
}

/** Returns the graph in the text of a file, without its envelopes `data` and `state`. Null if the text is not JSON. */
export function parseGraph(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, '')) as Json;
  } catch {
    // The diagnostics report this.
    return null;
  }
  return unwrapGraph(value);
}

/** Returns the graph in a parsed file, without its envelopes `data` and `state`. */
export function unwrapGraph(workflow: Json): Json {
  let graph = workflow;
  for (const key of ['data', 'state']) graph = valueAt(graph, key) ?? graph;
  return graph;
}

function valueAt(value: Json, key: string): Json | undefined {
  return isJsonObject(value) ? getOwn(value, key) : undefined;
}
