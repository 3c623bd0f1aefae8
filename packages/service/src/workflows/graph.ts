import { createHash, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type * as z from 'zod';
import type { Json, JsonObject } from '@heddle/core';
import { containersOf } from './containers.ts';
import { blockShape, edgeShape, variableShape } from './draft-schemas.ts';
import type { GraphBody } from './draft-schemas.ts';

/** A draft, as it is stored and shown. */
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

/** Returns a new draft with a start block. */
export function createGraph(): Graph {
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

/**
 * Returns the draft for a body, and a warning for everything that was changed or dropped. Keeps the variables of
 * `oldGraph` if the body has none.
 */
export function graphOf(body: GraphBody, oldGraph: Graph): { graph: Graph; warnings: string[] } {
  const droppedKeys = new DroppedKeys();
  const warnings: string[] = [];
  const blocks = Object.entries(body.blocks).map(([id, block]): [string, JsonObject] => {
    if (block.id != null && block.id !== id) {
      warnings.push(`The block "${id}" contains the id "${block.id}": its key is used.`);
    }
    return [id, toJson({ ...droppedKeys.drop(blockShape, block, `block "${block.name}"`), id })];
  });
  const edges = body.edges.map((edge, index) => {
    const id = edge.id ?? edgeId(edge, index);
    return toJson({ ...droppedKeys.drop(edgeShape, edge, `edge "${id}"`), id });
  });
  const newVariables =
    body.variables == null ? oldGraph.variables : variablesById(body.variables, droppedKeys);
  const graph: Graph = {
    blocks: Object.fromEntries(blocks),
    edges,
    // The loops and parallels of the body are ignored: the blocks define them.
    ...containersOf(blocks),
    variables: newVariables,
    ...(body.metadata && { metadata: toJson(body.metadata) }),
  };
  for (const key of ['loops', 'parallels'] as const) {
    const differs = body[key] != null && !isDeepStrictEqual(body[key], graph[key]);
    if (differs) warnings.push(`"${key}" was replaced: the blocks define it.`);
  }
  for (const key of EXPORT_ONLY_KEYS) if (body[key] != null) droppedKeys.add(key, 'the graph');
  return { graph, warnings: [...warnings, ...droppedKeys.warnings()] };
}

/** Keys of exported states that drafts do not have. */
const EXPORT_ONLY_KEYS = [
  'lastSaved',
  'isDeployed',
  'deployedAt',
  'deploymentStatuses',
  'needsRedeployment',
] as const;

/** Maximum number of keys that warnings name, and maximum length of each. */
const MAX_WARNINGS = 100;
const MAX_SHOWN_CHARACTERS = 100;

/** Collects unknown keys of a body, with one warning for each name. */
class DroppedKeys {
  readonly #keys = new Map<string, { firstOwner: string; count: number }>();

  /** Returns the value without the keys that are unknown to `shape`. Records the dropped keys. */
  drop(shape: z.ZodObject, value: object, owner: string): object {
    const entries = Object.entries(value);
    const knownEntries = entries.filter(([key]) => Object.hasOwn(shape.shape, key));
    if (knownEntries.length === entries.length) return value;
    for (const [key] of entries) if (!Object.hasOwn(shape.shape, key)) this.add(key, owner);
    return Object.fromEntries(knownEntries);
  }

  add(key: string, owner: string): void {
    const entry = this.#keys.get(key);
    if (entry) entry.count += 1;
    else if (this.#keys.size < MAX_WARNINGS) this.#keys.set(key, { firstOwner: owner, count: 1 });
  }

  warnings(): string[] {
    return [...this.#keys].map(([key, { firstOwner, count }]) => {
      const others = count === 1 ? '' : ` and ${count - 1} more`;
      const name = key.slice(0, MAX_SHOWN_CHARACTERS);
      return `The key "${name}" of ${firstOwner}${others} was dropped: drafts do not have it.`;
    });
  }
}

/** Returns the ids of all blocks and edges. */
export function idsOf(graph: Graph): string[] {
  return [...Object.keys(graph.blocks), ...graph.edges.map((edge) => stringOrDefault(edge['id'], ''))];
}

/** Returns a hash that is equal for graphs that run in the same way. Positions, heights and locks do not count. */
export function hashGraph(graph: Graph): string {
  const { blocks, edges, variables, metadata } = graph;
  const hashedBlocks = Object.entries(blocks)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, { position: _position, height: _height, locked: _locked, ...rest }]) => [id, sortKeys(rest)]);
  const hashedEdges = edges.map(({ source, target, sourceHandle = null }) => [source, target, sourceHandle]);
  const text = JSON.stringify([hashedBlocks, hashedEdges, sortKeys(variables), sortKeys(metadata ?? {})]);
  return createHash('sha256').update(text).digest('hex');
}

/** Returns the workflow in the engine's format. */
export function toEngineFormat(
  { id, name, description }: { id: string; name: string; description: string | null },
  graph: Graph,
): JsonObject {
  const header: JsonObject = { id, name, ...(description !== null && { description }) };
  return { version: '1.0', workflow: header, state: graph as unknown as JsonObject };
}

/** Returns the variables by id, from a record or an array. */
function variablesById(variables: NonNullable<GraphBody['variables']>, droppedKeys: DroppedKeys): JsonObject {
  const entries = Array.isArray(variables)
    ? variables.map((variable) => [variable.id ?? variable.name, variable] as const)
    : Object.entries(variables);
  return Object.fromEntries(
    entries.map(([key, variable]): [string, Json] => {
      const knownProperties = droppedKeys.drop(variableShape, variable, `variable "${variable.name}"`);
      return [key, toJson({ ...knownProperties, id: variable.id ?? key })];
    }),
  );
}

/** Returns an id that is equal for equal edges at the same index, so that a dry run and the write use the same ids. */
function edgeId(
  edge: { source: string; target: string; sourceHandle?: string | null | undefined },
  index: number,
): string {
  const text = JSON.stringify([edge.source, edge.target, edge.sourceHandle ?? null, index]);
  return `edge-${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
}

/** Returns the value if it is a string, otherwise `fallback`. */
export function stringOrDefault(value: unknown, fallback: string): string {
  return typeof value === 'string' ? value : fallback;
}

/** Returns the value as JSON, without undefined keys. */
function toJson(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

function sortKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    entries.map(([key, memberValue]): [string, Json] => [key, sortKeys(memberValue)]),
  );
}
