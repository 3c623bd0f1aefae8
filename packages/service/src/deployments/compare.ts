import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { objectOf } from '../transfer/graph.ts';

/** A stored graph: a draft or the graph of a version. */
export interface ComparedGraph {
  blocks: JsonObject;
  edges: readonly Json[];
  loops?: JsonObject | undefined;
  parallels?: JsonObject | undefined;
  variables?: JsonObject | undefined;
}

/** The differences between two graphs. Every list is sorted, so equal inputs have equal results. */
export interface GraphDifference {
  identical: boolean;
  blocks: { added: BlockRef[]; removed: BlockRef[]; changed: BlockChange[] };
  edges: { added: EdgeRef[]; removed: EdgeRef[] };
  loops: EntryDifference;
  parallels: EntryDifference;
  variables: EntryDifference;
}

export interface BlockRef {
  id: string;
  type: string;
  name: string;
}

export interface BlockChange extends BlockRef {
  /** Names of changed sub-blocks and of other changed fields, sorted. Values are not shown: they may be secrets. */
  subBlocks: string[];
  fields: string[];
}

export interface EdgeRef {
  source: string;
  target: string;
  sourceHandle: string | null;
  targetHandle: string | null;
}

/** Ids (for variables: names) of entries that differ, or that one side lacks. */
export interface EntryDifference {
  added: string[];
  removed: string[];
  changed: string[];
}

/** Fields that are ignored, or compared separately. */
const EXCLUDED_FIELDS: ReadonlySet<string> = new Set(['id', 'position', 'height', 'subBlocks']);
/** Fields of `data` with the size of a container on the screen. */
const SIZE_FIELDS: ReadonlySet<string> = new Set(['width', 'height']);
/** Default values of fields that a block does not set. */
const DEFAULTS: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['enabled', true],
  ['horizontalHandles', true],
  ['advancedMode', false],
  ['errorEnabled', false],
  ['triggerMode', false],
  ['locked', false],
]);

/**
 * Returns how `target` differs from `base`. Positions, sizes, ids of edges and the order of keys and edges are ignored.
 * An absent field equals one that is null or has its default.
 */
export function compareGraphs(base: ComparedGraph, target: ComparedGraph): GraphDifference {
  const blocks = compareBlocks(base.blocks, target.blocks);
  const edges = compareEdges(base.edges, target.edges);
  const loops = compareEntries(base.loops ?? {}, target.loops ?? {});
  const parallels = compareEntries(base.parallels ?? {}, target.parallels ?? {});
  const variables = compareEntries(
    keyVariablesByName(base.variables ?? {}),
    keyVariablesByName(target.variables ?? {}),
  );
  const lists = [blocks, edges, loops, parallels, variables].flatMap((difference) =>
    Object.values(difference),
  );
  return { identical: lists.every((list) => list.length === 0), blocks, edges, loops, parallels, variables };
}

function compareBlocks(base: JsonObject, target: JsonObject): GraphDifference['blocks'] {
  const { added, removed, shared } = compareKeys(base, target);
  const changed = shared.flatMap((id): BlockChange[] => {
    const [baseBlock, targetBlock] = [objectOf(base, id), objectOf(target, id)];
    const subBlocks = changedKeys(subBlockValues(baseBlock), subBlockValues(targetBlock));
    const fields = changedKeys(comparedFields(baseBlock), comparedFields(targetBlock));
    if (subBlocks.length === 0 && fields.length === 0) return [];
    return [{ ...refOf(id, targetBlock), subBlocks, fields }];
  });
  return {
    added: added.map((id) => refOf(id, objectOf(target, id))),
    removed: removed.map((id) => refOf(id, objectOf(base, id))),
    changed,
  };
}

function refOf(id: string, block: JsonObject): BlockRef {
  return { id, type: stringField(block, 'type') ?? '', name: stringField(block, 'name') ?? '' };
}

/** Returns the values of the sub-blocks without their types, which only select the control that edits them. */
function subBlockValues(block: JsonObject): JsonObject {
  const values = Object.entries(objectOf(block, 'subBlocks')).map(([key, field]): [string, Json] => [
    key,
    (isJsonObject(field) ? getOwn(field, 'value') : field) ?? null,
  ]);
  return Object.fromEntries(values);
}

function comparedFields(block: JsonObject): JsonObject {
  const entries = Object.entries(block)
    .filter(([key]) => !EXCLUDED_FIELDS.has(key))
    .map(([key, value]): [string, Json] => [key, key === 'data' ? withoutSizes(value) : value])
    .filter(([key, value]) => !isDeepStrictEqual(DEFAULTS.get(key), value));
  return Object.fromEntries(entries);
}

/** Returns the data of a block without sizes; null if nothing is left. */
function withoutSizes(data: Json): Json {
  if (!isJsonObject(data)) return data;
  const entries = Object.entries(data).filter(([key, value]) => !SIZE_FIELDS.has(key) && value !== null);
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

function compareEdges(base: readonly Json[], target: readonly Json[]): GraphDifference['edges'] {
  const [baseEdges, targetEdges] = [edgesByPorts(base), edgesByPorts(target)];
  const edgesOnlyIn = (edges: Map<string, EdgeRef>, otherEdges: Map<string, EdgeRef>) =>
    [...edges.keys()]
      .filter((key) => !otherEdges.has(key))
      .toSorted()
      .flatMap((key) => edges.get(key) ?? []);
  return { added: edgesOnlyIn(targetEdges, baseEdges), removed: edgesOnlyIn(baseEdges, targetEdges) };
}

/** Returns the edges by the ports that they connect. Equal edges have one entry. */
function edgesByPorts(edges: readonly Json[]): Map<string, EdgeRef> {
  const refsByPorts = new Map<string, EdgeRef>();
  for (const edge of edges) {
    if (!isJsonObject(edge)) continue;
    const ref = {
      source: stringField(edge, 'source') ?? '',
      target: stringField(edge, 'target') ?? '',
      sourceHandle: handleOf(edge, 'sourceHandle', 'source'),
      targetHandle: handleOf(edge, 'targetHandle', 'target'),
    };
    refsByPorts.set(JSON.stringify(Object.values(ref)), ref);
  }
  return refsByPorts;
}

/** Returns the handle; null for the default one, which has several spellings. */
function handleOf(edge: JsonObject, key: string, defaultHandle: string): string | null {
  const handle = stringField(edge, key);
  return handle === undefined || handle === '' || handle === defaultHandle ? null : handle;
}

function compareEntries(base: JsonObject, target: JsonObject): EntryDifference {
  const { added, removed, shared } = compareKeys(base, target);
  const changed = shared.filter((key) => !isEqual(getOwn(base, key), getOwn(target, key)));
  return { added, removed, changed };
}

/**
 * Returns variables by name, because workflows refer to them by name. If variables share a name, the keys of all but
 * the first also contain the id.
 */
function keyVariablesByName(variables: JsonObject): JsonObject {
  const variablesByName = new Map<string, Json>();
  for (const [id, variable] of Object.entries(variables)) {
    const { id: _id, workflowId: _workflowId, ...fields } = isJsonObject(variable) ? variable : {};
    const name = stringField(fields, 'name') ?? id;
    variablesByName.set(variablesByName.has(name) ? `${name} (${id})` : name, fields);
  }
  return Object.fromEntries(variablesByName);
}

function changedKeys(base: JsonObject, target: JsonObject): string[] {
  const keys = new Set([...Object.keys(base), ...Object.keys(target)]);
  return [...keys].filter((key) => !isEqual(getOwn(base, key), getOwn(target, key))).toSorted();
}

function isEqual(a: Json | undefined, b: Json | undefined): boolean {
  return isDeepStrictEqual(a ?? null, b ?? null);
}

function compareKeys(base: JsonObject, target: JsonObject) {
  const baseKeys = Object.keys(base).toSorted();
  const targetKeys = Object.keys(target).toSorted();
  return {
    added: targetKeys.filter((key) => !Object.hasOwn(base, key)),
    removed: baseKeys.filter((key) => !Object.hasOwn(target, key)),
    shared: baseKeys.filter((key) => Object.hasOwn(target, key)),
  };
}

function stringField(object: JsonObject, key: string): string | undefined {
  const value = getOwn(object, key);
  return typeof value === 'string' ? value : undefined;
}
