import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';

/** Returns the value as text: strings unchanged, null as empty text, other values as JSON. */
export function asText(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the rows of a list; no rows for an empty value; undefined if the value is not a list. */
export function asRows(value: Json | undefined): JsonObject[] | undefined {
  if (value === undefined || value === null || isBlank(value)) return [];
  return Array.isArray(value) ? value.filter((row) => isJsonObject(row)) : undefined;
}

/**
 * Returns the pairs of a table field, in order, from rows `{cells: {Key, Value}}` or `{key, value}`, or from an object.
 * Omits rows without a key. Undefined if the value is not a table.
 */
export function asPairs(value: Json | undefined): [string, string][] | undefined {
  const table = value === undefined || value === null || isBlank(value) ? [] : value;
  if (isJsonObject(table)) return trimPairs(Object.entries(table));
  if (!Array.isArray(table)) return undefined;
  const rows = table
    .map((row) => (isJsonObject(row) ? (getOwn(row, 'cells') ?? row) : null))
    .filter((cells) => isJsonObject(cells));
  return trimPairs(
    rows.map((cells) => [asText(pick(cells, 'Key', 'key')), pick(cells, 'Value', 'value') ?? null]),
  );
}

function isBlank(value: Json): boolean {
  return typeof value === 'string' && value.trim() === '';
}

function pick(cells: JsonObject, ...keys: string[]): Json | undefined {
  const key = keys.find((candidate) => Object.hasOwn(cells, candidate));
  return key === undefined ? undefined : cells[key];
}

function trimPairs(pairs: [string, Json][]): [string, string][] {
  return pairs.filter(([key]) => key.trim() !== '').map(([key, value]) => [key.trim(), asText(value)]);
}

/** True if a switch is on: `true`, or the string `true`. */
export function isOn(value: Json | undefined): boolean {
  return value === true || value === 'true';
}
