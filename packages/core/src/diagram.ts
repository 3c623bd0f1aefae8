import './node-version.ts';
import { isJsonObject, getOwn, parseJson } from './json.ts';
import type { Json, JsonObject } from './json.ts';

/** A block of a diagram (a picture of the graph), without its fields. */
export interface DiagramBlock {
  id: string;
  name: string;
  type: string;
  enabled: boolean;
  /** Position in the editor, relative to its container; null if the block has none. */
  position: { x: number; y: number } | null;
  /** Id of the container around the block. */
  parentId: string | null;
  width: number | null;
  height: number | null;
  /** Condition and router blocks: a port for each condition or route, with its title. */
  ports: { id: string; title: string }[];
}

export interface DiagramEdge {
  source: string;
  target: string;
  /** The port of the source: `source`, `error`, `condition-ID`, `loop-start-source` … */
  port: string;
}

/** The data of a picture of a graph: the graph without the fields of its blocks. */
export interface Diagram {
  blocks: DiagramBlock[];
  edges: DiagramEdge[];
}

/** Returns the diagram of an exported workflow or a draft. Any part of `state` may have a wrong type. */
export function toDiagram(state: JsonObject): Diagram {
  const blocks = getOwn(state, 'blocks');
  const edges = getOwn(state, 'edges');
  return {
    blocks: Object.entries(isJsonObject(blocks) ? blocks : {}).flatMap(([id, block]) =>
      isJsonObject(block) ? [toDiagramBlock(id, block)] : [],
    ),
    edges: (Array.isArray(edges) ? edges : []).flatMap((edge) =>
      isJsonObject(edge) ? [toDiagramEdge(edge)] : [],
    ),
  };
}

function toDiagramBlock(id: string, block: JsonObject): DiagramBlock {
  const data = objectAt(block, 'data');
  const position = objectAt(block, 'position');
  const [x, y] = [numberAt(position, 'x'), numberAt(position, 'y')];
  return {
    id,
    name: stringAt(block, 'name') ?? id,
    type: stringAt(block, 'type') ?? '',
    enabled: getOwn(block, 'enabled') !== false,
    position: x === null || y === null ? null : { x, y },
    // Some editors write an empty string for a block without a container.
    parentId: (stringAt(data, 'parentId') ?? stringAt(block, 'parentId')) || null,
    width: numberAt(data, 'width'),
    height: numberAt(data, 'height') ?? numberAt(block, 'height'),
    ports: portsOf(block),
  };
}

function toDiagramEdge(edge: JsonObject): DiagramEdge {
  return {
    source: stringAt(edge, 'source') ?? '',
    target: stringAt(edge, 'target') ?? '',
    port: stringAt(edge, 'sourceHandle') ?? 'source',
  };
}

/** Fields whose rows (conditions or routes) have ports, with the prefix of the ports. */
const PORT_FIELDS = { conditions: 'condition-', routes: 'router-' } as const;

function portsOf(block: JsonObject): DiagramBlock['ports'] {
  const fields = objectAt(block, 'subBlocks');
  return Object.entries(PORT_FIELDS).flatMap(([field, prefix]) =>
    rowsOf(getOwn(objectAt(fields, field), 'value')).map((row) => ({
      id: prefix + (stringAt(row, 'id') ?? ''),
      title: stringAt(row, 'title') ?? '',
    })),
  );
}

/** Returns the rows of a field: an array, or the JSON text of an array. A row that cannot be read has no port. */
function rowsOf(value: Json | undefined): JsonObject[] {
  const rows = typeof value === 'string' ? parseJson(value) : value;
  return Array.isArray(rows) ? rows.filter(isJsonObject) : [];
}

function objectAt(object: JsonObject, key: string): JsonObject {
  const value = getOwn(object, key);
  return isJsonObject(value) ? value : {};
}

function stringAt(object: JsonObject, key: string): string | null {
  const value = getOwn(object, key);
  return typeof value === 'string' ? value : null;
}

function numberAt(object: JsonObject, key: string): number | null {
  const value = getOwn(object, key);
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
