import { typeNames, typeTable } from '@heddle/core/drafts';
import type { Json, JsonObject } from '@heddle/core';
import type { DraftGraph } from '../../packages/service/src/workflows/containers.ts';
import { applyOperations } from '../../packages/service/src/workflows/edit/apply.ts';
import { operationsBody } from '../../packages/service/src/workflows/edit/schemas.ts';

// Small drafts, and batches of operations on them.

const types = new Set(typeNames(typeTable()));

export const block = (id: string, type: string, properties: JsonObject = {}): [string, JsonObject] => [
  id,
  { id, type, name: id, position: { x: 0, y: 0 }, subBlocks: {}, outputs: {}, enabled: true, ...properties },
];
/** Returns the properties of a block in the container `parentId`. */
export const parentData = (parentId: string) => ({ data: { parentId, extent: 'parent' } });
export const edge = (source: string, target: string, sourceHandle = 'source'): JsonObject => ({
  id: `${source}-${target}`,
  source,
  target,
  sourceHandle,
});
export const graphOf = (blocks: [string, JsonObject][], edges: JsonObject[] = []): DraftGraph => ({
  blocks: Object.fromEntries(blocks),
  edges,
  variables: {},
});

export const START_GRAPH = graphOf([block('start', 'start_trigger')]);
export const NESTED_GRAPH = graphOf(
  [
    block('start', 'start_trigger'),
    block('Outer', 'loop'),
    block('Inner', 'parallel', parentData('Outer')),
    block('leaf', 'function', parentData('Inner')),
    block('end', 'function'),
  ],
  [
    edge('start', 'Outer'),
    edge('Outer', 'Inner', 'loop-start-source'),
    edge('Inner', 'leaf', 'parallel-start-source'),
    edge('Outer', 'end'),
  ],
);

/** Applies a batch of operations. New ids are `new-1`, `new-2` …. `options` are further fields of the batch. */
export function edit(graph: DraftGraph, operations: Json[], options: JsonObject = {}) {
  let idCount = 0;
  const createId = (): string => `new-${(idCount += 1)}`;
  return applyOperations(graph, operationsBody.parse({ operations, ...options }), { types, createId });
}

/** Returns the types of the skipped operations. */
export const skippedTypesOf = (outcome: ReturnType<typeof edit>) => outcome.skipped.map(({ type }) => type);
/** Returns the edges after the edits, as `source.handle target`. */
export const edgeTextsOf = (outcome: ReturnType<typeof edit>) =>
  outcome.graph.edges.map(
    ({ source, target, sourceHandle }) => `${source as string}.${sourceHandle as string} ${target as string}`,
  );
export const createAddOperation = (block_id: string, params: JsonObject): JsonObject => ({
  operation_type: 'add',
  block_id,
  params,
});
export const createEditOperation = (block_id: string, params: JsonObject): JsonObject => ({
  operation_type: 'edit',
  block_id,
  params,
});
export const UUID = '7b0d54f5-3f0c-4d3e-9d50-0ac01dd1b7c5';
