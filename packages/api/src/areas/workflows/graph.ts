import { createHash, randomUUID } from 'node:crypto';
import type { Json, JsonObject } from '@heddle/core';
import type { GraphBody } from './schemas.ts';

/** A draft as it is stored, and shown. */
export interface Graph {
  blocks: { [id: string]: JsonObject };
  edges: JsonObject[];
  loops: JsonObject;
  parallels: JsonObject;
  variables: JsonObject;
  metadata?: JsonObject;
}

export function readGraph(state: string): Graph {
  return JSON.parse(state) as Graph;
}

/** A new draft: the block at which runs start. */
export function seededGraph(): Graph {
  const id = randomUUID();
  const start: JsonObject = {
    id,
    type: 'start_trigger',
    name: 'Start',
    position: { x: 0, y: 0 },
    subBlocks: { inputFormat: { id: 'inputFormat', type: 'input-format', value: [] } },
    outputs: {},
    enabled: true,
  };
  return { blocks: { [id]: start }, edges: [], loops: {}, parallels: {}, variables: {} };
}

/** The draft to be, and what of the body was changed or dropped for it. */
export function graphOf(body: GraphBody, before: Graph): { graph: Graph; warnings: string[] } {
  const warnings: string[] = [];
  const blocks = Object.entries(body.blocks).map(([id, block]): [string, JsonObject] => {
    if (block.id !== undefined && block.id !== id) {
      warnings.push(`The block "${id}" says that its id is "${block.id}": the key counts.`);
    }
    return [id, plain({ ...block, id })];
  });
  const edges = body.edges.map((edge, index) => plain({ ...edge, id: edge.id ?? edgeId(edge, index) }));
  const graph: Graph = {
    blocks: Object.fromEntries(blocks),
    edges,
    ...containers(blocks),
    variables: body.variables === undefined ? before.variables : variables(body.variables),
    ...(body.metadata && { metadata: plain(body.metadata) }),
  };
  return { graph, warnings };
}

/** Every id that the graph has of its own. */
export function idsOf(graph: Graph): string[] {
  return [...Object.keys(graph.blocks), ...graph.edges.map((edge) => textOr(edge['id'], ''))];
}

/** Equal for graphs that run the same: positions and sizes on a screen do not count. */
export function graphHash(graph: Graph): string {
  const { blocks, edges, variables: values, metadata } = graph;
  const running = Object.entries(blocks)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, { position: _position, height: _height, locked: _locked, ...rest }]) => [id, sorted(rest)]);
  const wires = edges.map(({ source, target, sourceHandle = null }) => [source, target, sourceHandle]);
  const text = JSON.stringify([running, wires, sorted(values), sorted(metadata ?? {})]);
  return createHash('sha256').update(text).digest('hex');
}

/** The workflow as the engine takes it. */
export function exported(
  { id, name, description }: { id: string; name: string; description: string | null },
  graph: Graph,
): JsonObject {
  const about: JsonObject = { id, name, ...(description !== null && { description }) };
  return { version: '1.0', workflow: about, state: graph as unknown as JsonObject };
}

/** Loops and parallels are what the blocks say: what is sent of them does not count. */
function containers(blocks: readonly [string, JsonObject][]): { loops: JsonObject; parallels: JsonObject } {
  const inside = (container: string): string[] =>
    blocks.filter(([, block]) => parentOf(block) === container).map(([id]) => id);
  const found = { loops: {} as JsonObject, parallels: {} as JsonObject };
  for (const [id, block] of blocks) {
    const data = objectOr(block['data']);
    const enabled = block['enabled'] !== false;
    if (block['type'] === 'loop') found.loops[id] = loop(id, { data, nodes: inside(id), enabled });
    if (block['type'] === 'parallel')
      found.parallels[id] = parallel(id, { data, nodes: inside(id), enabled });
  }
  return found;
}

type Container = { data: JsonObject; nodes: string[]; enabled: boolean };

function loop(id: string, { data, nodes, enabled }: Container): JsonObject {
  return plain({
    id,
    nodes,
    iterations: data['count'] ?? 5,
    loopType: data['loopType'] ?? 'for',
    forEachItems: data['collection'],
    whileCondition: data['whileCondition'],
    doWhileCondition: data['doWhileCondition'],
    enabled,
  });
}

function parallel(id: string, { data, nodes, enabled }: Container): JsonObject {
  return plain({
    id,
    nodes,
    distribution: data['collection'],
    count: data['count'],
    parallelType: data['parallelType'] ?? 'count',
    batchSize: data['batchSize'],
    enabled,
  });
}

function variables(given: NonNullable<GraphBody['variables']>): JsonObject {
  return Object.fromEntries(
    Object.entries(given).map(([key, variable]): [string, Json] => [
      key,
      plain({ ...variable, id: variable.id ?? key }),
    ]),
  );
}

/** Equal for equal edges, so that a dry run names the ids that the write will use. */
function edgeId(
  edge: { source: string; target: string; sourceHandle?: string | null | undefined },
  index: number,
): string {
  const text = JSON.stringify([edge.source, edge.target, edge.sourceHandle ?? null, index]);
  return `edge-${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
}

function parentOf(block: JsonObject): Json | undefined {
  return objectOr(block['data'])['parentId'];
}

function objectOr(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

/** The value where it is a text. */
export function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}

/** Without the keys that are undefined. */
function plain(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]): [string, Json] => [key, sorted(inner)]));
}
