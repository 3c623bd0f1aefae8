import * as z from 'zod';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { MAX_BLOCKS, MAX_EDGES } from '../workflows/draft-schemas.ts';
import type { PortableGraph } from './graph.ts';
import { KINDS } from './kinds.ts';
import { MAX_OCCURRENCES, MAX_PATH_LENGTH, MAX_POSITIONS, REFUSED_KEYS } from './references.ts';
import type { ReferenceManifest } from './references.ts';

/** A workflow as a file describes it. The ids of resources in it grant no access to them. */
export interface Payload {
  name?: string | undefined;
  description?: string | undefined;
  graph: PortableGraph;
  manifest?: ReferenceManifest | undefined;
}

/** A file that cannot be imported. The message is for the caller. */
export class PayloadError extends Error {
  override readonly name = 'PayloadError';
}

/** Maximum number of values in a file: objects, arrays, and everything in them. */
const MAX_VALUES = 500_000;
/** Maximum nesting of a file. Deeper values would exhaust the stack of recursive functions. */
const MAX_DEPTH = 100;

export const key = z
  .string()
  .min(1)
  .max(256)
  .refine((text) => !REFUSED_KEYS.has(text), 'this key is refused');

export const resourceId = z.string().min(1).max(4096);

const index = z.int().min(0).max(MAX_POSITIONS);

/** An occurrence of a reference, as manifests and bindings name it. */
export const occurrence = z.strictObject({
  blockId: key,
  subBlockKey: key,
  valuePath: z.array(z.union([key, index])).max(MAX_PATH_LENGTH),
  positions: z.array(index).max(MAX_POSITIONS).optional(),
  encoding: z.enum(['scalar', 'array', 'csv', 'files', 'environment']),
});

export const kindName = z.enum(KINDS);

export const manifest = z.strictObject({
  version: z.literal(1),
  references: z
    .array(
      z.strictObject({
        kind: kindName,
        sourceId: resourceId,
        required: z.boolean(),
        occurrences: z.array(occurrence).min(1).max(MAX_OCCURRENCES),
      }),
    )
    .max(MAX_OCCURRENCES)
    .refine(
      (references) =>
        references.reduce((sum, { occurrences }) => sum + occurrences.length, 0) <= MAX_OCCURRENCES,
      `A manifest has at most ${MAX_OCCURRENCES} occurrences`,
    ),
});

/**
 * Returns the workflow of an imported file. The file is an export, an object with an export in `data`, an object with
 * only `state`, the value of `state`, or the JSON text of any of these. Throws `PayloadError` for anything else, and
 * for a file that is too large or too deep.
 */
export function readPayload(input: Json): Payload {
  const file = typeof input === 'string' ? parseJson(input) : input;
  requireBounded(file);
  const rootObject = objectIn(file, 'workflow');
  const data = getOwn(rootObject, 'data');
  const body =
    isJsonObject(data) && !Object.hasOwn(rootObject, 'blocks') && !Object.hasOwn(rootObject, 'state')
      ? data
      : rootObject;
  const state = getOwn(body, 'state');
  const graph = graphIn(objectIn(state === undefined ? body : state, 'workflow.state'));
  const header = getOwn(body, 'workflow');
  const metadata = graph.metadata ?? {};
  return {
    graph,
    name: textIn(header, 'name') ?? textIn(metadata, 'name'),
    description: textIn(header, 'description') ?? textIn(metadata, 'description'),
    manifest: manifestIn(getOwn(body, 'referenceManifest')),
  };
}

function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new PayloadError('workflow is a string that is not JSON');
  }
}

function graphIn(state: JsonObject): PortableGraph {
  const blocks = getOwn(state, 'blocks');
  const edges = getOwn(state, 'edges');
  if (!isJsonObject(blocks))
    throw new PayloadError('workflow.state.blocks must be an object of blocks by id');
  if (!Array.isArray(edges)) throw new PayloadError('workflow.state.edges must be an array');
  if (Object.keys(blocks).length > MAX_BLOCKS)
    throw new PayloadError(`A workflow has at most ${MAX_BLOCKS} blocks`);
  if (edges.length > MAX_EDGES) throw new PayloadError(`A workflow has at most ${MAX_EDGES} edges`);
  for (const [id, block] of Object.entries(blocks)) checkBlock(id, block);
  for (const [position, edge] of edges.entries()) {
    const hasEnds = isJsonObject(edge) && textIn(edge, 'source') && textIn(edge, 'target');
    if (!hasEnds) throw new PayloadError(`workflow.state.edges.${position} must have a source and a target`);
  }
  return {
    blocks: blocks as PortableGraph['blocks'],
    edges: edges as JsonObject[],
    loops: optionalObject(state, 'loops'),
    parallels: optionalObject(state, 'parallels'),
    variables: variablesIn(getOwn(state, 'variables')),
    metadata: optionalObject(state, 'metadata'),
  };
}

function checkBlock(id: string, block: Json): void {
  const path = `workflow.state.blocks.${id.slice(0, 100)}`;
  if (id === '' || REFUSED_KEYS.has(id)) throw new PayloadError(`${path}: a block cannot have this id`);
  if (!isJsonObject(block)) throw new PayloadError(`${path} must be an object`);
  if (!textIn(block, 'type')) throw new PayloadError(`${path}.type must be a non-empty string`);
  if (!textIn(block, 'name')) throw new PayloadError(`${path}.name must be a non-empty string`);
}

/** Returns the variables by id. Files have them as an object, an array, or the JSON text of these. */
function variablesIn(input: Json | undefined): JsonObject {
  const value = typeof input === 'string' && input !== '' ? parseJson(input) : input;
  if (isJsonObject(value)) return value;
  if (!Array.isArray(value)) return {};
  const entries = value.flatMap((variable): [string, Json][] => {
    const id = textIn(variable, 'id') ?? textIn(variable, 'name');
    return id === undefined ? [] : [[id, variable]];
  });
  return Object.fromEntries(entries);
}

function manifestIn(input: Json | undefined): ReferenceManifest | undefined {
  if (input == null) return undefined;
  const parseResult = manifest.safeParse(input);
  if (parseResult.success) return parseResult.data;
  const [issue] = parseResult.error.issues;
  const path = ['workflow', 'referenceManifest', ...(issue?.path ?? [])].join('.');
  throw new PayloadError(`${path.slice(0, 300)}: ${issue?.message ?? 'invalid'}`);
}

/** Throws for a value that is too large or too deep. Checks level by level, so as not to exhaust the stack itself. */
function requireBounded(value: Json): void {
  let level: Json[] = [value];
  let count = 0;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH)
      throw new PayloadError(`The workflow is nested more than ${MAX_DEPTH} levels deep`);
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
    count += level.length;
    if (count > MAX_VALUES) throw new PayloadError(`The workflow has more than ${MAX_VALUES} values`);
  }
}

function objectIn(value: Json | undefined, path: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw new PayloadError(`${path} must be an object`);
}

function optionalObject(object: JsonObject, name: string): JsonObject | undefined {
  const value = getOwn(object, name);
  return isJsonObject(value) ? value : undefined;
}

function textIn(object: Json | undefined, name: string): string | undefined {
  const value = isJsonObject(object) ? getOwn(object, name) : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}
