import { isObject } from '../parts/json.ts';

interface Block {
  id: string;
  name: string;
  parentId: string | null;
}

/** The parts of a graph that determine where a run can start. */
interface Graph {
  blocks: readonly Block[];
  edges: readonly { source: string; target: string }[];
}

/** A value of the earlier run that can be changed before a run starts at a block. */
export interface EditTarget {
  kind: 'input' | 'fields' | 'output';
  /** Its name in the list of choices. */
  title: string;
  address: { spanId: string; part: 'input' | 'output'; path: string };
  /** The block whose output it is. */
  blockId?: string;
}

/** The fields that a changed value adds to the request. */
export interface RerunEdits {
  input?: { [name: string]: unknown };
  fields?: { [name: string]: unknown };
  outputs?: { [blockId: string]: { [name: string]: unknown } };
}

/** The input of a run, as a whole. */
export const RUN_INPUT: EditTarget = {
  kind: 'input',
  title: 'The input of the run',
  address: { spanId: '', part: 'input', path: '' },
};

/** Returns the block at which a run can start: the block itself, or its outermost container. */
export function startOf(graph: Graph, block: Block): Block {
  const byId = new Map(graph.blocks.map((each) => [each.id, each]));
  let start = block;
  // A corrupt draft may have containers that contain each other.
  for (let depth = 0; start.parentId !== null && depth < byId.size; depth += 1)
    start = byId.get(start.parentId) ?? { ...start, parentId: null };
  return start;
}

/**
 * Returns the values that can be changed before a run starts at a block: the input of the run if it is the first block, else its
 * own fields and the outputs of the blocks that lead to it, the nearest first. `parts`: the iterations in which it starts,
 * outermost first.
 */
export function targetsOf(graph: Graph, start: Block, parts: readonly Part[] = []): EditTarget[] {
  const prefix = prefixOf(parts);
  const before = parts.reduceRight(
    (found, { blockId }, depth) => {
      const container = graph.blocks.find(({ id }) => id === blockId);
      return container ? [...found, ...placedBefore(graph, container, parts.slice(0, depth))] : found;
    },
    placedBefore(graph, start, parts),
  );
  if (before.length === 0 && parts.length === 0) return [RUN_INPUT];
  const isContainer = graph.blocks.some(({ parentId }) => parentId === start.id);
  const own: EditTarget = {
    kind: 'fields',
    title: `The fields of ${start.name}`,
    address: { spanId: prefix + start.id, part: 'input', path: '' },
  };
  const outputs = before.map(({ block: { id, name }, spanId }): EditTarget => ({
    kind: 'output',
    title: `The output of ${name}`,
    address: { spanId, part: 'output', path: '' },
    blockId: id,
  }));
  return isContainer ? outputs : [own, ...outputs];
}

/** An iteration in which a run starts. */
interface Part {
  blockId: string;
  spanId: string;
}

function prefixOf(parts: readonly Part[]): string {
  const last = parts.at(-1);
  return last ? `${last.spanId}/` : '';
}

function placedBefore(graph: Graph, start: Block, parts: readonly Part[]) {
  return blocksBefore(graph, start).map((block) => ({ block, spanId: prefixOf(parts) + block.id }));
}

/** Returns the blocks that lead to a block, the nearest first. Takes O(blocks + edges). */
function blocksBefore({ blocks, edges }: Graph, start: Block): Block[] {
  const sources = Map.groupBy(edges, ({ target }) => target);
  const byId = new Map(blocks.map((block) => [block.id, block]));
  const found = new Set([start.id]);
  for (const id of found) for (const { source } of sources.get(id) ?? []) found.add(source);
  found.delete(start.id);
  return [...found].flatMap((id) => byId.get(id) ?? []).filter(({ parentId }) => parentId === start.parentId);
}

/** Returns the part of the request for the edited text. Throws an Error for text that is not a JSON object, or changed code. */
export function editsOf({ kind, blockId = '' }: EditTarget, before: unknown, text: string): RerunEdits {
  const after = objectIn(text);
  if (kind === 'input') return { input: after };
  if (kind === 'output') return { outputs: { [blockId]: after } };
  const known = isObject(before) ? before : {};
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(known[name]),
  );
  if (changed.some(([name]) => name === 'code'))
    throw new Error('Code is changed in the workflow. Deploy it, and start in the live version.');
  return changed.length === 0 ? {} : { fields: Object.fromEntries(changed) };
}

function objectIn(text: string): { [name: string]: unknown } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(
      `The changed value is not JSON: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    );
  }
  if (isObject(value)) return value;
  throw new Error('The changed value must be a JSON object.');
}
