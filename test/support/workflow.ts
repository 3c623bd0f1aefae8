import type { Json } from '@heddle/core';

type Fields = { [name: string]: Json };

/** A block of a test workflow. `innerBlocks` has the blocks in a container. */
export interface TestBlock {
  name: string;
  type: string;
  fields: Fields;
  data?: Fields;
  /** Additional properties of the exported block. */
  properties?: Fields;
  innerBlocks?: TestBlock[];
}

/** Returns a block of any type. Its id is its name. */
export function block(name: string, type: string, fields: Fields = {}, properties: Fields = {}): TestBlock {
  return { name, type, fields, properties };
}

export function fn(name: string, code: string, properties: Fields = {}): TestBlock {
  return block(name, 'function', { code }, properties);
}

/** Returns a condition. `rows` has an expression for each row id; the row with an empty expression is the else row. */
export function condition(name: string, rows: { [id: string]: string }): TestBlock {
  const conditions = Object.entries(rows).map(([id, value]) => ({
    id,
    title: value === '' ? 'else' : 'if',
    value,
  }));
  return block(name, 'condition', { conditions });
}

export function loop(name: string, data: Fields, ...innerBlocks: TestBlock[]): TestBlock {
  return { name, type: 'loop', fields: {}, data, innerBlocks };
}

export function parallel(name: string, data: Fields, ...innerBlocks: TestBlock[]): TestBlock {
  return { name, type: 'parallel', fields: {}, data, innerBlocks };
}

export interface TestWorkflowOptions {
  id?: string;
  name?: string;
  description?: string;
  variables?: { [name: string]: { type: string; value: Json } };
  inputFormat?: Json;
}

/**
 * Returns an exported workflow: a start block named Start, the blocks, and edges such as `Start -> A -> B`, `A:error ->
 * H`, `C:if -> X`. An edge from a container to a block inside it leaves from the start port of the container.
 */
export function workflow(blocks: TestBlock[], edges: string[], options: TestWorkflowOptions = {}): Json {
  const { id = 'test-workflow', name = 'Test', description, inputFormat = [] } = options;
  const parents = new Map<string, string>();
  const blocksById: { [id: string]: Json } = {};
  const addBlock = (testBlock: TestBlock, parent?: string): void => {
    if (parent !== undefined) parents.set(testBlock.name, parent);
    blocksById[testBlock.name] = toExportedBlock(testBlock, parent);
    for (const innerBlock of testBlock.innerBlocks ?? []) addBlock(innerBlock, testBlock.name);
  };
  addBlock(block('Start', 'start_trigger', { inputFormat }));
  for (const testBlock of blocks) addBlock(testBlock);
  const types = new Map(
    Object.entries(blocksById).map(([key, value]) => [key, (value as { type: string }).type]),
  );
  const exportedEdges = edges
    .flatMap((text) => edgesInChain(text))
    .map(([from, to], index) => edge({ from, to, index, parents, types }));
  const variables = Object.entries(options.variables ?? {}).map(([key, variable]) => [
    key,
    { id: key, name: key, ...variable },
  ]);
  return {
    version: '1.0',
    exportedAt: '2026-01-01T00:00:00.000Z',
    workflow: { id, name, ...(description !== undefined && { description }) },
    state: {
      blocks: blocksById,
      edges: exportedEdges,
      loops: {},
      parallels: {},
      variables: Object.fromEntries(variables) as Json,
    },
  };
}

function toExportedBlock(testBlock: TestBlock, parent: string | undefined): Json {
  const subBlocks = Object.entries(testBlock.fields).map(([id, value]) => [
    id,
    { id, type: 'short-input', value },
  ]);
  return {
    id: testBlock.name,
    type: testBlock.type,
    name: testBlock.name,
    position: { x: 0, y: 0 },
    enabled: true,
    outputs: {},
    subBlocks: Object.fromEntries(subBlocks) as Json,
    data: { ...testBlock.data, ...(parent !== undefined && { parentId: parent, extent: 'parent' }) },
    ...testBlock.properties,
  };
}

function edgesInChain(text: string): [string, string][] {
  const endpoints = text.split('->').map((part) => part.trim());
  return endpoints.slice(1).map((to, index) => [endpoints[index] ?? '', to]);
}

function edge(options: {
  from: string;
  to: string;
  index: number;
  parents: Map<string, string>;
  types: Map<string, string>;
}): Json {
  const { from, to, index, parents, types } = options;
  const [source = '', port] = from.split(':');
  const [target = ''] = to.split(':');
  const type = types.get(source);
  const isStart = parents.get(target) === source;
  const outputHandle =
    type === 'loop' || type === 'parallel' ? `${type}-${isStart ? 'start' : 'end'}-source` : 'source';
  const sourceHandle =
    port === undefined ? outputHandle : type === 'condition' && port !== 'error' ? `condition-${port}` : port;
  return { id: `e${index}`, source, target, sourceHandle, targetHandle: 'target' };
}
