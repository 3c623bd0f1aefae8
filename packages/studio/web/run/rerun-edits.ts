import { isObject } from '../components/json.ts';

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
  /** The name in the list of choices. */
  title: string;
  address: { spanId: string; part: 'input' | 'output'; path: string };
  /** For an output: its block. */
  blockId?: string;
}

/** The fields of the request that contain a changed value. */
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

/** Returns the outermost container of a block; the block itself if it is at the top level. */
export function topLevelBlockOf(graph: Graph, block: Block): Block {
  const blockById = new Map(graph.blocks.map((graphBlock) => [graphBlock.id, graphBlock]));
  let container = block;
  // A corrupt draft may have containers that contain each other.
  for (let depth = 0; container.parentId !== null && depth < blockById.size; depth += 1)
    container = blockById.get(container.parentId) ?? { ...container, parentId: null };
  return container;
}

/**
 * Returns the values that can be changed before a run starts at `start`:
 * - the input of the run, if `start` is in no iteration and no block leads to `start`;
 * - otherwise the fields of `start`, unless `start` is a container, and the outputs of the blocks that lead to `start`,
 *   nearest first.
 *
 * `scope`: the iterations in which the run starts, outermost first.
 */
export function editTargetsOf(graph: Graph, start: Block, scope: readonly Iteration[] = []): EditTarget[] {
  const prefix = spanIdPrefixOf(scope);
  const sources = scope.reduceRight(
    (spans, { blockId }, depth) => {
      const container = graph.blocks.find(({ id }) => id === blockId);
      return container ? [...spans, ...spansBefore(graph, container, scope.slice(0, depth))] : spans;
    },
    spansBefore(graph, start, scope),
  );
  if (sources.length === 0 && scope.length === 0) return [RUN_INPUT];
  const isContainer = graph.blocks.some(({ parentId }) => parentId === start.id);
  const fields: EditTarget = {
    kind: 'fields',
    title: `The fields of ${start.name}`,
    address: { spanId: prefix + start.id, part: 'input', path: '' },
  };
  const outputs = sources.map(({ block: { id, name }, spanId }): EditTarget => ({
    kind: 'output',
    title: `The output of ${name}`,
    address: { spanId, part: 'output', path: '' },
    blockId: id,
  }));
  return isContainer ? outputs : [fields, ...outputs];
}

/** An iteration in which a run starts. */
interface Iteration {
  blockId: string;
  spanId: string;
}

/** Returns the prefix of the ids of the spans in the innermost iteration. */
function spanIdPrefixOf(scope: readonly Iteration[]): string {
  const innermostIteration = scope.at(-1);
  return innermostIteration ? `${innermostIteration.spanId}/` : '';
}

/** Returns the blocks that lead to a block, nearest first, with their spans in the scope. */
function spansBefore(graph: Graph, start: Block, scope: readonly Iteration[]) {
  return blocksBefore(graph, start).map((block) => ({ block, spanId: spanIdPrefixOf(scope) + block.id }));
}

/** Returns the blocks that lead to a block in its container, nearest first. Takes O(blocks + edges). */
function blocksBefore({ blocks, edges }: Graph, start: Block): Block[] {
  const incomingEdges = Map.groupBy(edges, ({ target }) => target);
  const blockById = new Map(blocks.map((block) => [block.id, block]));
  const predecessors = new Set([start.id]);
  for (const id of predecessors)
    for (const { source } of incomingEdges.get(id) ?? []) predecessors.add(source);
  predecessors.delete(start.id);
  return [...predecessors]
    .flatMap((id) => blockById.get(id) ?? [])
    .filter(({ parentId }) => parentId === start.parentId);
}

/** Returns the request fields for an edited value. Throws an Error if the text changes code or is not a JSON object. */
export function editsOf({ kind, blockId = '' }: EditTarget, original: unknown, text: string): RerunEdits {
  const editedObject = parseObject(text);
  if (kind === 'input') return { input: editedObject };
  if (kind === 'output') return { outputs: { [blockId]: editedObject } };
  const originalFields = isObject(original) ? original : {};
  const changedEntries = Object.entries(editedObject).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(originalFields[name]),
  );
  if (changedEntries.some(([name]) => name === 'code'))
    throw new Error('Code can be changed only in the workflow. Deploy it, and run the live version.');
  return changedEntries.length === 0 ? {} : { fields: Object.fromEntries(changedEntries) };
}

function parseObject(text: string): { [name: string]: unknown } {
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
