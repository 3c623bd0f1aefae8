import { isJsonObject, own } from '@heddle/core/blocks';
import type { Json } from '@heddle/core';

/** Names of a workflow's blocks by id, as far as they can be read: also in a file that is no valid workflow. */
export function blockNames(text: string): (blockId: string) => string | undefined {
  const blocks = findBlocks(text);
  return (blockId) => {
    const block = blocks[blockId];
    const name = isJsonObject(block) ? own(block, 'name') : undefined;
    return typeof name === 'string' && name.trim() !== '' ? name : undefined;
  };
}

function findBlocks(text: string): { [id: string]: Json } {
  const blocks = inside(stateOf(text), 'blocks');
  return isJsonObject(blocks) ? blocks : {};
}

/** The graph in a file, out of the envelopes that it may be in; null for a text that is no JSON. */
export function stateOf(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, '')) as Json;
  } catch {
    // The diagnostics say so already, and name no block.
    return null;
  }
  for (const key of ['data', 'state']) value = inside(value, key) ?? value;
  return value;
}

function inside(value: Json, key: string): Json | undefined {
  return isJsonObject(value) ? own(value, key) : undefined;
}
