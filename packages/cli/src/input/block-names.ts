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
  let value: Json;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, '')) as Json;
  } catch {
    // The diagnostics say so already, and name no block.
    return {};
  }
  for (const key of ['data', 'state']) value = inside(value, key) ?? value;
  const blocks = inside(value, 'blocks');
  return isJsonObject(blocks) ? blocks : {};
}

function inside(value: Json, key: string): Json | undefined {
  return isJsonObject(value) ? own(value, key) : undefined;
}
