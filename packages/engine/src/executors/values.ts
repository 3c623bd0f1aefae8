import { isJsonObject, own } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';

/** The value of a JSON text, or undefined when it is none. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The value as text: strings as they are, nothing for null, JSON for the rest. */
export function asText(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The rows of a field that holds a list: the list itself, or its JSON text; undefined when it is neither. */
export function asRows(value: Json | undefined): JsonObject[] | undefined {
  const list = typeof value === 'string' ? parseJson(value.trim() === '' ? '[]' : value) : (value ?? []);
  return Array.isArray(list) ? list.filter((row) => isJsonObject(row)) : undefined;
}

/**
 * The pairs of a table field, in order: rows `{cells: {Key, Value}}`, an object of its own, or the JSON text of either.
 * Rows without a key are left out; undefined when the value is no table at all.
 */
export function asPairs(value: Json | undefined): [string, string][] | undefined {
  const table = typeof value === 'string' ? parseJson(value.trim() === '' ? '[]' : value) : (value ?? []);
  if (isJsonObject(table)) return named(Object.entries(table));
  if (!Array.isArray(table)) return undefined;
  const cells = table
    .map((row) => (isJsonObject(row) ? (own(row, 'cells') ?? row) : null))
    .filter((cell) => isJsonObject(cell));
  return named(cells.map((cell) => [asText(pick(cell, 'Key', 'key')), pick(cell, 'Value', 'value') ?? null]));
}

function pick(cell: JsonObject, ...keys: string[]): Json | undefined {
  const key = keys.find((candidate) => Object.hasOwn(cell, candidate));
  return key === undefined ? undefined : cell[key];
}

function named(pairs: [string, Json][]): [string, string][] {
  return pairs.filter(([key]) => key.trim() !== '').map(([key, value]) => [key.trim(), asText(value)]);
}

/** Whether a switch is on: true, or the text of it. */
export function isOn(value: Json | undefined): boolean {
  return value === true || value === 'true';
}
