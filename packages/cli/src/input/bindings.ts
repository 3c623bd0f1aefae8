import type { Json, JsonObject } from '@heddle/core';
import { isJsonObject, normalizeName, getOwn } from '@heddle/core/blocks';
import { BLOCK_FIELDS, SimilarNames } from '@heddle/core/drafts';
import { UsageError } from '../usage-error.ts';
import { unwrapGraph } from './block-names.ts';
import { readJsonFile } from './json-source.ts';

export interface BindingOptions {
  /** `BLOCK.FIELD=JSON`. */
  set?: readonly string[];
  /** Files of `{BLOCK: {FIELD: value}}`. */
  bindings?: readonly string[];
}

/** A value for a field of a block. */
export interface Binding {
  /** The option or file that contains it, for messages. */
  source: string;
  /** Id or name of the block, the field, and steps inside its value, joined by dots. */
  path: string;
  value: Json;
}

const EXAMPLE = `Example: --set 'Slack.channel="C0123456789"'`;
const MAX_LISTED_NAMES = 20;

/** Returns the values of fields from files and options. Options take precedence. Throws usage errors. */
export async function readBindings({ set = [], bindings = [] }: BindingOptions): Promise<Binding[]> {
  const fileBindings = await Promise.all(
    bindings.map(async (file) => bindingsInFile(file, await readJsonFile('--bindings', file))),
  );
  return [...fileBindings.flat(), ...set.map((pair) => bindingInOption(pair))];
}

function bindingsInFile(file: string, json: Json): Binding[] {
  const invalidBindingsError = (reason: string): UsageError =>
    new UsageError(
      `Invalid bindings in ${file}: ${reason}.`,
      'Example: {"Slack": {"channel": "C0123456789"}, "Agent": {"model": "gpt-5-mini"}}',
    );
  if (!isJsonObject(json)) throw invalidBindingsError('they are not a JSON object');
  return Object.entries(json).flatMap(([block, fields]) => {
    if (!isJsonObject(fields))
      throw invalidBindingsError(`the value of "${block}" is not an object of fields`);
    return Object.entries(fields).map(([field, value]) => ({
      source: file,
      path: `${block}.${field}`,
      value,
    }));
  });
}

/** Returns the binding in an option. Errors do not show the value, which may be a key. */
function bindingInOption(pair: string): Binding {
  const separator = pair.indexOf('=');
  const path = pair.slice(0, Math.max(0, separator)).trim();
  if (!/[^.]\.[^.]/.test(path)) {
    const option = separator < 0 ? '--set' : `--set ${shorten(path)}=…`;
    throw new UsageError(`${option} is not BLOCK.FIELD=JSON.`, EXAMPLE);
  }
  const text = pair.slice(separator + 1);
  try {
    return { source: '--set', path, value: JSON.parse(text) as Json };
  } catch {
    const isUnquoted = /^\s*[^\s[{"]/.test(text);
    const hint = isUnquoted ? `A string needs double quotes: --set '${path}="TEXT"'` : EXAMPLE;
    throw new UsageError(`The value of --set ${path} is not JSON.`, hint);
  }
}

/** Sets the values of fields in a parsed workflow, with or without the envelopes of a file. Throws usage errors. */
export async function applyBindings(workflow: Json, bindings: readonly Binding[]): Promise<void> {
  const graph = unwrapGraph(workflow);
  const blocks = isJsonObject(graph) ? (getOwn(graph, 'blocks') ?? null) : null;
  // Problems of the workflow are reported when it is parsed.
  if (!isJsonObject(blocks)) return;
  for (const binding of bindings) {
    const { block, steps } = findBlock(blocks, binding);
    const [field = '', ...innerSteps] = steps;
    const { parent, key } = await findField(block, field, binding);
    parent[key] =
      innerSteps.length === 0 ? binding.value : withValue(parent[key] ?? null, innerSteps, binding);
  }
}

/** Finds the block that a path begins with: by id, else by name. Names may contain dots, so the longest match wins. */
function findBlock(blocks: JsonObject, { source, path }: Binding): { block: JsonObject; steps: string[] } {
  const parts = path.split('.');
  for (let length = parts.length - 1; length > 0; length--) {
    const name = parts.slice(0, length).join('.');
    const matches = findBlocksByIdOrName(blocks, name);
    const [first] = matches;
    if (matches.length > 1)
      throw new UsageError(
        `${source}: ${matches.length} blocks are named "${name}".`,
        `Use the id of one: ${matches.map(([id]) => id).join(', ')}.`,
      );
    if (first) return { block: first[1], steps: parts.slice(length) };
  }
  throw unknownBlockError(blocks, parts.slice(0, -1), source);
}

/** Returns an error that names the longest beginning of the path that resembles a block's name, else the whole path. */
function unknownBlockError(blocks: JsonObject, parts: readonly string[], source: string): UsageError {
  const names = Object.entries(blocks).map(([id, block]) => nameOf(id, block));
  const prefixes = parts.map((_, index) => parts.slice(0, index + 1).join('.'));
  const similarPrefix = prefixes.findLast((prefix) => nearestName(prefix, names) !== undefined);
  const name = similarPrefix ?? parts.join('.');
  return new UsageError(`${source}: the workflow has no block "${name}".`, suggestion(name, names, 'blocks'));
}

function findBlocksByIdOrName(blocks: JsonObject, name: string): [string, JsonObject][] {
  const blockWithId = getOwn(blocks, name);
  if (isJsonObject(blockWithId)) return [[name, blockWithId]];
  return Object.entries(blocks).filter(
    (entry): entry is [string, JsonObject] =>
      isJsonObject(entry[1]) && normalizeName(nameOf(...entry)) === normalizeName(name),
  );
}

function nameOf(id: string, block: Json): string {
  const name = isJsonObject(block) ? getOwn(block, 'name') : undefined;
  return typeof name === 'string' && name.trim() !== '' ? name : id;
}

/** Finds the location of a field's value. Adds a field that the file omits, if blocks of the type have it. */
async function findField(
  block: JsonObject,
  field: string,
  { source, path }: Binding,
): Promise<{ parent: JsonObject; key: string }> {
  const type = getOwn(block, 'type');
  const isContainer = type === 'loop' || type === 'parallel';
  const fields = getOrAddObject(block, isContainer ? 'data' : 'subBlocks');
  const typeFields = typeof type !== 'string' || Object.hasOwn(fields, field) ? [] : await fieldsOf(type);
  if (!Object.hasOwn(fields, field) && !typeFields.includes(field)) {
    const allFields = [...new Set([...Object.keys(fields), ...typeFields])];
    const message = `${source}: the block of "${path}" has no field "${field}".`;
    throw new UsageError(message, suggestion(field, allFields, 'fields'));
  }
  return isContainer
    ? { parent: fields, key: field }
    : { parent: getOrAddObject(fields, field), key: 'value' };
}

/** Returns the object at a key. Adds an empty object if there is none. */
function getOrAddObject(object: JsonObject, key: string): JsonObject {
  const value = getOwn(object, key);
  if (isJsonObject(value)) return value;
  const newObject: JsonObject = {};
  object[key] = newObject;
  return newObject;
}

/** Returns the fields that blocks of a type have, whether or not the file has them. */
async function fieldsOf(type: string): Promise<string[]> {
  const builtInSchema = BLOCK_FIELDS.get(type);
  if (builtInSchema) return Object.keys(builtInSchema.shape);
  const { describeBlocks } = await import('@heddle/blocks');
  const description = (await describeBlocks()).find((candidate) => candidate.type === type);
  return Object.keys((description?.fields['properties'] ?? {}) as object);
}

/**
 * Returns a copy of the value in which the inner value at these steps is replaced. A step is a key of an object or a
 * position in a list, from 0. Parses strings that contain JSON.
 */
function withValue(value: Json, [step = '', ...innerSteps]: readonly string[], binding: Binding): Json {
  const parsedValue = typeof value === 'string' ? parseJsonOrText(value) : value;
  const replaceInner = (oldValue: Json): Json =>
    innerSteps.length === 0 ? binding.value : withValue(oldValue, innerSteps, binding);
  if (Array.isArray(parsedValue) && /^\d{1,6}$/.test(step) && Number(step) < parsedValue.length)
    return parsedValue.with(Number(step), replaceInner(parsedValue[Number(step)] ?? null));
  if (isJsonObject(parsedValue) && (innerSteps.length === 0 || Object.hasOwn(parsedValue, step)))
    return { ...parsedValue, [step]: replaceInner(getOwn(parsedValue, step) ?? null) };
  const { source, path } = binding;
  const description = Array.isArray(parsedValue)
    ? `a list of length ${parsedValue.length}, with positions from 0`
    : 'neither a list nor an object with this key';
  throw new UsageError(
    `${source}: there is no "${step}" in "${path}": the value is ${description}.`,
    EXAMPLE,
  );
}

function parseJsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    // Other text has no inner values: the caller reports the unknown step.
    return text;
  }
}

/** Returns a hint for an unknown name: the most similar name, else all names. */
function suggestion(name: string, names: readonly string[], noun: string): string {
  const similarName = nearestName(name, names);
  if (similarName !== undefined) return `Did you mean "${similarName}"?`;
  const list = names.slice(0, MAX_LISTED_NAMES).join(', ');
  return `The ${noun} are: ${list}${names.length > MAX_LISTED_NAMES ? ', …' : ''}.`;
}

/** Returns the name that is most similar, without regard to case and white space; undefined if none is similar. */
function nearestName(name: string, names: readonly string[]): string | undefined {
  const byNormalizedName = new Map(names.map((candidate) => [normalizeName(candidate), candidate]));
  const nearestMatch = new SimilarNames(byNormalizedName.keys()).findNearest(normalizeName(name));
  return nearestMatch && byNormalizedName.get(nearestMatch.name);
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
