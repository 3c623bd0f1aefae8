import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { fieldsOf, textOf } from './graph.ts';
import type { Field, PortableGraph } from './graph.ts';
import { isChosenFromList } from './kinds.ts';
import type { KindName, ReferenceKind, ReferenceField } from './kinds.ts';
import { isToolList, parseList } from './sanitize.ts';

/** How a value encodes the ids of an occurrence. */
export type Encoding = 'scalar' | 'array' | 'csv' | 'files' | 'environment';

/** The location of a reference in a graph. */
export interface Occurrence {
  blockId: string;
  subBlockKey: string;
  /** The path in the field's value, which may be JSON text; empty for the whole value. */
  valuePath: (string | number)[];
  /** Positions of items in a list (`array`, `csv`, `files`) or of placeholders in a string (`environment`). */
  positions?: number[] | undefined;
  encoding: Encoding;
}

export interface FoundReference {
  kind: KindName;
  sourceId: string;
  required: boolean;
  /** True if the id was chosen from a list; otherwise it was typed. */
  isChosen: boolean;
  occurrence: Occurrence;
}

export interface ReferenceManifest {
  version: 1;
  references: { kind: KindName; sourceId: string; required: boolean; occurrences: Occurrence[] }[];
}

/** Limits of a manifest. */
export const MAX_OCCURRENCES = 10_000;
export const MAX_POSITIONS = 2000;
export const MAX_PATH_LENGTH = 8;
const MAX_ID_LENGTH = 4096;
const MAX_KEY_LENGTH = 256;

/** Keys that paths must not contain, because writing to them could change the prototype of all objects. */
export const REFUSED_KEYS: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor']);

/** Environment placeholders in text. */
export const PLACEHOLDER = /\{\{([^{}]+)\}\}/g;

type Kinds = readonly Pick<ReferenceKind, 'kind' | 'accepts' | 'isRequired'>[];

/** Yields every reference of a graph that a manifest can contain, in the order of the graph. */
export function* referencesOf(graph: PortableGraph, kinds: Kinds): Generator<FoundReference> {
  for (const field of fieldsOf(graph)) {
    if (!isAllowedKey(field.blockId) || !isAllowedKey(field.key)) continue;
    for (const location of findIdLocations(field, kinds)) yield* idReferences(field, location);
    for (const { path, text } of textsOf(structuredValue(field), []))
      yield* environmentReferences(field, path, text);
  }
}

/**
 * Returns the references grouped by kind and id. `isComplete`: false if some are omitted because there are too many.
 */
export function manifestOf(references: Iterable<FoundReference>): {
  manifest: ReferenceManifest;
  isComplete: boolean;
} {
  const referencesByKey = new Map<string, ReferenceManifest['references'][number]>();
  let count = 0;
  for (const { kind, sourceId, required, occurrence } of references) {
    if (count === MAX_OCCURRENCES)
      return { manifest: { version: 1, references: [...referencesByKey.values()] }, isComplete: false };
    count += 1;
    const key = `${kind} ${sourceId}`;
    const reference = referencesByKey.get(key);
    if (reference) {
      reference.occurrences.push(occurrence);
      reference.required ||= required;
    } else {
      referencesByKey.set(key, { kind, sourceId, required, occurrences: [occurrence] });
    }
  }
  return { manifest: { version: 1, references: [...referencesByKey.values()] }, isComplete: true };
}

/** Returns the reference field at a path of a field; undefined when the field has none there. */
export function referenceFieldAt(
  field: Field,
  path: readonly (string | number)[],
): ReferenceField | undefined {
  const [index, ...memberPath] = path;
  if (index === undefined) return { ownerType: field.blockType, key: field.key, type: field.type };
  const list = structuredValue(field);
  const item = Array.isArray(list) && typeof index === 'number' ? list[index] : undefined;
  const key = memberPath.at(-1);
  const isInItem = memberPath.length === 1 || (memberPath.length === 2 && memberPath[0] === 'params');
  if (!isToolOrSkillList(field) || !isJsonObject(item) || typeof key !== 'string' || !isInItem)
    return undefined;
  return { ownerType: textOf(item, 'type'), key, type: '' };
}

interface IdLocation {
  kind: Kinds[number];
  referenceField: ReferenceField;
  path: (string | number)[];
  value: Json;
}

/** Yields the locations in a field that have ids: the field itself, or members of tools and skills. */
function* findIdLocations(field: Field, kinds: Kinds): Generator<IdLocation> {
  const topLevelField = { ownerType: field.blockType, key: field.key, type: field.type };
  const kind = kinds.find(({ accepts }) => accepts(topLevelField));
  if (kind) yield { kind, referenceField: topLevelField, path: [], value: field.value };
  const list = structuredValue(field);
  if (kind || !isToolOrSkillList(field) || !Array.isArray(list)) return;
  for (const [index, item] of list.entries()) {
    if (!isJsonObject(item)) continue;
    const ownerType = textOf(item, 'type');
    const params = getOwn(item, 'params');
    const members: [string[], JsonObject][] = [[[], item]];
    if (isJsonObject(params)) members.push([['params'], params]);
    for (const [prefix, object] of members) {
      for (const [key, value] of Object.entries(object)) {
        const memberField = { ownerType, key, type: '' };
        const memberKind = kinds.find(({ accepts }) => accepts(memberField));
        if (memberKind && isAllowedKey(key))
          yield { kind: memberKind, referenceField: memberField, path: [index, ...prefix, key], value };
      }
    }
  }
}

/** Yields a reference for each id at a location. */
function* idReferences(
  field: Field,
  { kind, referenceField, path, value }: IdLocation,
): Generator<FoundReference> {
  const required = kind.isRequired?.(referenceField) ?? false;
  const { encoding, ids } = decodeIds(value);
  const positions = new Map<string, number[]>();
  for (const [position, id] of ids.entries()) {
    if (id === undefined || id.length > MAX_ID_LENGTH) continue;
    const idPositions = positions.get(id);
    if (idPositions && idPositions.length < MAX_POSITIONS) idPositions.push(position);
    else if (!idPositions) positions.set(id, [position]);
  }
  for (const [sourceId, idPositions] of positions) {
    const occurrence = {
      ...locationOf(field, path),
      encoding,
      ...(encoding !== 'scalar' && { positions: idPositions }),
    };
    yield { kind: kind.kind, sourceId, required, isChosen: isChosenFromList(referenceField), occurrence };
  }
}

/** Returns the ids in a value by their position, undefined where there is none. */
export function decodeIds(value: Json): { encoding: Encoding; ids: (string | undefined)[] } {
  if (typeof value === 'string') {
    if (!value.includes(',')) return { encoding: 'scalar', ids: [parseId(value)] };
    return { encoding: 'csv', ids: value.split(',', MAX_POSITIONS).map((part) => parseId(part.trim())) };
  }
  if (isJsonObject(value)) return { encoding: 'files', ids: [fileId(value)] };
  if (!Array.isArray(value)) return { encoding: 'scalar', ids: [] };
  const items = value.slice(0, MAX_POSITIONS);
  const isFileList = items.some(isJsonObject);
  const ids = items.map((item) => {
    if (isJsonObject(item)) return fileId(item);
    return typeof item === 'string' && !isFileList ? parseId(item) : undefined;
  });
  return { encoding: isFileList ? 'files' : 'array', ids };
}

/** Returns the id in a text; undefined if it is blank, or has a reference or placeholder, which a run will resolve. */
function parseId(text: string): string | undefined {
  return text.trim() === '' || REFERENCE_OR_PLACEHOLDER.test(text) ? undefined : text;
}

const REFERENCE_OR_PLACEHOLDER = /\{\{[^{}]+\}\}|<[^<>]+>/;

function fileId(file: JsonObject): string | undefined {
  return parseId(textOf(file, 'key') || textOf(file, 'id'));
}

/** Yields a reference for each environment variable whose placeholder is in a string. */
function* environmentReferences(
  field: Field,
  path: (string | number)[],
  text: string,
): Generator<FoundReference> {
  const positions = new Map<string, number[]>();
  let position = 0;
  for (const [, name = ''] of text.matchAll(PLACEHOLDER)) {
    if (position === MAX_POSITIONS) break;
    const namePositions = positions.get(name);
    if (namePositions) namePositions.push(position);
    else if (name.length <= MAX_ID_LENGTH) positions.set(name, [position]);
    position += 1;
  }
  for (const [sourceId, namePositions] of positions) {
    const location = locationOf(field, path);
    const occurrence: Occurrence = { ...location, encoding: 'environment', positions: namePositions };
    yield { kind: 'env-var', sourceId, required: false, isChosen: false, occurrence };
  }
}

/** Yields the strings of a value that may have placeholders, with their paths, up to the maximum length of a path. */
function* textsOf(
  value: Json,
  path: (string | number)[],
): Generator<{ path: (string | number)[]; text: string }> {
  if (typeof value === 'string') {
    if (value.includes('{{')) yield { path, text: value };
    return;
  }
  if (typeof value !== 'object' || value === null || path.length === MAX_PATH_LENGTH) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.slice(0, MAX_POSITIONS + 1).entries())
      yield* textsOf(item, [...path, index]);
    return;
  }
  for (const [key, item] of Object.entries(value))
    if (isAllowedKey(key)) yield* textsOf(item, [...path, key]);
}

function locationOf({ blockId, key }: Field, valuePath: (string | number)[]) {
  return { blockId, subBlockKey: key, valuePath };
}

/** Returns whether the field is a list of tools or skills. */
function isToolOrSkillList(field: Field): boolean {
  return isToolList(field) || field.type === 'skill-input' || field.key === 'skills';
}

/** Returns the value to which paths in the field apply: for a list that is stored as JSON text, the parsed list. */
export function structuredValue(field: Field): Json {
  if (typeof field.value !== 'string' || !isToolOrSkillList(field)) return field.value;
  return parseList(field.value) ?? field.value;
}

function isAllowedKey(key: string): boolean {
  return key.length > 0 && key.length <= MAX_KEY_LENGTH && !REFUSED_KEYS.has(key);
}
