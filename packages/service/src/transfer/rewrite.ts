import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { fieldsOf, isEmpty, withFieldValues } from './graph.ts';
import type { Field, PortableGraph } from './graph.ts';
import { MAX_PATH_LENGTH, PLACEHOLDER, structuredValue } from './references.ts';
import type { Occurrence } from './references.ts';

/** An occurrence with its new target; null clears it. */
export interface Assignment {
  occurrence: Occurrence;
  targetId: string | null;
}

type Path = readonly (string | number)[];

/** The assignments that change one value. They are applied together, because each may change the length of a list. */
interface Edit {
  path: Path;
  encoding: Occurrence['encoding'];
  /** By position; undefined for a value that is not a list. */
  targets: Map<number | undefined, string | null>;
}

/** Returns the graph with the references replaced. Occurrences that the graph does not have change nothing. */
export function rewriteReferences(graph: PortableGraph, assignments: readonly Assignment[]): PortableGraph {
  const edits = editsByField(assignments);
  if (edits.size === 0) return graph;
  const values = new Map<string, Map<string, Json>>();
  for (const field of fieldsOf(graph)) {
    const fieldEdits = edits.get(fieldKey(field.blockId, field.key));
    if (!fieldEdits) continue;
    const blockValues = values.get(field.blockId) ?? new Map<string, Json>();
    values.set(field.blockId, blockValues.set(field.key, editField(field, [...fieldEdits.values()])));
  }
  return withFieldValues(graph, values);
}

function fieldKey(blockId: string, key: string): string {
  return JSON.stringify([blockId, key]);
}

function editsByField(assignments: readonly Assignment[]): Map<string, Map<string, Edit>> {
  const editsByFieldKey = new Map<string, Map<string, Edit>>();
  for (const { occurrence, targetId } of assignments) {
    const { blockId, subBlockKey, valuePath: path, encoding, positions } = occurrence;
    const fieldEdits = editsByFieldKey.get(fieldKey(blockId, subBlockKey)) ?? new Map<string, Edit>();
    const key = JSON.stringify([path, encoding]);
    const edit = fieldEdits.get(key) ?? {
      path,
      encoding,
      targets: new Map<number | undefined, string | null>(),
    };
    for (const position of positions ?? [undefined]) edit.targets.set(position, targetId);
    editsByFieldKey.set(fieldKey(blockId, subBlockKey), fieldEdits.set(key, edit));
  }
  return editsByFieldKey;
}

function editField(field: Field, edits: readonly Edit[]): Json {
  const innerEdits = edits.filter(({ path }) => path.length > 0);
  const wholeValueEdits = edits.filter(({ path }) => path.length === 0);
  if (innerEdits.length === 0) return applyEdits(field.value, wholeValueEdits);
  const value = structuredValue(field);
  const edited = applyEdits(value, innerEdits);
  // If the field has JSON text, the edits of the whole value apply to the text.
  return applyEdits(value === field.value ? edited : JSON.stringify(edited), wholeValueEdits);
}

function applyEdits(value: Json, edits: readonly Edit[]): Json {
  // One copy for all edits: a long list is not copied for each of its items.
  const root: { value: Json } = { value: structuredClone(value) };
  for (const edit of edits.toSorted((a, b) => rankOf(b) - rankOf(a))) {
    const [parent, key] = locate(root, edit.path) ?? [];
    if (parent && key !== undefined) parent[key] = replaceIds(parent[key] ?? null, edit);
  }
  return root.value;
}

/**
 * Returns the rank of an edit. Edits of higher rank come first, because removing list items changes the positions of
 * other items.
 */
function rankOf({ path, encoding }: Edit): number {
  return encoding === 'environment' ? MAX_PATH_LENGTH + 1 : path.length;
}

/** Returns the object or list that contains the value at a path, and the key of the value; undefined for no value. */
function locate(
  root: { value: Json },
  path: Path,
): [{ [key: string | number]: Json }, string | number] | undefined {
  let parent: { [key: string | number]: Json } = root;
  let key: string | number = 'value';
  for (const step of path) {
    const value: Json | undefined = parent[key];
    const exists = Array.isArray(value)
      ? typeof step === 'number' && step < value.length
      : isJsonObject(value) && typeof step === 'string' && Object.hasOwn(value, step);
    if (!exists) return undefined;
    parent = value as { [key: string | number]: Json };
    key = step;
  }
  return [parent, key];
}

function replaceIds(value: Json, { encoding, targets }: Edit): Json {
  switch (encoding) {
    case 'scalar':
      return [...targets.values()].at(-1) ?? null;
    case 'environment':
      return typeof value === 'string' ? replacePlaceholders(value, targets) : value;
    case 'csv': {
      return replaceItems(partsOf(value), targets, toId).join(',') || null;
    }
    case 'array':
      return replaceItems(listOf(value), targets, toId);
    case 'files': {
      if (!isJsonObject(value)) return replaceItems(listOf(value), targets, toFileReference);
      return replaceItems([value], targets, toFileReference)[0] ?? null;
    }
  }
}

/** Returns the list with the items at these positions replaced, without those that are cleared. */
function replaceItems<T extends Json, M extends Json>(
  items: readonly T[],
  targets: Edit['targets'],
  toItem: (target: string, item: T | undefined) => M,
): (T | M)[] {
  const itemsByPosition = new Map<number, T | M>(items.entries());
  for (const [index, target] of targets) {
    const position = index ?? items.length;
    if (target === null) itemsByPosition.delete(position);
    else itemsByPosition.set(position, toItem(target, items[position]));
  }
  return [...itemsByPosition].toSorted(([a], [b]) => a - b).map(([, item]) => item);
}

function partsOf(value: Json): string[] {
  return typeof value === 'string' && !isEmpty(value) ? value.split(',').map((part) => part.trim()) : [];
}

function listOf(value: Json): Json[] {
  return Array.isArray(value) ? value : [];
}

const toId = (target: string): string => target;

/** Returns a reference to another file. It keeps the name of the old file, but no other data, such as the URL. */
function toFileReference(target: string, item: Json | undefined): JsonObject {
  const name = isJsonObject(item ?? null) ? getOwn(item as JsonObject, 'name') : undefined;
  return { key: target, ...(name !== undefined && { name }) };
}

function replacePlaceholders(text: string, targets: Edit['targets']): string {
  const commonTarget = targets.get(undefined);
  let position = -1;
  return text.replaceAll(PLACEHOLDER, (placeholder) => {
    position += 1;
    const target = targets.has(position) ? targets.get(position) : commonTarget;
    if (target === undefined) return placeholder;
    return target === null ? '' : `{{${target}}}`;
  });
}
