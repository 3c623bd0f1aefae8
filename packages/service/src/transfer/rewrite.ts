import { isJsonObject, own } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { fieldsOf, isEmpty, withFieldValues } from './graph.ts';
import type { Field, PortableGraph } from './graph.ts';
import { MAX_PATH, PLACEHOLDER, structured } from './references.ts';
import type { Occurrence } from './references.ts';

/** An occurrence with its new target; null clears it. */
export interface Assignment {
  occurrence: Occurrence;
  targetId: string | null;
}

type Path = readonly (string | number)[];

/** The assignments that change one value. They are made together, because each may change the length of a list. */
interface Edit {
  path: Path;
  encoding: Occurrence['encoding'];
  /** By position; undefined for a value that is not a list. */
  targets: Map<number | undefined, string | null>;
}

/** Returns the graph with the references replaced. Occurrences that the graph does not have change nothing. */
export function rewritten(graph: PortableGraph, assignments: readonly Assignment[]): PortableGraph {
  const edits = editsByField(assignments);
  if (edits.size === 0) return graph;
  const values = new Map<string, Map<string, Json>>();
  for (const field of fieldsOf(graph)) {
    const ofField = edits.get(fieldKey(field.blockId, field.key));
    if (!ofField) continue;
    const inBlock = values.get(field.blockId) ?? new Map<string, Json>();
    values.set(field.blockId, inBlock.set(field.key, editedValue(field, [...ofField.values()])));
  }
  return withFieldValues(graph, values);
}

function fieldKey(blockId: string, key: string): string {
  return JSON.stringify([blockId, key]);
}

function editsByField(assignments: readonly Assignment[]): Map<string, Map<string, Edit>> {
  const fields = new Map<string, Map<string, Edit>>();
  for (const { occurrence, targetId } of assignments) {
    const { blockId, subBlockKey, valuePath: path, encoding, positions } = occurrence;
    const ofField = fields.get(fieldKey(blockId, subBlockKey)) ?? new Map<string, Edit>();
    const key = JSON.stringify([path, encoding]);
    const edit = ofField.get(key) ?? {
      path,
      encoding,
      targets: new Map<number | undefined, string | null>(),
    };
    for (const position of positions ?? [undefined]) edit.targets.set(position, targetId);
    fields.set(fieldKey(blockId, subBlockKey), ofField.set(key, edit));
  }
  return fields;
}

function editedValue(field: Field, edits: readonly Edit[]): Json {
  const inner = edits.filter(({ path }) => path.length > 0);
  const whole = edits.filter(({ path }) => path.length === 0);
  if (inner.length === 0) return editedAll(field.value, whole);
  const before = structured(field);
  const after = editedAll(before, inner);
  // A reference to the whole value refers to its text if the value is text.
  return editedAll(before === field.value ? after : JSON.stringify(after), whole);
}

function editedAll(value: Json, edits: readonly Edit[]): Json {
  // One copy for all edits: a long list is not copied for each of its items.
  const root: { value: Json } = { value: structuredClone(value) };
  for (const edit of edits.toSorted((a, b) => orderOf(b) - orderOf(a))) {
    const [parent, key] = placeOf(root, edit.path) ?? [];
    if (parent && key !== undefined) parent[key] = editedIds(parent[key] ?? null, edit);
  }
  return root.value;
}

/** Strings come first, then deeper values, because removing items of a list changes the positions of the others. */
function orderOf({ path, encoding }: Edit): number {
  return encoding === 'environment' ? MAX_PATH + 1 : path.length;
}

/** Returns the object or list that has the value at a path, and its key there; undefined if it does not exist. */
function placeOf(
  root: { value: Json },
  path: Path,
): [{ [key: string | number]: Json }, string | number] | undefined {
  let parent: { [key: string | number]: Json } = root;
  let key: string | number = 'value';
  for (const step of path) {
    const value: Json | undefined = parent[key];
    const isThere = Array.isArray(value)
      ? typeof step === 'number' && step < value.length
      : isJsonObject(value) && typeof step === 'string' && Object.hasOwn(value, step);
    if (!isThere) return undefined;
    parent = value as { [key: string | number]: Json };
    key = step;
  }
  return [parent, key];
}

function editedIds(value: Json, { encoding, targets }: Edit): Json {
  switch (encoding) {
    case 'scalar':
      return [...targets.values()].at(-1) ?? null;
    case 'environment':
      return typeof value === 'string' ? renamed(value, targets) : value;
    case 'csv': {
      return replacedItems(partsOf(value), targets, itself).join(',') || null;
    }
    case 'array':
      return replacedItems(listOf(value), targets, itself);
    case 'files': {
      if (!isJsonObject(value)) return replacedItems(listOf(value), targets, fileOf);
      return replacedItems([value], targets, fileOf)[0] ?? null;
    }
  }
}

/** Returns the list with the items at these positions replaced, without those that are cleared. */
function replacedItems<T extends Json, M extends Json>(
  items: readonly T[],
  targets: Edit['targets'],
  make: (target: string, item: T | undefined) => M,
): (T | M)[] {
  const after = new Map<number, T | M>(items.entries());
  for (const [given, target] of targets) {
    const position = given ?? items.length;
    if (target === null) after.delete(position);
    else after.set(position, make(target, items[position]));
  }
  return [...after].toSorted(([a], [b]) => a - b).map(([, item]) => item);
}

function partsOf(value: Json): string[] {
  return typeof value === 'string' && !isEmpty(value) ? value.split(',').map((part) => part.trim()) : [];
}

function listOf(value: Json): Json[] {
  return Array.isArray(value) ? value : [];
}

const itself = (target: string): string => target;

/** Returns the value of a field for another file, without data that describes the old file, such as its address. */
function fileOf(target: string, item: Json | undefined): JsonObject {
  const name = isJsonObject(item ?? null) ? own(item as JsonObject, 'name') : undefined;
  return { key: target, ...(name !== undefined && { name }) };
}

function renamed(text: string, targets: Edit['targets']): string {
  const all = targets.get(undefined);
  let position = -1;
  return text.replaceAll(PLACEHOLDER, (placeholder) => {
    position += 1;
    const target = targets.has(position) ? targets.get(position) : all;
    if (target === undefined) return placeholder;
    return target === null ? '' : `{{${target}}}`;
  });
}
