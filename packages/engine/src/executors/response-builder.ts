import { isJsonObject, own } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { asText, parseJson } from './values.ts';

/** The object that a builder's entries `{name, type, value}` describe; entries without a name are left out. */
export function buildObject(entries: readonly Json[]): JsonObject {
  const built = new Map<string, Json>();
  for (const entry of entries) {
    if (!isJsonObject(entry)) continue;
    const name = asText(own(entry, 'name')).trim();
    if (name !== '') built.set(name, buildValue(entry));
  }
  return Object.fromEntries(built);
}

function buildValue(entry: JsonObject): Json {
  const value = own(entry, 'value') ?? null;
  switch (own(entry, 'type')) {
    case 'object':
      return Array.isArray(value) ? buildObject(value) : parsedStrings(value);
    case 'array':
    case 'files':
    case 'file[]':
      return Array.isArray(value)
        ? value.map((item) => (isEntry(item) ? buildValue(item) : parsedStrings(item)))
        : parsedStrings(value);
    case 'number':
      return toNumber(value);
    case 'boolean':
      return toBoolean(value);
    default:
      return parsedStrings(value);
  }
}

function isEntry(item: Json): item is JsonObject {
  return isJsonObject(item) && Object.hasOwn(item, 'type') && Object.hasOwn(item, 'value');
}

function toNumber(value: Json): Json {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
  return Number.isNaN(number) ? value : number;
}

function toBoolean(value: Json): Json {
  if (value === 'true') return true;
  return value === 'false' ? false : value;
}

/** Texts that are a JSON object or list become one, at any depth: a reference in a text field brings its value as JSON. */
function parsedStrings(value: Json): Json {
  if (typeof value === 'string') {
    const parsed = /^\s*[[{]/.test(value) ? parseJson(value) : undefined;
    return parsed === undefined ? value : parsedStrings(parsed);
  }
  if (Array.isArray(value)) return value.map((item) => parsedStrings(item));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, parsedStrings(item)]));
}
