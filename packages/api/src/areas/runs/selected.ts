import type { Json } from '@heddle/core';
import { isJsonObject, normalizeName } from '@heddle/core/blocks';
import type { Engine } from '@heddle/engine';
import { badRequest } from '../../errors.ts';
import { textOr } from '../workflows/graph.ts';
import type { Graph } from '../workflows/graph.ts';

/** A selector that was understood: the block, and the path into its output. */
export interface Selected {
  selector: string;
  blockId: string;
  path: readonly string[];
}

/** A block by its id and its name. */
interface Named {
  id: string;
  name: string;
}

/** The selectors as blocks and paths. Throws 400 for one that names no block. */
export function resolveSelectors(selectors: readonly string[], blocks: readonly Named[]): Selected[] {
  return selectors.map((selector) => {
    const found = resolve(selector, blocks);
    if (found) return found;
    const names = blocks.map(({ name }) => `"${name}"`).join(', ');
    throw badRequest(`Invalid selectedOutputs: "${selector}" names no block. There are ${names}.`);
  });
}

export function blocksOf(graph: Graph): Named[] {
  return Object.entries(graph.blocks).map(([id, block]) => ({ id, name: textOr(block['name'], id) }));
}

/** `block.path` by name or id, `id_path`, or a block alone. */
function resolve(selector: string, blocks: readonly Named[]): Selected | undefined {
  const [head = '', ...path] = selector.split('.');
  const wanted = normalizeName(head);
  const byHead =
    blocks.find(({ id }) => id === head) ?? blocks.find(({ name }) => normalizeName(name) === wanted);
  if (byHead) return { selector, blockId: byHead.id, path };
  const byId = blocks.find(({ id }) => selector.startsWith(`${id}_`));
  if (!byId) return undefined;
  return { selector, blockId: byId.id, path: selector.slice(byId.id.length + 1).split('.') };
}

/** The values that were selected, by selector; what did not run or is not there has no entry. */
export async function selectedValues(
  engine: Engine,
  runId: string,
  selected: readonly Selected[],
): Promise<{ [selector: string]: Json }> {
  const logs = await engine.getLogs(runId);
  const found: [string, Json][] = [];
  for (const { selector, blockId, path } of selected) {
    const log = logs.findLast((each) => each.blockId === blockId && each.status === 'completed');
    const value = log && valueAt(log.output, path);
    if (value !== undefined) found.push([selector, value]);
  }
  return Object.fromEntries(found);
}

/** The value at the path, or undefined. */
export function valueAt(value: Json, path: readonly string[]): Json | undefined {
  let at: Json | undefined = value;
  for (const step of path) {
    if (Array.isArray(at)) at = at[Number(step)];
    else at = isJsonObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
  }
  return at;
}
